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

// EngineID returns the id under which the engine has an attempt of a job. It is even. For an array it is the id of the
// first task, and the next odd number is the id of all other tasks together.
func EngineID(j *cluster.Job) uint64 { return j.Seq<<12 | uint64(j.Attempt&0x7ff)<<1 }

// EngineRequest converts the attributes of a request or job to the type of the engine.
func EngineRequest(a *job.Attributes) engine.Request {
	return engine.Request{
		Queue: a.Queue, User: a.User, App: a.Name, Procs: max(1, a.Procs),
		Limit: a.TimeLimit.Seconds(), Priority: float64(a.Priority),
		Account: a.Account, QOS: a.QOS, Group: a.Group, Nodes: a.Nodes, GPUs: a.GPUs, GPUType: a.GPUType,
		Memory: a.Memory, Whole: a.Whole,
	}
}

// AddQueues adds to a request the queues that it names, if there are several (Attributes.Queues), with its priority in
// each by the scheduler's rules; nil means that there are none. waited is as in Rules.InEachQueue.
func AddQueues(r *engine.Request, a *job.Attributes, waited time.Duration, rules *cluster.Rules) {
	if a.Queues == "" {
		return
	}
	names := a.EachQueue()
	priorities := rules.InEachQueue(a, waited)
	own := priorities[max(0, slices.Index(names, a.Queue))]
	places := make([]engine.Place, len(names))
	for i, name := range names {
		places[i] = engine.Place{Queue: name, Above: priorities[i] - own}
	}
	r.Priority, r.Queues = float64(own), engine.JoinPlaces(places)
}

// BeginTime returns the time before which a held job must not start, as known at the instant at; zero for none. That is
// the job's eligible time, if it is after the submission and the reason in the listing is BeginTime. If the reason is a
// limit, the scheduler may have noticed the limit first; so the eligible time also counts if it is after at. With other
// reasons the eligible time is not a begin time: for a job that waited for another job, it is the end of the other job.
func BeginTime(j *cluster.Job, at time.Time) time.Time {
	byLimit := job.CauseOf(j.Reason) == job.LimitReached && j.Eligible.After(at)
	if j.Held && (j.Reason == "BeginTime" || byLimit) && j.Eligible.After(j.Submit) {
		return j.Eligible
	}
	return time.Time{}
}

// PrioritizedRequest converts a request to the type of the engine. If it has no priority, it gets one by the
// scheduler's rules. The result of the rules may be out of date, because fair shares may have changed since the
// scheduler reported them. So it is corrected by the amount by which the reported priorities of the user's other jobs
// differ from the rules.
func (v *View) PrioritizedRequest(a *job.Attributes) engine.Request {
	r := EngineRequest(a)
	// Users rarely name their group, so use the group of the user's newest job.
	if r.Group == "" && r.User != "" && v.Engine != nil {
		last, _ := v.Engine.LastRequest(r.User)
		r.Group = last.Group
	}
	if r.Priority == 0 && v.Rules != nil {
		r.Priority = float64(max(1, v.Rules.Priority(a, 0)+v.beyondRules(a)))
	}
	if in := *a; a.Queues != "" {
		waited := time.Duration(0)
		if in.Priority == 0 {
			in.Priority, waited = int64(r.Priority), -1
		}
		AddQueues(&r, &in, waited, v.Rules)
	}
	return r
}

// owner is a user in an account: both determine the fair share of a job.
type owner struct{ user, account string }

// beyondRules returns the amount by which the reported priorities of jobs of a's user and account exceed the priorities
// by the rules. It is computed once for each owner.
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

// reportedBeyond computes the amount for beyondRules. It is the median over the owner's waiting jobs, because some of
// them may have a nice value. If none waits, it is the amount of the running job that started last or, without such a
// job, of the job that was submitted last. The priorities of these two include an earlier fair share. If that alone
// explains the amount, reportedBeyond uses the fair share projected to now instead.
func (v *View) reportedBeyond(of owner) int64 {
	alike := func(j *cluster.Job) bool {
		return j.User == of.user && (of.account == "" || j.Account == of.account) && j.Queues == "" &&
			j.Priority > 0 && !j.Held && j.Procs > 0 && j.Queue != "" && // all inputs of the rules are known
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

// earlierBeyond returns the amount of the owner's running job that started last. Without such a job it returns the
// result of endedBeyond.
func (v *View) earlierBeyond(of owner, alike func(*cluster.Job) bool) int64 {
	for _, j := range slices.Backward(v.Running) { // ordered by their starts
		if alike(j) {
			return j.Priority - v.Rules.Priority(&j.Attributes, j.Start.Sub(eligibleAt(j)))
		}
	}
	return v.endedBeyond(of.user)
}

// projectedBeyond returns the amount by which the owner's fair share, projected to now, raises a priority above that by
// the rules. It returns false if that is unknown, or if no fair-share factor from 0 to 1 explains the amount reported.
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

// shareError is the maximum by which a fair-share factor that is computed from a priority may be below 0 or above 1. It
// is not 0 because of rounding: the scheduler reports this factor in hundredths, and rounds the age factor too.
const shareError = .03

// endedBeyond returns the amount of the job that the user submitted last, which may have ended. It returns 0 if no
// priority of that job was ever reported.
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

// eligibleAt returns the time from which the age factor of a job's priority counts.
func eligibleAt(j *cluster.Job) time.Time {
	if !j.Eligible.IsZero() {
		return j.Eligible
	}
	return j.Submit
}
