package accuracy

import (
	"slices"
	"sort"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor"
)

// Waitcast names the served forecast among the methods.
const Waitcast = "waitcast"

// Reasons why a job has no forecast.
const (
	// ReasonUnknownTasks: the number of an array's tasks became known after the forecast of the first. That of the last
	// cannot be made any more.
	ReasonUnknownTasks = "unknown_tasks"
	// ReasonArrayTask: the task is neither the first nor the last of its array to start, and the forecasts of an array
	// are for those two.
	ReasonArrayTask = "array_task"
	// ReasonNotFitted: no expert has learnt enough to answer.
	ReasonNotFitted = "not_fitted"
)

// Answer is the forecast for one size. A job whose size is not known in time gets one for every power of two below the
// capacity, and one for the capacity.
type Answer struct {
	Procs     int               `json:"procs"`
	Method    string            `json:"method,omitempty"`
	Quantiles []float64         `json:"quantiles,omitempty"`
	Peers     []modelstore.Peer `json:"peers,omitempty"`
	Reason    string            `json:"reason,omitempty"` // why there is none
	// Ahead and AheadProcs are the jobs that were ahead, and the processors that they asked for.
	Ahead      int `json:"ahead,omitempty"`
	AheadProcs int `json:"ahead_procs,omitempty"`
	// Capacity is the processors of the pool, Priority the job's.
	Capacity int   `json:"capacity,omitempty"`
	Priority int64 `json:"priority,omitempty"`
}

// answerFor returns the answer for a size: the only one there is, or of the two sizes around it the one of the larger,
// whose wait is not shorter.
func answerFor(answers []Answer, procs int) Answer {
	i := sort.Search(len(answers), func(i int) bool { return answers[i].Procs >= procs })
	if len(answers) == 0 {
		return Answer{Procs: procs, Reason: string(predictor.ReasonUnknownSize)}
	}
	return answers[min(i, len(answers)-1)]
}

// Finite returns a copy of quantiles with waittime.Never for what is not a number of seconds, or too many: +Inf can be
// written neither to the ledger nor to saved state.
func Finite(quantiles []float64) []float64 {
	out := slices.Clone(quantiles)
	for i, q := range out {
		if waittime.IsNever(q) {
			out[i] = waittime.Never
		}
	}
	return out
}
