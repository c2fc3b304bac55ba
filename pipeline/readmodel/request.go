package readmodel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// EngineID returns the engine's id of an attempt of a job. It is even. The next odd number is the id of all tasks of an
// array except the first (restID).
func EngineID(j *cluster.Job) uint64 { return j.Seq<<12 | uint64(j.Attempt&0x7ff)<<1 }

// EngineRequest converts a request to the engine's type.
func EngineRequest(a *job.Attributes) engine.Request {
	return engine.Request{
		Queue: a.Queue, User: a.User, App: a.Name, Procs: max(1, a.Procs),
		Limit: a.TimeLimit.Seconds(), Priority: float64(a.Priority),
		Account: a.Account, QOS: a.QOS, Group: a.Group, Nodes: a.Nodes, GPUs: a.GPUs, GPUType: a.GPUType,
		Memory: a.Memory, Whole: a.Whole,
	}
}

// BeginTime returns the time before which a job may not start, as known at an instant; zero for none. It is the
// eligible time, if the reason of the hold in the listing is BeginTime, or a limit that the scheduler noticed first.
// With other reasons the eligible time is no begin time: for a job that waited for another job, it is the end of that
// job.
func BeginTime(j *cluster.Job, at time.Time) time.Time {
	byLimit := job.CauseOf(j.Reason) == job.LimitReached && j.Eligible.After(at)
	if j.Held && (j.Reason == "BeginTime" || byLimit) && j.Eligible.After(j.Submit) {
		return j.Eligible
	}
	return time.Time{}
}

// PrioritizedRequest converts a request to the engine's type, with a priority by the scheduler's rules. The rules are
// incomplete, because fair shares may have changed since the scheduler reported them. So the priority is corrected by
// the amount by which reported priorities of the user's other jobs differ from the rules.
func (v *View) PrioritizedRequest(a *job.Attributes) engine.Request {
	r := EngineRequest(a)
	// Users rarely name a group, so that of the user's newest job is used.
	if r.Group == "" && r.User != "" && v.Engine != nil {
		last, _ := v.Engine.LastRequest(r.User)
		r.Group = last.Group
	}
	if r.Priority == 0 && v.Rules != nil {
		r.Priority = float64(max(1, v.Rules.Priority(a, 0)+v.beyondRules(a)))
	}
	return r
}

// owner is the user and account whose fair share counts.
type owner struct{ user, account string }

// beyondRules returns the amount by which the reported priorities of a user and account exceed those by the rules. It
// is computed once for each owner.
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

// reportedBeyond computes the amount for beyondRules. It is the median over the owner's waiting jobs, because one of
// them may have its own nice value. If none waits, reportedBeyond uses the job that started last, otherwise the job
// that was submitted last. The priorities of these two contain an earlier fair share. If that alone explains the
// amount, reportedBeyond uses the fair share projected to now instead.
func (v *View) reportedBeyond(of owner) int64 {
	alike := func(j *cluster.Job) bool {
		return j.User == of.user && (of.account == "" || j.Account == of.account) &&
			j.Priority > 0 && !j.Held && j.Procs > 0 && j.Queue != "" && // so that all inputs of the rules are known
			(j.Priority > 1 || j.Lowered() <= 0) // Slurm does not lower a priority below 1
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
	reported := v.earlierBeyond(of, alike)
	if projected, known := v.projectedBeyond(of, reported); known {
		return projected
	}
	return reported
}

// earlierBeyond returns the amount for beyondRules by the owner's running job that started last. Without such a job it
// returns that of endedBeyond.
func (v *View) earlierBeyond(of owner, alike func(*cluster.Job) bool) int64 {
	for _, j := range slices.Backward(v.Running) { // ordered by their starts
		if alike(j) {
			return j.Priority - v.Rules.Priority(&j.Attributes, j.Start.Sub(eligibleAt(j)))
		}
	}
	return v.endedBeyond(of.user)
}

// projectedBeyond returns the amount by which the owner's fair share, projected to now, raises the priority above that
// of the rules. It returns false if the amount is unknown, or if no fair-share factor from 0 to 1 explains the reported
// amount.
func (v *View) projectedBeyond(of owner, reported int64) (int64, bool) {
	if v.Engine == nil {
		return 0, false
	}
	factor, weight := v.Engine.ShareFactor(of.account, of.user), float64(v.Facts.Weights.FairShare)
	if math.IsNaN(factor) {
		return 0, false
	}
	share := weight * v.Rules.Share(of.account, of.user)
	if implied := share + float64(reported); implied < -shareError*weight || implied > (1+shareError)*weight {
		return 0, false
	}
	return int64(math.Round(weight*factor - share)), true
}

// shareError is how far a computed fair-share factor may lie outside 0 to 1. The cause is rounding: the scheduler
// reports this factor in hundredths, and the age factor is rounded too.
const shareError = .03

// endedBeyond returns the amount for beyondRules by the job that the user submitted last. That job may have ended. It
// returns 0 if no priority of that job was ever reported.
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

// eligibleAt returns the time from which a job's age counts.
func eligibleAt(j *cluster.Job) time.Time {
	if !j.Eligible.IsZero() {
		return j.Eligible
	}
	return j.Submit
}
