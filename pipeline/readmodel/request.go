package readmodel

import (
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// EngineID names an attempt of a job to the engine. It is even; the next odd number names the tasks of an array but the
// first.
func EngineID(j *cluster.Job) uint64 { return j.Seq<<12 | uint64(j.Attempt&0x7ff)<<1 }

// EngineRequest returns a request as the engine takes it.
func EngineRequest(a *job.Attributes) engine.Request {
	return engine.Request{
		Queue: a.Queue, User: a.User, App: a.Name, Procs: max(1, a.Procs),
		Limit: a.TimeLimit.Seconds(), Priority: float64(a.Priority),
	}
}

// PrioritizedRequest returns a request as the engine takes it, with the priority that the scheduler's rules give it.
func (v *View) PrioritizedRequest(a *job.Attributes) engine.Request {
	r := EngineRequest(a)
	if r.Priority == 0 && v.Rules != nil {
		r.Priority = float64(v.Rules.Priority(a, 0))
	}
	return r
}
