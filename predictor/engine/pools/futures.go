package pools

import (
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// Futures plays requests in the same futures of a view, and caches what was played.
type Futures struct {
	at      float64
	without uint64 // the key of a waiting job that has left the queue, 0 for none
	known   *Memo
}

// NewFutures returns the futures from an instant on. known caches surfaces; nil is no cache.
func NewFutures(at float64, known *Memo) *Futures { return &Futures{at: at, known: known} }

// NewFuturesWithout returns the same futures after a waiting job has left the queue. In large pools it stays.
func NewFuturesWithout(at float64, id uint64) *Futures {
	return &Futures{at: at, without: id + 1, known: &Memo{}}
}

// Waits returns the waits of a request in a pool, in seconds, by future: number i of any two requests in one pool is of
// the same future. It is nil where the simulation is not possible.
func (c *Futures) Waits(f *Facts, r *RankedRequest) []float64 {
	if f.Large {
		return f.Surfaces[r.Queue].waitsByFuture(&r.Request)
	}
	if waits, bound := c.waitsWithin(f, r); bound {
		return waits
	}
	return byFuture(c.surface(f, f.place(c.at, r)), r.Procs, r.Limit)
}

// waitsWithin plays a request that limits hold for in the same futures; bound is false where none of them may bind:
// then surfaces answer for it.
func (c *Futures) waitsWithin(f *Facts, r *RankedRequest) (waits []float64, bound bool) {
	s, request := f.bound(c.at, r)
	if request == nil {
		return nil, false
	}
	if i := slices.IndexFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == c.without }); i >= 0 {
		s.Waiting = slices.Delete(s.Waiting, i, i+1)
		request.Behind = s.Behind(request.Rank)
	}
	var sim forward.Sim
	futures, err := sim.Futures(s, *request, replicas, 1, nil)
	if err != nil {
		return nil, true
	}
	for i := range futures {
		waits = append(waits, futures[i].Wait)
	}
	return waits, true
}

func (c *Futures) surface(f *Facts, rank int) *forward.Surface {
	if c.without == 0 {
		return f.surface(c.at, rank, c.known)
	}
	return Ask(c.known, Question{pool: f, procs: -1, rank: rank}, func() *forward.Surface {
		var s forward.State
		f.state(&s, c.at)
		s.Gates = f.gates.Coarse(c.at)
		s.Waiting = slices.DeleteFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == c.without })
		return playAll(&s, rank, s.Behind(rank))
	})
}

func byFuture(s *forward.Surface, procs int, limit float64) []float64 {
	if s == nil {
		return nil
	}
	waits, err := s.WaitsByReplica(procs, limit, nil)
	if err != nil {
		return nil
	}
	return waits
}

// WaitsOfJob returns the waits of a waiting job from now on, at its place in the queue, in the same futures. It is nil
// where the job does not wait there, and in large pools.
func (f *Facts) WaitsOfJob(at float64, id uint64) []float64 {
	var s forward.State
	f.state(&s, at)
	s.Gates = f.gates.Coarse(at)
	i := slices.IndexFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == id+1 })
	if i < 0 {
		return nil
	}
	w := s.Waiting[i]
	s.Waiting = slices.Delete(s.Waiting, i, i+1)
	return byFuture(playAll(&s, w.Rank, len(s.Waiting)-i), w.Procs, w.Limit)
}
