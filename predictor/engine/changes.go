package engine

import (
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
)

// Drifts returns the changes of behaviour noticed so far: first those of all jobs together, then those of each queue,
// sorted by the name of the queue.
func (e *Engine) Drifts() []ensemble.Drift { return e.ensemble.Monitor.Drifts() }

// Drifts returns the result of Engine.Drifts at the view's instant, which must not be modified.
func (v *View) Drifts() []ensemble.Drift { return v.drifts }

// SetLimit sets the longest time limit that a queue allows, in seconds; 0 or less means none. A changed limit raises an
// alarm (ensemble.Limit). The first call for a queue does not.
func (e *Engine) SetLimit(queue string, seconds float64) {
	if e.ensemble.Monitor.SetLimit(queue, seconds) {
		e.react()
	}
}

// checkCapacity passes the number of processors of a pool, without those in outages, to the monitor of changes. It does
// nothing if the pool is not configured with a number of processors.
func (e *Engine) checkCapacity(p *pools.Pool) {
	if p == nil || p.Name == "" || p.Procs == 0 {
		return
	}
	e.ensemble.Monitor.SetCapacity(p.Name, p.Available(e.tracker.Clock), p.Queues, pools.MostPools)
}

// react handles noticed changes. After a change in all jobs, rows from before it get less weight, and trees are trained
// again sooner. They are also trained again soon if a new queue has enough waits. With Config.Steady neither happens.
func (e *Engine) react() {
	began, grown := e.ensemble.React(e.tracker.Clock)
	for _, ago := range began {
		e.learner.Changed(ago)
	}
	if grown {
		e.learner.Soon = !e.cfg.Steady
	}
}
