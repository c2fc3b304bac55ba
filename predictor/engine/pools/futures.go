package pools

import (
	"slices"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Futures simulates all requests in the same futures of a view, and caches the results.
type Futures struct {
	at      float64
	without uint64 // the key of a waiting job that is left out, 0 for none
	known   *Memo
}

// NewFutures returns the futures from an instant on. known caches surfaces and lifetimes; nil means no cache.
func NewFutures(at float64, known *Memo) *Futures { return &Futures{at: at, known: known} }

// NewFuturesWithout returns the futures from an instant on without the waiting job that has the given id. In a large
// pool the job stays.
func NewFuturesWithout(at float64, id uint64) *Futures {
	return &Futures{at: at, without: id + 1, known: &Memo{}}
}

// TableWaits returns the waits of a request in the futures of a large pool's table, in seconds, by future. It appends
// them to room[:0]. The result is nil if the table has none.
func (f *Facts) TableWaits(r *track.Request, room []float64) []float64 {
	return f.table(r).waitsByFuture(r, room[:0])
}

// Waits returns the waits of a request in a pool that has no tables, in seconds, by future. For any two requests in one
// pool, element i belongs to the same future. Unlike Facts.Ask, it ignores a begin time, preemption, nodes reserved for
// the request, and the delay of a fitted priority (rules.Priority.Late). The result is nil if the simulation is
// impossible.
func (c *Futures) Waits(f *Facts, r *RankedRequest) []float64 {
	if waits, bound := c.waitsWithin(f, r); bound {
		return waits
	}
	surface := f.surface(c.at, f.place(c.at, r), f.ownerOf(r), c.without, c.known)
	return byFuture(surface, r.Procs, r.Limit)
}

// waitsWithin returns the waits of a request by itself, in the same futures. bound is false if the request gets no
// simulation of its own, because a surface can answer for it or because it is larger than the pool (see Facts.bound).
func (c *Futures) waitsWithin(f *Facts, r *RankedRequest) (waits []float64, bound bool) {
	s, request := f.bound(c.at, r)
	if request == nil {
		return nil, false
	}
	if i := slices.IndexFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == c.without }); i >= 0 {
		s.Waiting = slices.Delete(s.Waiting, i, i+1)
		request.Behind = s.Behind(request.Rank)
	}
	s.Lifetimes = c.known.lifetimes(f, c.at)
	return waitsIn(s, request), true
}

// waitsIn returns the waits of a request in the futures of a state, in seconds. It returns nil if the simulation is
// impossible.
func waitsIn(s *forward.State, r *forward.Request) []float64 {
	var sim forward.Sim
	futures, err := sim.Futures(s, *r, replicas, 1, nil)
	if err != nil {
		return nil
	}
	waits := make([]float64, len(futures))
	for i := range futures {
		waits[i] = futures[i].Wait
	}
	return waits
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

// WaitsOfJob returns the times until a waiting job starts, in seconds, by future. The futures are those of
// Futures.Waits. The result is nil if the job does not wait in the pool, and for a large pool.
func (f *Facts) WaitsOfJob(at float64, id uint64) []float64 {
	var s forward.State
	f.state(&s, at)
	s.Gates = f.gates.Coarse(at)
	r, ok := takeOut(&s, id)
	switch {
	case !ok:
		return nil
	case len(r.Holds) > 0 || len(r.After) > 0 || r.Eligible > 0 || len(s.Nodes) > 0: // surfaces include none of these
		return waitsIn(&s, &r)
	}
	place := forward.Ranked{Rank: r.Rank, Owner: r.Owner, Since: r.Since}
	return byFuture(playAll(&s, place, r.Behind), r.Procs, r.Limit)
}

// takeOut removes a waiting job from a state, and returns it as a request at its place. It returns false if the job
// does not wait.
func takeOut(s *forward.State, id uint64) (forward.Request, bool) {
	i := slices.IndexFunc(s.Waiting, func(w forward.Waiting) bool { return w.Key == id+1 })
	if i < 0 {
		return forward.Request{}, false
	}
	w := s.Waiting[i]
	s.Waiting = slices.Delete(s.Waiting, i, i+1)
	return forward.Request{Procs: w.Procs, Limit: w.Limit, Eligible: w.Eligible, Rank: w.Rank, Owner: w.Owner,
		Since: w.Since, Behind: len(s.Waiting) - i, Holds: w.Holds, After: w.After, Needs: w.Needs}, true
}
