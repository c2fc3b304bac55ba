package engine

import (
	"math"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Openings returns what would start at once in a queue, for a request of such a kind: its size and limit do not count.
func (v *View) Openings(r *track.Request) pools.Openings {
	clean := r.Clean()
	f := v.poolOf(clean.Queue)
	if f == nil {
		return pools.Openings{Age: math.NaN()}
	}
	return f.Openings(v.Instant, &clean)
}

// Pivots returns the running jobs whose ends the start of a request hangs on that is submitted at the view's instant:
// at most five, those with the largest share first, and none that is one in a single future only. It is nil where the
// simulation is not possible. In a large pool they are those of the newest simulation (see Forecast.SimulationAge), and
// one may have ended since.
func (v *View) Pivots(r *track.Request) []pools.Pivot {
	clean := r.Clean()
	return v.poolOf(clean.Queue).PivotsOfRequest(v.Instant, &clean, v.memo)
}

// PivotsOf returns the same of a job of a queue that waits, by its id. It is nil where the job does not wait there, or
// is not among the first 256 of a large pool.
func (v *View) PivotsOf(queue string, id uint64) []pools.Pivot {
	c := v.borrowScratch()
	defer v.scratches.Put(c)
	return v.poolOf(queue).PivotsOfJob(v.Instant, queue, id, &c.Scratch)
}

// Simulated returns the quantiles of the simulation alone for a request, in seconds at the levels; nil where it is not
// possible. In a large pool it takes a part of a microsecond, so that many requests can be compared before few are
// forecast.
func (v *View) Simulated(r *track.Request) []float64 {
	clean := r.Clean()
	return v.poolOf(clean.Queue).SimulatedQuantiles(v.Instant, v.Levels, &clean, v.memo)
}

// Policy returns the policy that a queue's pool is played by, and how it is known.
func (v *View) Policy(queue string) (forward.Policy, pools.PolicySource) {
	f := v.poolOf(queue)
	if f == nil {
		return forward.EASY, pools.PolicyAssumed
	}
	return f.PolicyInForce()
}
