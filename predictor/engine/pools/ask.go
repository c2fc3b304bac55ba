package pools

import (
	"context"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings returns what would start at once for a request of such a kind: its size and limit do not count.
func (f *Facts) Openings(at float64, r *track.Request) Openings {
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
	rank := f.rankOf(r)
	holes, err := forward.Openings(&s, rank, s.Behind(rank))
	if err != nil {
		out.Age = math.NaN()
		return out
	}
	out.Holes = holes
	return out
}

// PivotsOfRequest returns the running jobs whose ends the start of a request hangs on, see View.Pivots of package
// engine.
func (f *Facts) PivotsOfRequest(at float64, r *track.Request, known *Memo) []Pivot {
	if f.Large {
		t := f.Surfaces[r.Queue]
		return t.pivotsAt(t.cell(r), at)
	}
	s := f.surface(at, f.rankOf(r), known)
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
	i := slices.IndexFunc(f.Waiting, func(w Member) bool { return w.key == id+1 })
	if i < 0 {
		return nil
	}
	s, w := &c.state, &f.Waiting[i]
	f.state(s, at)
	s.Waiting = slices.Delete(s.Waiting, i, i+1)
	roots, err := c.sim.Pivots(s,
		forward.Request{Procs: w.Procs, Limit: w.Limit, Rank: w.rank, Behind: len(s.Waiting) - i}, replicas, 1, nil)
	if err != nil {
		return nil
	}
	return f.pivots(roots, at)
}

// surface plays a pool that is not large once for every request of a place in the queue; nil where that is not
// possible.
func (f *Facts) surface(at float64, rank int, known *Memo) *forward.Surface {
	return Ask(known, Question{pool: f, procs: -1, rank: rank}, func() *forward.Surface {
		var s forward.State
		f.state(&s, at)
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
