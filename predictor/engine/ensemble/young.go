package ensemble

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// Before an engine has learnt much, its experts are too certain. The first jobs on an empty machine all start at
// once, so experts that forecast 0 gain weight just before the first queue builds up. An early forecast is therefore
// mixed in until enough waits of a class of requests were learnt. It is the simulation's median, with the errors of
// simulations in the first days of other clusters (Prior). The errors on this cluster increasingly replace those.

// EarlyClass is a class of requests whose early errors are counted together.
type EarlyClass int

// The classes differ by the simulation's median: below a minute, or not.
const (
	StartsAtOnce EarlyClass = iota
	StartsLater
	EarlyClasses
)

// EarlyClassOf returns the class of a request. said is ln(60 s + the simulation's median).
func EarlyClassOf(said float64) EarlyClass {
	if said < waittime.Log(waittime.Shift) {
		return StartsAtOnce
	}
	return StartsLater
}

const (
	// EarlyWaits is the maximum number of kept waits of a class. After that many, only the experts are served.
	EarlyWaits = 400
	// exceptions is the number of learnt waits that must be expected above a quantile (below it, for levels under 0.5)
	// before only the experts are served at its level. Experts learn a level from such waits. If fewer are expected,
	// the weight of the experts is the expected number divided by exceptions, and the early forecast has the rest of
	// the weight. The weights apply to logarithms of waits.
	exceptions = 50
	// The errors of other clusters count together as much as those of priorJobs jobs.
	priorJobs = 20
)

// EarlyErrors are the errors of the simulation in an engine's first waits, by class.
type EarlyErrors struct {
	Known   [EarlyClasses][]float64 // at most EarlyWaits each
	Waiting []PendingError
}

// over reports whether enough waits of a class have been learnt.
func (e *EarlyErrors) over(c EarlyClass) bool { return len(e.Known[c]) >= EarlyWaits }

// Add records the simulation's forecast for a job, unless enough waits of its class have been learnt.
func (e *EarlyErrors) Add(id uint64, submit, said float64) {
	if !e.over(EarlyClassOf(said)) {
		e.Waiting = append(e.Waiting, PendingError{id, submit, said})
	}
}

// Gone forgets a job that left without a start to learn from.
func (e *EarlyErrors) Gone(id uint64) { takePending(&e.Waiting, id) }

// Started records the error of a job's forecast by the logarithm z of its wait.
func (e *EarlyErrors) Started(id uint64, z float64) {
	g, ok := takePending(&e.Waiting, id)
	if !ok {
		return
	}
	c := EarlyClassOf(g.said)
	if e.Known[c] = append(e.Known[c], z-g.said); e.over(c) {
		e.Waiting = slices.DeleteFunc(e.Waiting, func(g PendingError) bool { return EarlyClassOf(g.said) == c })
	}
}

// EarlyForecast has the inputs of early forecasts of a class.
type EarlyForecast struct {
	// Known is the number of waits of the class that were learnt, up to EarlyWaits.
	Known int
	// Errors are the quantiles, at the levels, of ln((wait + 60 s) / (simulation's median + 60 s)). They are nil once
	// EarlyWaits waits are known.
	Errors []float64
}

// trust returns the weight of the experts at a level, from 0 to 1.
func (f *EarlyForecast) trust(level float64) float64 {
	return math.Min(1, float64(f.Known)/math.Min(EarlyWaits, exceptions/math.Min(level, 1-level)))
}

// Forecast returns the inputs of early forecasts at an instant.
func (e *EarlyErrors) Forecast(now float64, prior *Prior, levels []float64) (out [EarlyClasses]EarlyForecast) {
	for c := range EarlyClasses {
		out[c].Known = len(e.Known[c])
		if e.over(c) {
			continue
		}
		all := prior.observed(c)
		for _, off := range e.Known[c] {
			all = append(all, observedError{off, 1, true})
		}
		for i := range e.Waiting {
			if g := &e.Waiting[i]; EarlyClassOf(g.said) == c {
				all = append(all, g.atLeast(now))
			}
		}
		out[c].Errors = censoredQuantiles(all, levels)
	}
	return out
}

// Mix moves the experts' combination towards the early forecast of a request. Both are logarithms of waits at the
// levels. said is the median of the request's simulation, or of the combination if no simulation is possible. The
// result replaces combined and is sorted. Once EarlyWaits waits of the class are known, Mix does nothing.
func Mix(early *[EarlyClasses]EarlyForecast, said float64, levels, combined []float64) {
	f := &early[EarlyClassOf(said)]
	if f.Errors == nil {
		return
	}
	for l := range combined {
		z := math.Max(zeroWait(), said+f.Errors[l])
		trust := f.trust(levels[l])
		combined[l] = trust*combined[l] + (1-trust)*z
	}
	slices.Sort(combined)
}

func zeroWait() float64 { return waittime.Log(0) }

// observedError is an error of the simulation. If done is false the job still waits, and off is a lower bound.
type observedError struct {
	off, weight float64
	done        bool
}

// censoredQuantiles returns the quantiles of errors at the levels. Errors that are not done are right-censored (E.
// Kaplan and P. Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958). A level that the done
// errors do not reach gets the largest of them. At least one error must be done.
func censoredQuantiles(all []observedError, levels []float64) []float64 {
	slices.SortFunc(all, func(a, b observedError) int {
		if c := cmp.Compare(a.off, b.off); c != 0 || a.done == b.done {
			return c
		}
		if a.done { // of equal errors, that of a start comes before a lower bound
			return -1
		}
		return 1
	})
	left := 0.
	for _, o := range all {
		left += o.weight
	}
	out := make([]float64, 0, len(levels))
	survive, last := 1.0, math.NaN()
	for _, o := range all {
		if o.done {
			survive *= 1 - math.Min(1, o.weight/left)
			last = o.off
			for len(out) < len(levels) && 1-survive >= levels[len(out)]-1e-12 {
				out = append(out, last)
			}
		}
		left -= o.weight
	}
	for len(out) < len(levels) {
		out = append(out, last)
	}
	return out
}
