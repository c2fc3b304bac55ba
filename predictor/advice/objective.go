package advice

import (
	"fmt"
	"math"
)

// Kind is the kind of an objective.
type Kind uint8

// The kinds of objectives.
const (
	ExpectedFinish Kind = iota // least mean time to the finish: E[Q(n)] + R(n) of Downey 1996, sec. 1.1
	FinishQuantile             // least quantile of the time to the finish, at Level
	ByDeadline                 // highest probability to finish by Deadline
	Cost                       // least mean cost, by the prices of processors and of the time to the finish
)

// String returns the kind as a word.
func (k Kind) String() string {
	switch k {
	case ExpectedFinish:
		return "expected"
	case FinishQuantile:
		return "quantile"
	case ByDeadline:
		return "deadline"
	case Cost:
		return "cost"
	}
	return fmt.Sprintf("objective %d", uint8(k))
}

// Objective is the criterion of a choice. All answers have the mean finish. Figures that need a deadline or prices
// are computed for every kind if these are given.
type Objective struct {
	Kind Kind
	// Level is the level of FinishQuantile, above 0 and below 1; 0 stands for 0.5.
	Level float64
	// Deadline is the number of seconds within which the job must have finished, 0 for none.
	Deadline float64
	// ProcHour is the price of a processor for an hour. Hour is the price of an hour until the finish, waiting and
	// running, in the same unit. Each is 0 or more. With ProcHour alone the smallest size is almost always the
	// cheapest.
	ProcHour, Hour float64
}

// DeadlineError reports a deadline that has passed, or the missing deadline of ByDeadline.
type DeadlineError struct {
	Seconds float64 // seconds from now to the deadline, 0 or less
}

// Error names the time by which the deadline has passed.
func (e *DeadlineError) Error() string {
	return fmt.Sprintf("the deadline is %v s away; it must lie in the future", e.Seconds)
}

// ObjectiveError reports an invalid objective.
type ObjectiveError struct {
	Field string
	Value float64
	Want  string
}

// Error names the field.
func (e *ObjectiveError) Error() string {
	return fmt.Sprintf("objective: %s is %v; want %s", e.Field, e.Value, e.Want)
}

func (o *Objective) check() error {
	isPrice := func(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
	switch {
	case o.Kind > Cost:
		return &ObjectiveError{"kind", float64(o.Kind), "one that there is"}
	case !(o.Level >= 0 && o.Level < 1):
		return &ObjectiveError{"level", o.Level, "a number above 0 and below 1"}
	case math.IsNaN(o.Deadline) || math.IsInf(o.Deadline, 1):
		return &ObjectiveError{"deadline", o.Deadline, "seconds from now"}
	case o.Deadline < 0 || o.Deadline == 0 && o.Kind == ByDeadline:
		return &DeadlineError{o.Deadline}
	case !isPrice(o.ProcHour):
		return &ObjectiveError{"price of a processor-hour", o.ProcHour, "a number from 0"}
	case !isPrice(o.Hour):
		return &ObjectiveError{"price of an hour", o.Hour, "a number from 0"}
	case o.Kind == Cost && o.ProcHour == 0 && o.Hour == 0:
		return &ObjectiveError{"price", 0, "a price of a processor-hour, of an hour, or both above 0"}
	}
	if o.Level == 0 {
		o.Level = .5
	}
	return nil
}

// cost returns the cost of processor-seconds and a time to the finish.
func (o *Objective) cost(billing, procSeconds, finish float64) float64 {
	const hour = 3600
	cost := billing * procSeconds / hour * o.ProcHour
	if o.Hour > 0 { // without this condition an infinite finish would give NaN
		cost += finish / hour * o.Hour
	}
	return cost
}

// loss returns the loss in one future. The best candidate of a future has the lowest loss.
func (o *Objective) loss(billing, procSeconds, finish float64) float64 {
	switch o.Kind {
	case ByDeadline:
		if finish <= o.Deadline {
			return 0
		}
		return 1
	case Cost:
		return o.cost(billing, procSeconds, finish)
	}
	return finish
}
