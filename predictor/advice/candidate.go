package advice

import (
	"errors"
	"fmt"
	"math"

	"github.com/waitcast/waitcast/job/waittime"
)

// Candidate is one possible request: a size in a queue of a cluster.
type Candidate struct {
	// Name identifies the candidate in errors and for Steady.
	Name string
	// Pool is the name of the pool that the candidate competes for. Waits of candidates of one pool belong to the
	// same futures. Those of different pools are independent.
	Pool  string
	Procs int
	// MaxProcs is the largest size that the candidate's queue or machine accepts, 0 for unknown.
	MaxProcs int
	Wait     Wait
	// Run is the law of the candidate's runtime, finite and above 0. The random part of the runtime is common to all
	// candidates: a job that runs longer than its median at one size does so at every size.
	Run Law
	// Billing is a factor of the price of a processor-hour (Objective.ProcHour) for this candidate; 0 stands for 1.
	Billing float64
}

// Wait is a wait, given by one of its fields. If neither is set, the job starts at once.
type Wait struct {
	// Law is the law of the wait. The waits of the candidates of one pool are then assumed to be comonotone: a delay
	// of one delays all of them.
	Law Law
	// Futures has the wait in each of a set of futures, such as the replicas of a simulation, in seconds; +Inf for
	// never. All candidates of a pool have the same futures.
	Futures []float64
}

// ErrNoCandidates is returned if there are no candidates.
var ErrNoCandidates = errors.New("no candidate to choose from: name at least one size")

// ErrNever is returned if the objective is infinite for all candidates: each may never start or finish.
var ErrNever = errors.New(
	"no candidate is sure to start: ask for a quantile or a deadline's probability, or for fewer processors")

// CandidateError reports an invalid candidate.
type CandidateError struct {
	Candidate string
	Place     int // index among the candidates or sizes, from 1; 0 for a running job at its present size
	Field     string
	Problem   string
	Err       error // the cause, if there is one
}

// Error names the candidate and the problem.
func (e *CandidateError) Error() string {
	return fmt.Sprintf("candidate %d (%s): %s: %s", e.Place, e.Candidate, e.Field, e.Problem)
}

// Unwrap returns the cause.
func (e *CandidateError) Unwrap() error { return e.Err }

// TooLargeError reports a candidate whose size its queue or machine never allows.
type TooLargeError struct {
	Candidate string
	Procs     int
	MaxProcs  int
}

// Error names the candidate and both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("candidate %s: asks for %d processors, and at most %d can be had there", e.Candidate,
		e.Procs, e.MaxProcs)
}

// stepCandidates is the number of candidates between two calls of step. They take about as long as one forecast.
const stepCandidates = 16

// stepAfter, called for each candidate, calls step for every 16th (stepCandidates). i is the index of the candidate.
func stepAfter(i int, step func() error) error {
	if i%stepCandidates != stepCandidates-1 {
		return nil
	}
	return step()
}

// check returns an error for the first invalid candidate, ErrNoCandidates for an empty list, or an error of step.
func check(candidates []Candidate, step func() error) error {
	if len(candidates) == 0 {
		return ErrNoCandidates
	}
	place := make(map[string]int, len(candidates))
	firsts := map[string]int{} // by pool: index of the first candidate whose wait is not certain
	for i := range candidates {
		if err := stepAfter(i, step); err != nil {
			return err
		}
		c := &candidates[i]
		if first, twice := place[c.Name]; twice {
			return c.fail(i, "name", fmt.Sprintf("candidate %d has it already", first), nil)
		}
		place[c.Name] = i + 1
		if err := c.check(i); err != nil {
			return err
		}
		if c.Wait.certain() {
			continue
		}
		first, known := firsts[c.Pool]
		if !known {
			firsts[c.Pool], first = i, i
		}
		if n, m := len(c.Wait.Futures), len(candidates[first].Wait.Futures); n != m {
			return c.fail(i, "wait",
				fmt.Sprintf("it has %d futures, and candidate %d of the same pool has %d", n, first+1, m), nil)
		}
	}
	return nil
}

func (c *Candidate) fail(i int, field, problem string, err error) error {
	return &CandidateError{Candidate: c.Name, Place: i + 1, Field: field, Problem: problem, Err: err}
}

func (c *Candidate) check(i int) error {
	switch {
	case c.Procs < 1:
		return c.fail(i, "size", fmt.Sprintf("%d processors; want 1 or more", c.Procs), nil)
	case c.MaxProcs > 0 && c.Procs > c.MaxProcs:
		return &TooLargeError{c.Name, c.Procs, c.MaxProcs}
	case !(c.Billing >= 0) || math.IsInf(c.Billing, 1):
		return c.fail(i, "billing", fmt.Sprintf("factor %v; want a number from 0", c.Billing), nil)
	case c.Run == nil:
		return c.fail(i, "runtime", "it has none", nil)
	case c.Wait.Futures != nil && len(c.Wait.Futures) == 0:
		return c.fail(i, "wait", "it has no futures; want one at least", nil)
	case c.Wait.Law != nil && c.Wait.Futures != nil:
		return c.fail(i, "wait", "it has a law and futures; want one of them", nil)
	}
	if low, high := c.Run.Quantile(0), c.Run.Mean(); !(low > 0) || !(high > 0) || math.IsInf(c.Run.Quantile(1), 1) ||
		math.IsInf(high, 1) {
		return c.fail(i, "runtime",
			fmt.Sprintf("%v s on the average, %v s at least; want more than 0 and finite", high, low), nil)
	}
	if err := rises(c.Run); err != nil {
		return c.fail(i, "runtime", err.Error(), err)
	}
	if c.Wait.Law != nil {
		if err := rises(c.Wait.Law); err != nil {
			return c.fail(i, "wait", err.Error(), err)
		}
	}
	for k, w := range c.Wait.Futures {
		if !(w >= 0) {
			return c.fail(i, "wait", fmt.Sprintf("%v s in future %d; want 0 or more", w, k+1), nil)
		}
	}
	return nil
}

// rises returns a *LawError if the law's quantiles at the levels of answers are negative or fall, or if its mean is
// negative or NaN.
func rises(l Law) error {
	last := 0.
	for i, p := range waittime.Levels() {
		q := l.Quantile(p)
		if !(q >= last) {
			return &LawError{i + 1, q, fmt.Sprintf("the quantile at %v must be a number from %v", p, last)}
		}
		last = q
	}
	if m := l.Mean(); !(m >= 0) {
		return &LawError{0, m, fmt.Sprintf("the mean is %v", m)}
	}
	return nil
}

// certain reports whether the wait has only one value. A wait that is given by Futures counts as uncertain.
func (w *Wait) certain() bool { return w.Futures == nil && (w.Law == nil || constant(w.Law)) }

// constant reports whether a law has only one value.
func constant(l Law) bool {
	_, fixed := l.(Fixed)
	return fixed || l.Quantile(0) == l.Quantile(1)
}

// law returns the law of the wait, also if the wait is given by Futures.
func (w *Wait) law() (Law, error) {
	switch {
	case w.Futures != nil:
		return NewSamples(w.Futures)
	case w.Law != nil:
		return w.Law, nil
	}
	return Fixed(0), nil
}
