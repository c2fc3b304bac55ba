package accuracy

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// Forecast is the forecast of a job without a ledger row yet: the job still waits, or it started or left before its
// forecast was made. The JSON of a Forecast is stored.
type Forecast struct {
	// A change of the job replaces Job. The value that Job points to is never modified, because the picture may use it
	// too.
	Job  *cluster.Job `json:"job"`
	Live bool         `json:"live,omitempty"`
	// Sized is true if the job's size was known at the end of the instant of its submission.
	Sized bool `json:"sized,omitempty"`
	// Made is true once the forecast is made: at the end of the instant of the submission, or later. It is made later
	// if the size or queue of the job, or a job on which it depends, is unknown at first: when they are known, or once
	// cluster.DetailsGrace has passed.
	Made bool `json:"made,omitempty"`
	// Entered is true once the job has been passed to the engine.
	Entered bool     `json:"entered,omitempty"`
	Answers []Answer `json:"answers,omitempty"`
	// Last is the forecast for the last task of an array; nil for none. Answers has the forecasts for the first task.
	Last *Answer `json:"last,omitempty"`
	// Rest is true once all tasks of an array but the first have been passed to the engine.
	Rest bool `json:"rest,omitempty"`
	// Parts is the number of tasks of an array that got records of their own. Part is true for the forecast of the
	// first such task.
	Parts int  `json:"parts,omitempty"`
	Part  bool `json:"part,omitempty"`
	// Renamed is true once the last task has taken over the array's record.
	Renamed bool `json:"renamed,omitempty"`
	// Closed is the time at which the job started or left; zero while it waits. Started is true if the job started.
	Closed  time.Time `json:"closed,omitzero"`
	Started bool      `json:"started,omitempty"`
	// Ended is true if the job has also ended, before its forecast was made.
	Ended bool `json:"ended,omitempty"`
	// Followed is the number of the forecast in Decisions, 0 if it is not followed there.
	Followed uint64 `json:"followed,omitempty"`
	// After is true if the forecast was made after the job had started or left, because too little was known of the job
	// before.
	After bool `json:"after,omitempty"`
	// BehindUnknown are ids of jobs that waited at the submission, were not held, and had an unknown size or queue
	// then. If there were too many, only the newest are kept. When this job's own size and queue become known, the
	// engine counts the jobs known by then as ahead of it.
	BehindUnknown []string `json:"behind_unknown,omitempty"`
	// KeptBeside is true if a limit would keep the job from starting while two groups of jobs run: those that ran at
	// its submission, and those of BehindUnknown.
	KeptBeside bool `json:"kept_beside,omitempty"`
	// OnHold is true if the job did not compete at its submission: it was held, had a later begin time, or waited for
	// other jobs in a way that cannot be simulated.
	OnHold bool `json:"on_hold,omitempty"`
	// Throttled is true for an array whose limit on running tasks delays its last tasks: when the forecast was made,
	// the array had at least as many other tasks as the limit allows.
	Throttled bool `json:"throttled,omitempty"`
	// Blocking adds up the time in which the job has not competed so far.
	Blocking Blocking `json:"blocking,omitzero"`
	// Light is true for a job of an imported history that the fast replay (engine.Replay) did not forecast. Such a job
	// gets no row.
	Light bool `json:"light,omitempty"`
}

// DetailsKnown reports whether the job's size and queue are known, so that the forecast can be made. A missing queue
// does not matter if the size came with the submission: such a log has no queues at all.
func (f *Forecast) DetailsKnown() bool {
	return f.Job.Procs > 0 && !f.Job.Unsized && (!f.Job.Unqueued || f.Sized)
}

// Scored returns the answer by which the job is scored. For an array that is the answer for the last task, or an answer
// without a forecast if the array was recognized too late (ReasonUnknownTasks).
func (f *Forecast) Scored() Answer {
	switch {
	case f.Last != nil && !f.Part:
		return *f.Last
	case f.Parts > 0 && !f.Part:
		return Answer{Reason: ReasonUnknownTasks}
	}
	return answerFor(f.Answers, f.Job.Procs)
}

// SlurmPlan is the method whose forecast is the start that Slurm itself expected (job.Attributes.Planned).
const SlurmPlan = "slurm"

// AddPlan adds SlurmPlan to the methods beside the forecast of a single job, if Slurm expected a start.
func (f *Forecast) AddPlan() {
	if f.Job.Planned.IsZero() || len(f.Answers) != 1 || f.Last != nil || f.Part || f.Parts > 0 {
		return
	}
	a := &f.Answers[0]
	isPlan := func(p modelstore.Peer) bool { return p.Method == SlurmPlan }
	if a.Quantiles == nil || slices.ContainsFunc(a.Peers, isPlan) {
		return
	}
	wait := math.Max(0, f.Job.Planned.Sub(f.Job.Submit).Seconds())
	a.Peers = append(slices.Clip(a.Peers),
		modelstore.Peer{Method: SlurmPlan, Quantiles: slices.Repeat([]float64{wait}, len(a.Quantiles))})
}

