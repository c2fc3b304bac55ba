package engine

import (
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
)

// Drifts returns the changes that were noticed so far: of all jobs first, then of each queue by name.
func (e *Engine) Drifts() []ensemble.Drift { return e.ensemble.Monitor.Drifts() }

// Drifts is Engine.Drifts as it was at the view's instant. It must not be changed.
func (v *View) Drifts() []ensemble.Drift { return v.drifts }

// SetLimit sets the longest time limit that a queue allows, in seconds; 0 or less is none. A change is news, the first
// limit is not.
func (e *Engine) SetLimit(queue string, seconds float64) {
	if e.ensemble.Monitor.SetLimit(queue, seconds) {
		e.react()
	}
}

// checkCapacity checks whether a configured pool has clearly more or fewer processors than at the last change.
func (e *Engine) checkCapacity(p *pools.Pool) {
	if p == nil || p.Name == "" || p.Procs == 0 {
		return
	}
	now := p.Procs
	for _, o := range p.Outages {
		if o.From <= e.tracker.Clock && e.tracker.Clock < o.Until {
			now = max(0, now-o.Procs)
		}
	}
	e.ensemble.Monitor.SetCapacity(p.Name, now, p.Queues, pools.MostPools)
}

// react counts the changes that were noticed. Rows from before a change of the whole count less, and trees are trained
// again soon.
func (e *Engine) react() {
	began, grown := e.ensemble.React(e.tracker.Clock)
	for _, ago := range began {
		e.learner.Changed(ago)
	}
	if grown {
		e.learner.Soon = !e.cfg.Steady
	}
}
