package accuracy

import (
	"slices"
	"sort"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor"
)

// Waitcast is the name of the served forecast among the names of forecasting methods.
const Waitcast = "waitcast"

// Reasons why a job has no forecast.
const (
	// ReasonUnknownTasks: it became known that the job is an array only when its first task had its forecast already.
	// That was too late to forecast the last task.
	ReasonUnknownTasks = "unknown_tasks"
	// ReasonArrayTask: the job is a task of an array, but neither the first nor the last one to start. Only those two
	// have forecasts.
	ReasonArrayTask = "array_task"
	// ReasonNotFitted: no expert has learnt enough to answer.
	ReasonNotFitted = "not_fitted"
)

// Answer is the forecast for one size. A job whose size is not known in time gets several answers: one for every power
// of two below the capacity, and one for the capacity itself.
type Answer struct {
	Procs     int               `json:"procs"`
	Method    string            `json:"method,omitempty"`
	Quantiles []float64         `json:"quantiles,omitempty"`
	Peers     []modelstore.Peer `json:"peers,omitempty"`
	Reason    string            `json:"reason,omitempty"` // reason for a missing forecast
	// Ahead is the number of waiting jobs that were ahead of the job. AheadProcs is the sum of the processors that they
	// requested.
	Ahead      int `json:"ahead,omitempty"`
	AheadProcs int `json:"ahead_procs,omitempty"`
	// Capacity is the number of processors of the job's pool. Priority is the priority of the job.
	Capacity int   `json:"capacity,omitempty"`
	Priority int64 `json:"priority,omitempty"`
	// Blocked and Eligible are the quantiles of the two parts of the wait, in seconds. If no blocked part is forecast,
	// both are nil, and the eligible part is the whole wait.
	Blocked  []float64 `json:"blocked,omitempty"`
	Eligible []float64 `json:"eligible,omitempty"`
	// Cause is the predicted cause of the wait, if the job has to wait.
	Cause job.Cause `json:"cause,omitempty"`
}

// answerFor returns the answer for the size procs. A single answer applies to every size. Among several it returns the
// one for this size or for the next larger one, which has no shorter wait; beyond the largest, it returns the last.
// Without answers it returns one without a forecast.
func answerFor(answers []Answer, procs int) Answer {
	i := sort.Search(len(answers), func(i int) bool { return answers[i].Procs >= procs })
	if len(answers) == 0 {
		return Answer{Procs: procs, Reason: string(predictor.ReasonUnknownSize)}
	}
	return answers[min(i, len(answers)-1)]
}

// Finite returns a copy of quantiles in which NaN, infinite and too large values are replaced by waittime.Never,
// because neither the ledger nor saved state can store +Inf.
func Finite(quantiles []float64) []float64 {
	out := slices.Clone(quantiles)
	for i, q := range out {
		if waittime.IsNever(q) {
			out[i] = waittime.Never
		}
	}
	return out
}
