package pools

import (
	"context"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings returns what would start at once for a request of such a kind: its size and limit do not count.
func (f *Facts) Openings(at float64, r *RankedRequest) Openings {
	out := Openings{Procs: f.Procs, Free: max(0, f.Procs-int(f.inUse.Procs)-f.away(at))}
	if f.Large {
		t := f.Surfaces[r.Queue]
		if t == nil {
			out.Age = math.NaN()
			return out
		}
		out.Holes, out.Age = t.openings(out.Free), at-t.At
		return out
	}
	var s forward.State
	f.state(&s, at)
	s.Gates = f.gates.Coarse(at)
	rank := f.rankOfRequest(at, r)
	holes, err := forward.Openings(&s, rank, s.Behind(rank))
	if err != nil {
		out.Age = math.NaN()
		return out
	}
	out.Holes = f.withinLimits(holes, at, r)
	return out
}

// PivotsOfRequest returns the running jobs whose ends the start of a request hangs on, see View.Pivots of package
// engine.
func (f *Facts) PivotsOfRequest(at float64, r *RankedRequest, known *Memo) []Pivot {
	if f.Large {
		t := f.Surfaces[r.Queue]
		return t.pivotsAt(t.cell(&r.Request), at)
	}
	if s, request := f.bound(at, r); request != nil {
		var sim forward.Sim
		roots, err := sim.Pivots(s, *request, replicas, 1, nil)
		if err != nil {
			return nil
		}
		return f.pivots(roots, at)
	}
	s := f.surface(at, f.place(at, r), known)
	if s == nil {
		return nil
	}
	roots, err := s.Pivots(r.Procs, r.Limit, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, at)
}

// PivotsOfJob returns the same of a job of a queue that waits; nil where the job does not wait there, or is not among
// the first of a large pool.
func (f *Facts) PivotsOfJob(at float64, queue string, id uint64, c *Scratch) []Pivot {
	if f.Large {
		t := f.Surfaces[queue]
		if t == nil {
			return nil
		}
		return t.pivotsAt(t.starts[id], at)
	}
	s := &c.state
	f.state(s, at)
	s.Gates = c.gates.at(f.gates, at)
	i := slices.IndexFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == id+1 })
	if i < 0 {
		return nil
	}
	w := s.Waiting[i]
	s.Waiting = slices.Delete(s.Waiting, i, i+1)
	roots, err := c.sim.Pivots(s,
		forward.Request{Procs: w.Procs, Limit: w.Limit, Rank: w.Rank, Behind: len(s.Waiting) - i}, replicas, 1, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, at)
}

// places is at how many places of a queue surfaces are played under a fitted priority, which gives each request a place
// of its own.
const places = 16

// place returns the rank that a request is played at in a surface: its own, or under a fitted priority that of the last
// job of a group that goes before it.
func (f *Facts) place(at float64, r *RankedRequest) int {
	mine := f.rankOfRequest(at, r)
	if f.fitted == nil || len(f.Waiting) == 0 {
		return mine
	}
	ranks := make([]int, len(f.Waiting))
	for i := range f.Waiting {
		ranks[i] = f.rankAt(at, &f.Waiting[i])
	}
	slices.Sort(ranks)
	step := (len(ranks) + places - 1) / places
	ahead, _ := slices.BinarySearch(ranks, mine+1)
	if ahead = ahead / step * step; ahead == 0 {
		return min(mine, ranks[0]-1)
	}
	return ranks[ahead-1]
}

// surface plays a pool that is not large once for every request of a place in the queue; nil where that is not
// possible.
func (f *Facts) surface(at float64, rank int, known *Memo) *forward.Surface {
	return Ask(known, Question{pool: f, procs: -1, rank: rank}, func() *forward.Surface {
		var s forward.State
		f.state(&s, at)
		s.Gates = f.gates.Coarse(at)
		return playAll(&s, rank, s.Behind(rank))
	})
}

// playAll plays futures of a state for every request of a place in the queue; nil where that is not possible.
func playAll(s *forward.State, rank, behind int) *forward.Surface {
	o := forward.SurfaceOptions{Replicas: replicas, Workers: 1, Seed: 1, Rank: rank, Behind: behind, Plain: true}
	surface, err := forward.NewSurface(context.Background(), s, o)
	if err != nil {
		return nil
	}
	return surface
}

// PolicyInForce returns the policy that the pool is played by, and how it is known.
func (f *Facts) PolicyInForce() (forward.Policy, PolicySource) {
	if f.prioritized && f.source != PolicyConfigured {
		return f.policy, PolicyPriorities
	}
	return f.policy, f.source
}
