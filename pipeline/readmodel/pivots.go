package readmodel

import (
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// Pivot is a running job whose end a start depends on, see engine.Pivot.
type Pivot struct {
	engine.Pivot
	Job *cluster.Job
}

// Pivots returns the running jobs whose ends the start of a request submitted now depends on: at most five, the most
// important first; nil if unknown.
func (v *View) Pivots(a *job.Attributes) []Pivot {
	if v.Engine == nil {
		return nil
	}
	r := v.PrioritizedRequest(a)
	return v.running(v.Engine.Pivots(&r))
}

// PivotsOf returns the same for a waiting job; for an array, for its first task.
func (v *View) PivotsOf(j *cluster.Job) []Pivot {
	if v.Engine == nil {
		return nil
	}
	return v.running(v.Engine.PivotsOf(j.Queue, EngineID(j)))
}

// Freed is the amount of a limit that must come free, see engine.Freed, with the job that ends last; the job is nil if
// it has ended since.
type Freed struct {
	engine.Freed
	Job *cluster.Job
}

// Freed returns what must come free of the limit that keeps a request to a queue from starting; nil if unknown.
func (v *View) Freed(queue string, k *engine.Kept) *Freed {
	if v.Engine == nil {
		return nil
	}
	freed := v.Engine.Freed(queue, k)
	if freed == nil {
		return nil
	}
	return &Freed{*freed, v.index().running[freed.ID]}
}

// KeptJob returns the limit that keeps a waiting job from starting, nil for none.
func (v *View) KeptJob(j *cluster.Job) *engine.Kept {
	if v.Engine == nil {
		return nil
	}
	r := v.PrioritizedRequest(&j.Attributes)
	return v.Engine.Kept(&r)
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
