package advice

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/waitcast/waitcast/workload/speedup"
)

// Law is the distribution of a wait or a runtime, in seconds. The law of a wait with known quantiles is a
// *waittime.Distribution. A law is immutable and safe for concurrent use.
type Law interface {
	// Quantile returns the p-quantile, p from 0 to 1. It does not decrease with p. It is +Inf if the probability that
	// the job never starts is above 1-p.
	Quantile(p float64) float64
	// CDF returns the probability of at most the given number of seconds.
	CDF(seconds float64) float64
	// Mean returns the mean. It is +Inf if a quantile below level 1 is infinite.
	Mean() float64
}

// Cut is the level at which laws of runtimes are truncated: above it, and below 1-Cut, quantiles are constant. This
// keeps means finite, and independent of a tail that was never observed.
const Cut = .999

// Fixed is a time without randomness.
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

// LogNormal is a time whose logarithm is normal, truncated at Cut.
type LogNormal struct {
	Median float64 // seconds, above 0
	Spread float64 // standard deviation of ln seconds, 0 or more
}

// RunOf returns the law of the runtime on the given number of processors, from a speedup curve. The error is the
// curve's *speedup.SizeError.
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

// CDF returns the probability of at most the given number of seconds.
func (l LogNormal) CDF(seconds float64) float64 {
	switch {
	case seconds < l.Quantile(1-Cut):
		return 0
	case seconds >= l.Quantile(Cut):
		return 1
	}
	return distuv.UnitNormal.CDF(math.Log(seconds/l.Median) / l.Spread)
}

// Mean returns the mean of the truncated law.
func (l LogNormal) Mean() float64 {
	s, z := l.Spread, normal(Cut)
	phi := distuv.UnitNormal.CDF
	body := math.Exp(s*s/2) * (phi(z-s) - phi(-z-s))
	return l.Median * (body + (1-Cut)*(math.Exp(s*z)+math.Exp(-s*z)))
}

// normal returns the quantile of the standard normal law at p, with p limited to [1-Cut, Cut].
func normal(p float64) float64 { return distuv.UnitNormal.Quantile(min(max(p, 1-Cut), Cut)) }

// Samples is the empirical law of a sample. Use NewSamples to create one.
type Samples struct{ sorted []float64 }

// NewSamples returns the law of a sample of times. Each must be at least 0; +Inf means never. The error is a
// *LawError.
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

// Quantile returns the p-quantile of the sample.
func (s *Samples) Quantile(p float64) float64 { return quantile(s.sorted, p) }

// quantile returns the p-quantile of a sorted sample.
func quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	// Products such as 0.35 times 20 are slightly above the exact integer, so a little is subtracted.
	k := int(math.Ceil(p*float64(n) - 1e-9))
	return sorted[min(max(k-1, 0), n-1)]
}

// CDF returns the share of the sample up to the given number of seconds.
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

// LawError reports a sample, or a list of quantiles, that does not form a law.
type LawError struct {
	Place   int // place of Value in the list, from 1; 0 for the list as a whole
	Value   float64
	Problem string
}

// Error names the invalid element.
func (e *LawError) Error() string {
	if e.Place == 0 {
		return "distribution: " + e.Problem
	}
	return fmt.Sprintf("distribution, entry %d is %v: %s", e.Place, e.Value, e.Problem)
}
