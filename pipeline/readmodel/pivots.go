package readmodel

import (
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// Pivot is a running job on whose end a start depends (see engine.Pivot).
type Pivot struct {
	engine.Pivot
	Job *cluster.Job
}

// Pivots returns the running jobs on whose ends the start of a request depends if the request is submitted now: at most
// five, the most important first. It returns nil if they are unknown.
func (v *View) Pivots(a *job.Attributes) []Pivot {
	if v.Engine == nil {
		return nil
	}
	r := v.PrioritizedRequest(a)
	return v.running(v.Engine.Pivots(&r))
}

// PivotsOf returns the running jobs on whose ends the start of a waiting job depends, or the start of the first task of
// a waiting array.
func (v *View) PivotsOf(j *cluster.Job) []Pivot {
	if v.Engine == nil {
		return nil
	}
	return v.running(v.Engine.PivotsOf(j.Queue, EngineID(j)))
}

// Freed has the amount of a limit that must become free, and the time until it is (see engine.Freed). Job is the last
// of the jobs whose ends free it, nil if that job has ended since.
type Freed struct {
	engine.Freed
	Job *cluster.Job
}

// Freed returns how much of the limit k must become free, and when it will be. The limit keeps a request to a queue
// from starting. Freed returns nil if this is unknown.
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

// KeptJob returns the limit that keeps a waiting job from starting, nil if there is none.
func (v *View) KeptJob(j *cluster.Job) *engine.Kept {
	if v.Engine == nil {
		return nil
	}
	r := v.PrioritizedRequest(&j.Attributes)
	return v.Engine.Kept(&r)
}

// running adds the jobs to pivots. Pivots whose jobs have ended since are left out.
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
