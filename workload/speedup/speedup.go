// Package speedup models the runtime of a program on any number of processors. It has a table of measured runtimes
// ([Table]), Amdahl's law ([Amdahl]), Downey's model ([Downey]), and a curve fitted to the history of runs
// ([History]).
//
// All of them are a [Curve]. Times are in seconds. A size is a number of processors, at least 1.
package speedup

import "fmt"

// Curve is a runtime as a function of the size. A curve never changes, and several goroutines may use it at once.
type Curve interface {
	// Runtime returns the runtime in seconds on the given number of processors. If the runtime is uncertain, it
	// returns the median. The result is finite and above 0. The error is a *SizeError for a size below 1, or for a
	// size that the curve does not cover.
	Runtime(procs int) (float64, error)

	// Spread returns the standard deviation of ln runtime around Runtime. It is 0 if the curve is certain. It has a
	// meaning only for sizes at which Runtime returns no error.
	Spread(procs int) float64
}

// SizeError reports a size that a curve does not cover.
type SizeError struct {
	Procs    int
	From, To int // range of sizes that the curve covers; To is 0 if there is no largest size
}

// Error returns a message with the sizes that the curve covers.
func (e *SizeError) Error() string {
	if e.To == 0 {
		return fmt.Sprintf("no runtime for %d processors: sizes go from %d", e.Procs, e.From)
	}
	return fmt.Sprintf("no runtime for %d processors: what is known covers %d to %d; add a size, or leave this one out",
		e.Procs, e.From, e.To)
}

// ParameterError reports an invalid parameter of a model.
type ParameterError struct {
	Name  string
	Value float64
	Want  string
}

// Error returns a message with the parameter and its allowed values.
func (e *ParameterError) Error() string {
	return fmt.Sprintf("%s is %v; want %s", e.Name, e.Value, e.Want)
}

// Accepted runtimes are from a nanosecond to about 30,000 years. Within this range no formula of this package
// overflows.
const (
	shortest = 1e-9
	longest  = 1e12
)

// sensible reports whether a runtime in seconds is accepted.
func sensible(seconds float64) bool { return seconds >= shortest && seconds <= longest }

// model is a curve that is defined for every size: the runtime on one processor, divided by the speedup.
type model struct {
	t1 float64
}

func (m model) runtime(procs int, speedup func(n float64) float64) (float64, error) {
	if procs < 1 {
		return 0, &SizeError{Procs: procs, From: 1}
	}
	return m.t1 / speedup(float64(procs)), nil
}

// Spread returns 0, because the model is assumed to be exact.
func (model) Spread(int) float64 { return 0 }

func checkT1(t1 float64) error {
	if !sensible(t1) {
		return &ParameterError{"T1", t1, "the seconds on one processor, 1e-9 to 1e12"}
	}
	return nil
}

// Amdahl is Amdahl's law: a share of the work is serial, and the rest is perfectly parallel (G. Amdahl, "Validity of
// the single processor approach to achieving large scale computing capabilities", AFIPS 1967). R(n) = T1 (F +
// (1-F)/n).
type Amdahl struct {
	model
	serial float64
}

// NewAmdahl returns Amdahl's law for a serial share F, from 0 to 1, and the runtime T1 in seconds on one processor.
// The error is a *ParameterError.
func NewAmdahl(serial, t1 float64) (*Amdahl, error) {
	if !(serial >= 0 && serial <= 1) {
		return nil, &ParameterError{"F", serial, "the serial share of the work, 0 to 1"}
	}
	if err := checkT1(t1); err != nil {
		return nil, err
	}
	return &Amdahl{model{t1}, serial}, nil
}

// Runtime returns the runtime in seconds on the given number of processors.
func (a *Amdahl) Runtime(procs int) (float64, error) { return a.runtime(procs, a.speedup) }

func (a *Amdahl) speedup(n float64) float64 { return n / (1 + a.serial*(n-1)) }
