package advice

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/waitcast/waitcast/workload/speedup"
)

// Law is the distribution of a wait or a runtime, in seconds; that of a wait of which quantiles are known is a
// *waittime.Distribution. A law never changes and may be used by any number of goroutines.
type Law interface {
	// Quantile returns the least time that a share p, 0 to 1, does not exceed. It never falls with p, and is +Inf where
	// so many never start.
	Quantile(p float64) float64
	// CDF returns the probability of at most so many seconds.
	CDF(seconds float64) float64
	// Mean returns the mean, +Inf if a part of the probability below 1 is beyond all time.
	Mean() float64
}

// Cut is the level beyond which no law of a runtime is believed: above it, and below 1-Cut, quantiles stay what they
// are there. It keeps means finite and from being ruled by a tail of which nobody has seen anything.
const Cut = .999

// Fixed is a time that is certain.
type Fixed float64

// Quantile returns the time.
func (f Fixed) Quantile(float64) float64 { return float64(f) }

// CDF is a step at the time.
func (f Fixed) CDF(seconds float64) float64 {
	if seconds >= float64(f) {
		return 1
	}
	return 0
}

// Mean returns the time.
func (f Fixed) Mean() float64 { return float64(f) }

// LogNormal is a time whose logarithm is normal, cut at Cut.
type LogNormal struct {
	Median float64 // seconds, above 0
	Spread float64 // standard deviation of ln seconds, 0 or more
}

// RunOf returns the law of the runtime on so many processors by a curve. The error is the curve's *speedup.SizeError.
func RunOf(curve speedup.Curve, procs int) (Law, error) {
	median, err := curve.Runtime(procs)
	if err != nil {
		return nil, err
	}
	if spread := curve.Spread(procs); spread != 0 {
		return LogNormal{median, spread}, nil
	}
	return Fixed(median), nil
}

// Quantile returns Median exp(Spread z).
func (l LogNormal) Quantile(p float64) float64 { return l.Median * math.Exp(l.Spread*normal(p)) }

// CDF returns the probability of at most so many seconds.
func (l LogNormal) CDF(seconds float64) float64 {
	switch {
	case seconds < l.Quantile(1-Cut):
		return 0
	case seconds >= l.Quantile(Cut):
		return 1
	}
	return distuv.UnitNormal.CDF(math.Log(seconds/l.Median) / l.Spread)
}

// Mean returns the mean of the law as it is cut.
func (l LogNormal) Mean() float64 {
	s, z := l.Spread, normal(Cut)
	phi := distuv.UnitNormal.CDF
	body := math.Exp(s*s/2) * (phi(z-s) - phi(-z-s))
	return l.Median * (body + (1-Cut)*(math.Exp(s*z)+math.Exp(-s*z)))
}

// normal returns the normal quantile at p, kept in Cut.
func normal(p float64) float64 { return distuv.UnitNormal.Quantile(min(max(p, 1-Cut), Cut)) }

// Samples is the empirical law of a sample. NewSamples makes one.
type Samples struct{ sorted []float64 }

// NewSamples returns the law of a sample of times, 0 or more; +Inf is never. The error is a *LawError.
func NewSamples(seconds []float64) (*Samples, error) {
	if len(seconds) == 0 {
		return nil, &LawError{Problem: "it is empty"}
	}
	for i, s := range seconds {
		if !(s >= 0) {
			return nil, &LawError{i + 1, s, "a time must be 0 or more"}
		}
	}
	sorted := slices.Clone(seconds)
	slices.Sort(sorted)
	return &Samples{sorted}, nil
}

// Quantile returns the least of the sample that a share p of it does not exceed.
func (s *Samples) Quantile(p float64) float64 { return quantile(s.sorted, p) }

// quantile returns the least value of a sorted sample that a share p of it does not exceed.
func quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	// Levels such as .35 times 20 come out a little above the whole number that they are.
	k := int(math.Ceil(p*float64(n) - 1e-9))
	return sorted[min(max(k-1, 0), n-1)]
}

// CDF returns the share of the sample up to so many seconds.
func (s *Samples) CDF(seconds float64) float64 {
	n := sort.Search(len(s.sorted), func(i int) bool { return s.sorted[i] > seconds })
	return float64(n) / float64(len(s.sorted))
}

// Mean returns the mean of the sample.
func (s *Samples) Mean() float64 { return mean(s.sorted) }

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// LawError is a sample, or a list of quantiles, that is no law.
type LawError struct {
	Place   int // in the list, from 1; 0 for the list as a whole
	Value   float64
	Problem string
}

// Error names the place.
func (e *LawError) Error() string {
	if e.Place == 0 {
		return "distribution: " + e.Problem
	}
	return fmt.Sprintf("distribution, entry %d is %v: %s", e.Place, e.Value, e.Problem)
}
