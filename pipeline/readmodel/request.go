package readmodel

import (
	"cmp"
	"slices"
	"time"

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
		Account: a.Account, QOS: a.QOS, Nodes: a.Nodes, GPUs: a.GPUs, GPUType: a.GPUType, Memory: a.Memory,
	}
}

// PrioritizedRequest returns a request as the engine takes it, with the priority that the scheduler's rules give it.
// The rules do not know everything: fair shares may have moved since the scheduler reported them. So the priorities
// that it reported for the user's other jobs correct them.
func (v *View) PrioritizedRequest(a *job.Attributes) engine.Request {
	r := EngineRequest(a)
	if r.Priority == 0 && v.Rules != nil {
		r.Priority = float64(max(1, v.Rules.Priority(a, 0)+v.beyondRules(a)))
	}
	return r
}

// owner is whose fair share counts.
type owner struct{ user, account string }

// beyondRules returns by how much the priorities that the scheduler reported exceed those of the rules, for jobs of a
// user and account. It works that out once for each.
func (v *View) beyondRules(a *job.Attributes) int64 {
	if a.User == "" {
		return 0
	}
	of := owner{a.User, a.Account}
	known := &v.index().beyond
	if beyond, ok := known.Load(of); ok {
		return beyond.(int64)
	}
	beyond := v.reportedBeyond(of)
	known.Store(of, beyond)
	return beyond
}

// reportedBeyond returns the median over the owner's jobs that wait, since one of them may have a nice value of its
// own. If none waits it is that of the job that started last, else of the one that came last.
func (v *View) reportedBeyond(of owner) int64 {
	alike := func(j *cluster.Job) bool {
		return j.User == of.user && (of.account == "" || j.Account == of.account) &&
			j.Priority > 0 && !j.Held && j.Procs > 0 && j.Queue != "" // what the rules need is known
	}
	var beyond []int64
	for _, j := range v.Queued {
		if alike(j) {
			beyond = append(beyond, j.Priority-v.Rules.Priority(&j.Attributes, v.At.Sub(eligibleAt(j))))
		}
	}
	if len(beyond) > 0 {
		slices.SortFunc(beyond, cmp.Compare)
		return beyond[len(beyond)/2]
	}
	for _, j := range slices.Backward(v.Running) { // ordered by their starts
		if alike(j) {
			return j.Priority - v.Rules.Priority(&j.Attributes, j.Start.Sub(eligibleAt(j)))
		}
	}
	return v.endedBeyond(of.user)
}

// endedBeyond returns the same of the user's newest job, which may have ended; 0 where its priority was never told.
func (v *View) endedBeyond(user string) int64 {
	if v.Engine == nil {
		return 0
	}
	last, ok := v.Engine.LastRequest(user)
	if !ok || last.Priority <= 0 {
		return 0
	}
	return int64(last.Priority) - v.Rules.Priority(&job.Attributes{Queue: last.Queue, User: user, Procs: last.Procs}, 0)
}

// eligibleAt returns since when a job's age counts.
func eligibleAt(j *cluster.Job) time.Time {
	if !j.Eligible.IsZero() {
		return j.Eligible
	}
	return j.Submit
}
