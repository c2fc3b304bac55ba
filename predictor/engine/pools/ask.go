package pools

import (
	"context"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings returns the largest requests that would start at once. They have the attributes of r, but any size and time
// limit. Age is NaN in the result if they are unknown.
func (f *Facts) Openings(at float64, r *RankedRequest) Openings {
	out := Openings{Procs: f.Procs, Free: max(0, f.Free(at))}
	if f.Large {
		t := f.table(&r.Request)
		if t == nil {
			out.Age = math.NaN()
			return out
		}
		out.Holes, out.Age = t.openings(out.Free), at-t.At
		return out
	}
	if f.playsNodes(r) {
		out.Holes = f.withinLimits(f.nodeOpenings(at, r), at, r)
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

// PivotsOfRequest returns the running jobs on whose ends the start of a request depends, see View.Pivots of package
// engine.
func (f *Facts) PivotsOfRequest(at float64, r *RankedRequest, known *Memo) []Pivot {
	if f.Large {
		t := f.table(&r.Request)
		return t.pivotsAt(t.cell(&r.Request), at)
	}
	if s, request := f.bound(at, r); request != nil {
		s.Lifetimes = known.lifetimes(f, at)
		var sim forward.Sim
		roots, err := sim.Pivots(s, *request, replicas, 1, nil)
		if err != nil {
			return nil
		}
		return f.pivots(roots, at)
	}
	s := f.surface(at, f.place(at, r), f.ownerOf(r), 0, known)
	if s == nil {
		return nil
	}
	roots, err := s.Pivots(r.Procs, r.Limit, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, at)
}

// PivotsOfJob returns the running jobs on whose ends the start of a waiting job depends. The job is given by its queue
// and id. The result is nil if no such job waits, or if it is not among the first PivotStarts jobs of a large pool.
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
	r, ok := takeOut(s, id)
	if !ok {
		return nil
	}
	roots, err := c.sim.Pivots(s, r, replicas, 1, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, at)
}

// places is the maximum number of groups into which the waiting jobs are divided under a fitted priority. Surfaces are
// simulated only for requests between two groups. Otherwise nearly every request would need a surface of its own.
const places = 16

// place returns the rank at which a surface simulates a request. Without a fitted priority it is the request's own
// rank. With one, the waiting jobs are sorted by rank and divided into groups of equal size (see places). The result is
// then the rank of the last job in the last group that is wholly ahead of the request. If there is no such group, it is
// a rank before all waiting jobs.
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

// surface simulates a small pool once for all requests of a rank and an owner. It returns nil if that is impossible.
// without is the key of a waiting job that is left out, 0 for none. All answers in known must have been computed
// without that job.
func (f *Facts) surface(at float64, rank int, owner int32, without uint64, known *Memo) *forward.Surface {
	return Ask(known, Question{pool: f, procs: -1, rank: rank, owner: owner}, func() *forward.Surface {
		var s forward.State
		f.state(&s, at)
		s.Gates, s.Lifetimes = f.gates.Coarse(at), known.lifetimes(f, at)
		if without != 0 {
			s.Waiting = slices.DeleteFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == without })
		}
		return playAll(&s, forward.Ranked{Rank: rank, Owner: owner}, s.Behind(rank))
	})
}

// playAll simulates futures of a state for all requests at a place in the queue. behind is the number of waiting jobs
// behind that place. It returns nil if the simulation is impossible.
func playAll(s *forward.State, place forward.Ranked, behind int) *forward.Surface {
	o := forward.SurfaceOptions{Replicas: replicas, Workers: 1, Seed: 1, Ranked: place, Behind: behind, Plain: true}
	surface, err := forward.NewSurface(context.Background(), s, o)
	if err != nil {
		return nil
	}
	return surface
}

// PolicyInForce returns the policy used in simulations of the pool, and its origin.
func (f *Facts) PolicyInForce() (forward.Policy, PolicySource) {
	if f.prioritized && f.source != PolicyConfigured {
		return f.policy, PolicyPriorities
	}
	return f.policy, f.source
}