// Waiting returns the forecast of a waiting job as far as it is known. ok is false if there is no forecast yet, or if
// none was possible. If the size of the job is unknown, the forecast is for the largest size, because its quantiles
// pass last.
func (f *Forecast) Waiting() (w Waiting, ok bool) {
	if !f.Made || !f.Closed.IsZero() {
		return Waiting{}, false
	}
	return f.asMade()
}

// asMade returns the forecast that was made, even if the job has started or left since. ok is false if none was
// possible.
func (f *Forecast) asMade() (w Waiting, ok bool) {
	a := f.Scored()
	if n := len(f.Answers); n > 1 && f.Job.Procs < 1 {
		a = f.Answers[n-1]
	}
	return Waiting{
		Queue: f.Job.Queue, Procs: f.Job.Procs, Submit: f.Job.Submit, Quantiles: a.Quantiles, Peers: a.Peers,
		Replayed: !f.Live || f.After,
	}, a.Quantiles != nil
}

// Row returns the ledger row of a job that has started or left the queue. levels are the levels of all forecasts.
func (f *Forecast) Row(cluster string, levels []float64) modelstore.Row {
	a := f.Scored()
	row := modelstore.Row{
		Cluster: cluster, JobID: f.Job.ID, Attempt: f.Job.Attempt, Queue: f.Job.Queue,
		Procs: f.Job.Procs, TimeLimit: f.Job.TimeLimit, Submit: f.Job.Submit,
		Outcome: modelstore.Cancelled, WaitSeconds: math.Max(0, f.Closed.Sub(f.Job.Submit).Seconds()),
		Method: a.Method, Quantiles: a.Quantiles, Peers: a.Peers, Reason: a.Reason, Replayed: !f.Live || f.After,
	}
	if a.Quantiles != nil {
		row.Levels = levels
	}
	if f.Started {
		row.Outcome, row.Start = modelstore.Started, f.Closed
	}
	row.Parts = &modelstore.Parts{
		BlockedSeconds: math.Min(f.Blocking.Of(f.Job.Submit, f.Closed).Seconds(), row.WaitSeconds),
		Blocked:        a.Blocked, Eligible: a.Eligible, Predicted: f.predicted(&a).String(), Settled: f.Job.Settled,
	}
	return row
}

// predicted returns the predicted cause of the wait, if the job had to wait; NoCause without a forecast. For an array
// it is the cause of the first task's wait. Holds and limits that the engine's forecast did not consider take
// precedence.
func (f *Forecast) predicted(a *Answer) job.Cause {
	cause := a.Cause
	if f.Last != nil && len(f.Answers) == 1 {
		cause = f.Answers[0].Cause
	}
	switch {
	case a.Quantiles == nil:
		return job.NoCause
	case f.OnHold:
		return job.OnHold
	case f.Throttled && f.startsSoon():
		return job.LimitReached // then the scheduler's reason is that of the other tasks
	case cause == job.Resources && f.KeptBeside:
		return job.LimitReached
	}
	return cause
}

// noticed is the shortest wait, in seconds, whose reason can be observed. Schedulers need up to this time to examine
// all waiting jobs.
const noticed = 8

// startsSoon reports whether the first task of an array will probably start before the reason of its wait can be
// observed: the median of its wait is shorter than noticed.
func (f *Forecast) startsSoon() bool {
	return len(f.Answers) == 1 && len(f.Answers[0].Quantiles) > waittime.Median &&
		f.Answers[0].Quantiles[waittime.Median] < noticed
}

// OtherTasks returns the number of submitted tasks of an array, not counting the first; 1 if the log does not count the
// tasks. It is 0 if the job is not an array, and for the first task's own record.
func (f *Forecast) OtherTasks() int {
	switch {
	case f.Part:
		return 0
	case f.Renamed:
		return f.Parts
	case f.Parts > 0 && f.Job.Tasks > 0:
		return f.Parts + f.Job.Tasks - 1
	case f.Parts > 0: // the log does not count the tasks
		return 1
	}
	return max(0, f.Job.Tasks-1)
}

// WaitingTasks returns how many of the other tasks (see OtherTasks) still wait in the array's record. It is at least 1
// once the first task has a record of its own.
func (f *Forecast) WaitingTasks() int {
	if f.Parts > 0 { // the first task has a record of its own
		return max(1, f.Job.Tasks)
	}
	return f.OtherTasks()
}
