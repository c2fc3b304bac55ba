package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings returns the largest requests that would start at once. They have the queue, user and other attributes of r,
// but any size and time limit.
func (v *View) Openings(r *track.Request) pools.Openings {
	ranked := v.ranked(r)
	f := v.poolOf(ranked.Queue)
	if f == nil {
		return pools.Openings{Age: math.NaN()}
	}
	return f.Openings(v.Instant, ranked)
}

// Pivots returns the running jobs on whose ends the start of a request at the view's instant depends. It returns at
// most five, the largest share first. It leaves out jobs that are pivots in a single future only. The result is nil if
// the simulation is impossible. In a large pool the pivots are those of the newest simulation (see
// Forecast.SimulationAge), and one of them may have ended since.
func (v *View) Pivots(r *track.Request) []pools.Pivot {
	ranked := v.ranked(r)
	return v.poolOf(ranked.Queue).PivotsOfRequest(v.Instant, ranked, v.memo)
}

// Kept returns the limit that keeps a request from starting at the view's instant; nil for none.
func (v *View) Kept(r *track.Request) *pools.Kept {
	ranked := v.ranked(r)
	return v.poolOf(ranked.Queue).KeptByLimit(v.Instant, ranked)
}

// KeptBeside reports whether a limit keeps a request from starting at the view's instant. The running jobs and the
// given other requests count in the limits, as if these requests had started before it.
func (v *View) KeptBeside(r *track.Request, others []track.Request) bool {
	ranked := v.ranked(r)
	if len(ranked.Bounds) == 0 {
		return false
	}
	have := map[joblimits.Key]joblimits.Amounts{}
	for i := range others {
		other := others[i].Clean()
		pools.AddBounds(have, v.BoundsOf(&other), other.Limit)
	}
	return v.poolOf(ranked.Queue).KeptBeside(v.Instant, ranked, have)
}

// Freed describes which running jobs must end until the limit k no longer keeps a request to a queue from starting. It
// returns nil if that is unknown.
func (v *View) Freed(queue string, k *pools.Kept) *pools.Freed {
	freed, ok := v.poolOf(queue).Freed(v.Instant, k)
	if !ok {
		return nil
	}
	return &freed
}

// PivotsOf returns the pivots of a waiting job of a queue, by its id. The result is nil if the job does not wait there,
// or is not among the first 256 of a large pool.
func (v *View) PivotsOf(queue string, id uint64) []pools.Pivot {
	c := v.borrowScratch()
	defer v.scratches.Put(c)
	return v.poolOf(queue).PivotsOfJob(v.Instant, queue, id, &c.Scratch)
}

// Futures are the simulated futures of a view. All requests are simulated in the same futures.
type Futures struct {
	view   *View
	played *pools.Futures
}

// Futures returns the futures of the view.
func (v *View) Futures() *Futures { return &Futures{v, pools.NewFutures(v.Instant, v.memo)} }

// FuturesWithout returns the futures of the view without the waiting job that has the given id. In a large pool the job
// stays.
func (v *View) FuturesWithout(id uint64) *Futures {
	return &Futures{v, pools.NewFuturesWithout(v.Instant, id)}
}

// Waits returns the waits of a request that is submitted now, in seconds, by future. For any two requests of one pool,
// element i belongs to the same future. Unlike a forecast, the waits ignore a begin time, preemption and nodes reserved
// for the request. The result is nil if the simulation is impossible. It may use the memory of room, whose values are
// overwritten; room may be nil.
func (f *Futures) Waits(r *track.Request, room []float64) []float64 {
	clean := r.Clean()
	pool := f.view.poolOf(clean.Queue)
	if pool.Large {
		return pool.TableWaits(&clean, room)
	}
	return f.played.Waits(pool, f.view.resolve(&clean, nil).ranked(nil))
}

// WaitsOfJob returns the times until a waiting job of a queue starts, in seconds, by future. The futures are those of
// Futures.Waits. The result is nil if the job does not wait in the queue, and for a large pool.
func (v *View) WaitsOfJob(queue string, id uint64) []float64 {
	return v.poolOf(queue).WaitsOfJob(v.Instant, id)
}

// LeftOfJob returns the median of the remaining runtime of a running job of a queue, in seconds; without a known law
// the rest of its time limit. It is +Inf if both are unknown, and in a large pool.
func (v *View) LeftOfJob(queue string, id uint64) float64 { return v.poolOf(queue).Left(v.Instant, id) }

// SamePool reports whether the jobs of two queues compete for the same processors.
func (v *View) SamePool(a, b string) bool { return v.poolOf(a) == v.poolOf(b) }

// Policy returns the policy used in simulations of a queue's pool, and its origin.
func (v *View) Policy(queue string) (forward.Policy, pools.PolicySource) {
	f := v.poolOf(queue)
	if f == nil {
		return forward.EASY, pools.PolicyAssumed
	}
	return f.PolicyInForce()
}

// StartRules returns the rules used in simulations of a queue's pool, with the learnt rules of the scheduler. A
// restored view does not have them.
func (v *View) StartRules(queue string) pools.StartRules { return v.start[v.poolOf(queue)] }

// AllStartRules returns the rules of all pools and of the whole machine, in no particular order.
func (v *View) AllStartRules() []pools.StartRules { return slices.Collect(maps.Values(v.start)) }
