package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings returns what would start at once in a queue, for a request of such a kind: its size and limit do not count.
func (v *View) Openings(r *track.Request) pools.Openings {
	ranked := v.ranked(r)
	f := v.poolOf(ranked.Queue)
	if f == nil {
		return pools.Openings{Age: math.NaN()}
	}
	return f.Openings(v.Instant, ranked)
}

// Pivots returns the running jobs whose ends the start of a request hangs on that is submitted at the view's instant:
// at most five, those with the largest share first, and none that is one in a single future only. It is nil where the
// simulation is not possible. In a large pool they are those of the newest simulation (see Forecast.SimulationAge), and
// one may have ended since.
func (v *View) Pivots(r *track.Request) []pools.Pivot {
	ranked := v.ranked(r)
	return v.poolOf(ranked.Queue).PivotsOfRequest(v.Instant, ranked, v.memo)
}

// PivotsOf returns the same of a job of a queue that waits, by its id. It is nil where the job does not wait there, or
// is not among the first 256 of a large pool.
func (v *View) PivotsOf(queue string, id uint64) []pools.Pivot {
	c := v.borrowScratch()
	defer v.scratches.Put(c)
	return v.poolOf(queue).PivotsOfJob(v.Instant, queue, id, &c.Scratch)
}

// Futures are what the simulation plays of a view: all requests in the same futures.
type Futures struct {
	view   *View
	played *pools.Futures
}

// Futures returns the futures of the view.
func (v *View) Futures() *Futures { return &Futures{v, pools.NewFutures(v.Instant, v.memo)} }

// FuturesWithout returns the same futures after a waiting job, by its id, has left the queue. In large pools it stays.
func (v *View) FuturesWithout(id uint64) *Futures {
	return &Futures{v, pools.NewFuturesWithout(v.Instant, id)}
}

// Waits returns the waits of a request that is submitted now, in seconds, by future: number i of any two requests of
// one pool is of the same future. It is nil where the simulation is not possible.
func (f *Futures) Waits(r *track.Request) []float64 {
	ranked := f.view.ranked(r)
	return f.played.Waits(f.view.poolOf(ranked.Queue), ranked)
}

// WaitsOfJob returns the waits in the same futures of a job that waits, from now on, at its place in the queue. It is
// nil where the job does not wait there, and in large pools.
func (v *View) WaitsOfJob(queue string, id uint64) []float64 {
	return v.poolOf(queue).WaitsOfJob(v.Instant, id)
}

// SamePool reports whether the jobs of two queues compete for the same processors.
func (v *View) SamePool(a, b string) bool { return v.poolOf(a) == v.poolOf(b) }

// Policy returns the policy that a queue's pool is played by, and how it is known.
func (v *View) Policy(queue string) (forward.Policy, pools.PolicySource) {
	f := v.poolOf(queue)
	if f == nil {
		return forward.EASY, pools.PolicyAssumed
	}
	return f.PolicyInForce()
}

// StartRules returns the rules by which the pool of a queue is played, and what was learnt of those of the scheduler. A
// view that was saved does not have them.
func (v *View) StartRules(queue string) pools.StartRules { return v.start[v.poolOf(queue)] }

// AllStartRules returns the rules of all pools.
func (v *View) AllStartRules() []pools.StartRules { return slices.Collect(maps.Values(v.start)) }
