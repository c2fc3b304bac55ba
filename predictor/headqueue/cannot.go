package headqueue

import "fmt"

// Reason is the reason for a missing forecast of a method.
type Reason string

// The reasons of a [CannotSay].
const (
	// NoBenefactors: no running job is as large as the missing processors (Predictor A).
	NoBenefactors Reason = "no_benefactors"
	// LargerThanMachine: the request exceeds the machine's processors.
	LargerThanMachine Reason = "larger_than_machine"
	// NotFitted: the laws of lifetimes are not known yet. It is for callers; this package does not use it.
	NotFitted Reason = "not_fitted"
	// NeverEnough: the jobs that can end do not free enough processors.
	NeverEnough Reason = "never_enough"
	// NothingRunning: too few processors are free, and no job will free any.
	NothingRunning Reason = "nothing_running"
	// TooMuchWork: there are more jobs than [MaxJobs].
	TooMuchWork Reason = "too_much_work"
)

// CannotSay is the error of a method that has no answer.
type CannotSay struct {
	Method string // the method, as in [MethodMedian]
	Reason Reason
	Detail string // the figures of this case
	Hint   string // what would help
}

// Error names the method, the figures and what would help.
func (e *CannotSay) Error() string {
	return fmt.Sprintf("%s cannot say (%s): %s; %s", e.Method, e.Reason, e.Detail, e.Hint)
}

func cannotBenefit(need int) *CannotSay {
	return &CannotSay{
		Method: NameA, Reason: NoBenefactors,
		Detail: fmt.Sprintf("no running job holds the %d missing processors alone", need),
		Hint:   "take Predictor B or the exact distribution",
	}
}

func cannotFit(procs, capacity int) *CannotSay {
	return &CannotSay{
		Method: MethodExact, Reason: LargerThanMachine,
		Detail: fmt.Sprintf("%d processors asked for, the machine has %d", procs, capacity),
		Hint:   fmt.Sprintf("ask for at most %d processors", capacity),
	}
}

func cannotRun(need int) *CannotSay {
	return &CannotSay{
		Method: MethodExact, Reason: NothingRunning,
		Detail: fmt.Sprintf("%d processors are missing and no running job will free any", need),
		Hint:   "see whether nodes are down or drained, and whether the free processors are counted right",
	}
}

func cannotReach(method string, need int, freed float64) *CannotSay {
	return &CannotSay{
		Method: method, Reason: NeverEnough,
		Detail: fmt.Sprintf("%d processors are missing, the jobs that can end free %.4g", need, freed),
		Hint:   "ask for fewer processors, or refit the lifetimes so that old jobs can end",
	}
}

func cannotAfford(jobs int) *CannotSay {
	return &CannotSay{
		Method: MethodExact, Reason: TooMuchWork,
		Detail: fmt.Sprintf("%d jobs running and queued ahead, at most %d are looked at", jobs, MaxJobs),
		Hint:   "forecast per queue, or leave out jobs that cannot matter",
	}
}
