package readmodel

import (
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// Pivot is a running job on whose end a start depends, see engine.Pivot.
type Pivot struct {
	engine.Pivot
	Job *cluster.Job
}

// Pivots returns the running jobs on whose ends the start of a request depends that is submitted now: at most five, the
// most important first. It returns nil if they are not known.
func (v *View) Pivots(a *job.Attributes) []Pivot {
	if v.Engine == nil {
		return nil
	}
	r := v.PrioritizedRequest(a)
	return v.running(v.Engine.Pivots(&r))
}

// PivotsOf returns the same for a waiting job, for an array of its first task.
func (v *View) PivotsOf(j *cluster.Job) []Pivot {
	if v.Engine == nil {
		return nil
	}
	return v.running(v.Engine.PivotsOf(j.Queue, EngineID(j)))
}

// running returns the jobs of pivots. It leaves out jobs that have ended since.
func (v *View) running(pivots []engine.Pivot) []Pivot {
	if pivots == nil {
		return nil
	}
	out := make([]Pivot, 0, len(pivots))
	jobs := v.index().running
	for _, p := range pivots {
		if j := jobs[p.ID]; j != nil {
			out = append(out, Pivot{p, j})
		}
	}
	return out
}
