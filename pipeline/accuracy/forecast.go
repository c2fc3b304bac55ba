package accuracy

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/modelstore"
)

// Forecast is the forecast of a job that has not started yet, or that started before enough was known of it. Its JSON
// is what is saved.
type Forecast struct {
	Job  cluster.Job `json:"job"`
	Live bool        `json:"live,omitempty"`
	// Sized is true if the size was known at the instant of the submission.
	Sized bool `json:"sized,omitempty"`
	// Made is true once the forecast is made: when the instant of the submission is over, or when the job's size and
	// queue become known.
	Made bool `json:"made,omitempty"`
	// Entered is true once the engine knows of the job.
	Entered bool     `json:"entered,omitempty"`
	Answers []Answer `json:"answers,omitempty"`
	// Last is the forecast for the last task of an array. Answers are for the first.
	Last *Answer `json:"last,omitempty"`
	// Rest is true once the engine knows of the tasks of an array but the first.
	Rest bool `json:"rest,omitempty"`
	// Parts is the number of tasks that have got records of their own. Part is true for the forecast of such a task.
	Parts int  `json:"parts,omitempty"`
	Part  bool `json:"part,omitempty"`
	// Renamed is true once the last task has taken the array's record over.
	Renamed bool `json:"renamed,omitempty"`
	// Closed is when the job started or left before its forecast was made, Started is set if it started.
	Closed  time.Time `json:"closed,omitzero"`
	Started bool      `json:"started,omitempty"`
	// Ended is true if the job has also ended before its forecast was made.
	Ended bool `json:"ended,omitempty"`
	// Followed is the number under which its quantiles are followed, 0 if they are not.
	Followed uint64 `json:"followed,omitempty"`
	// After is true if the forecast was made after the job had started or left, because too little of it was known
	// before.
	After bool `json:"after,omitempty"`
	// Light is true of a job of the past that was followed lightly (engine.Replay): it has no forecast and gets no row.
	Light bool `json:"light,omitempty"`
}

// DetailsKnown reports whether the forecast can be made: the job's size and queue are known. A log that records the
// size with the submission has no queues, if it records none.
func (f *Forecast) DetailsKnown() bool {
	return f.Job.Procs > 0 && !f.Job.Unsized && (!f.Job.Unqueued || f.Sized)
}

// Scored returns the answer by which the job is scored.
func (f *Forecast) Scored() Answer {
	switch {
	case f.Last != nil && !f.Part:
		return *f.Last
	case f.Parts > 0 && !f.Part:
		return Answer{Reason: ReasonUnknownTasks}
	}
	return answerFor(f.Answers, f.Job.Procs)
}

// Waiting returns what is known of the forecast while the job waits. ok is false if there is none yet, or none was
// possible. Of a job whose size is not known it is the forecast of the largest size: where that has passed, those of
// all sizes have.
func (f *Forecast) Waiting() (w Waiting, ok bool) {
	if !f.Made || !f.Closed.IsZero() {
		return Waiting{}, false
	}
	return f.asMade()
}

// asMade returns the forecast as it stands, also of a job that has left.
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

// Row returns the ledger row of a job that has started or left the queue. levels are those of all forecasts.
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
	return row
}

// OtherTasks returns the number of tasks of an array but the first, as many as were submitted; 0 if the job is no
// array.
func (f *Forecast) OtherTasks() int {
	switch {
	case f.Part:
		return 0
	case f.Renamed:
		return f.Parts
	case f.Parts > 0 && f.Job.Tasks > 0:
		return f.Parts + f.Job.Tasks - 1
	case f.Parts > 0: // the log does not count them
		return 1
	}
	return max(0, f.Job.Tasks-1)
}

// WaitingTasks returns how many of the other tasks still wait under the array's name.
func (f *Forecast) WaitingTasks() int {
	if f.Parts > 0 { // the first has a record of its own already
		return max(1, f.Job.Tasks)
	}
	return f.OtherTasks()
}
