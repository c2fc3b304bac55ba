// Package compare measures how similar two workloads are. It uses the measures of the papers: distances of
// distributions, squashed area, correlations, locality, self-similarity, users and the week.
//
// Sources: B. Song, C. Ernemann and R. Yahyapour, "Parallel computer workload modeling with Markov chains", JSSPP
// 2004 ("Song"); N. Zakay and D. G. Feitelson, "Workload resampling for performance evaluation of parallel job
// schedulers", 2013 ("Zakay"). Every function takes plain slices with one element for each job, in the order of
// submission if the order matters. No function changes its arguments. If there are too few values for a measure, the
// error wraps [ErrTooFew]. No result is ever NaN.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

var (
	// ErrTooFew is returned if fewer values are given than the measure needs.
	ErrTooFew = errors.New("too few values")
	// ErrLengths is returned if slices that belong together differ in length.
	ErrLengths = errors.New("slices differ in length")
	// ErrNoSpread is returned if all values are equal, so that there is no correlation.
	ErrNoSpread = errors.New("values do not differ")
	// ErrValue is returned for a value that is NaN, infinite, or outside of the range of the measure.
	ErrValue = errors.New("value out of range")
)

// finite returns an error that names the first value that is not finite. It also returns an error if there are fewer
// than least values.
func finite(what string, x []float64, least int) error {
	if len(x) < least {
		return fmt.Errorf("compare: %s: %d values: %w (at least %d needed)", what, len(x), ErrTooFew, least)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("compare: %s: value %d is %v: %w", what, i, v, ErrValue)
		}
	}
	return nil
}

func sameLength(what string, a, b int) error {
	if a != b {
		return fmt.Errorf("compare: %s: %d and %d values: %w", what, a, b, ErrLengths)
	}
	return nil
}

// KS returns the Kolmogorov-Smirnov distance of two samples, which may be in any order. It is the largest difference
// between their empirical distributions, in [0, 1]. Song's Table 4 uses it to compare sizes and runtimes of a
// generated workload with those of the original.
func KS(a, b []float64) (float64, error) {
	if err := errors.Join(finite("KS, first sample", a, 1), finite("KS, second sample", b, 1)); err != nil {
		return 0, err
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return min(stat.KolmogorovSmirnov(a, nil, b, nil), 1), nil // a sum of many 1/n may exceed 1 by rounding
}

// SquashedArea returns the sum of processors times runtime in processor seconds (Song, eq. 12).
func SquashedArea(procs, runtimes []float64) (float64, error) {
	if err := sameLength("squashed area", len(procs), len(runtimes)); err != nil {
		return 0, err
	}
	if err := errors.Join(finite("squashed area, processors", procs, 0),
		finite("squashed area, runtimes", runtimes, 0)); err != nil {
		return 0, err
	}
	area := 0.0
	for i, p := range procs {
		area += p * runtimes[i]
	}
	return area, nil
}

// AreaDifference returns (synthetic - original) / original of two squashed areas (Song, eq. 13). For example, 0.15
// means 15 % too much work. The original must be positive.
func AreaDifference(synthetic, original float64) (float64, error) {
	if err := finite("squashed area difference", []float64{synthetic, original}, 2); err != nil {
		return 0, err
	}
	if original <= 0 {
		return 0, fmt.Errorf("compare: squashed area of the original is %v: %w (above 0 expected)", original, ErrValue)
	}
	return (synthetic - original) / original, nil
}

// Correlation returns Pearson's correlation of two columns, in [-1, 1]. Song's Table 5 and the paper of Lublin and
// Feitelson, sec. 6.1, use it for sizes and runtimes themselves, not for their logarithms or states. The error wraps
// [ErrNoSpread] if one column is constant.
func Correlation(x, y []float64) (float64, error) {
	if err := sameLength("correlation", len(x), len(y)); err != nil {
		return 0, err
	}
	if err := errors.Join(finite("correlation, first column", x, 2),
		finite("correlation, second column", y, 2)); err != nil {
		return 0, err
	}
	r := stat.Correlation(x, y, nil)
	if math.IsNaN(r) || constant(x) || constant(y) {
		return 0, fmt.Errorf("compare: correlation: %w", ErrNoSpread)
	}
	return min(max(r, -1), 1), nil
}

func constant(x []float64) bool { return slices.Min(x) == slices.Max(x) }

// Autocorrelation returns the correlation of a series with itself shifted by lag jobs, lag >= 1. Song, sec. 5.3 and
// Table 6, uses lag 1 for sizes and runtimes, in the order of submission.
func Autocorrelation(x []float64, lag int) (float64, error) {
	if lag < 1 || len(x) < lag+2 {
		return 0,
			fmt.Errorf("compare: autocorrelation of %d values at lag %d: %w (lag 1 or more, and lag + 2 values needed)",
				len(x), lag, ErrTooFew)
	}
	return Correlation(x[:len(x)-lag], x[lag:])
}

// Interarrivals returns the seconds between consecutive submissions. A submission that is earlier than the previous one
// counts as simultaneous with it.
func Interarrivals(submits []float64) []float64 {
	if len(submits) < 2 {
		return nil
	}
	gaps := make([]float64, len(submits)-1)
	last := submits[0]
	for i, t := range submits[1:] {
		gaps[i] = max(t-last, 0)
		last = max(last, t)
	}
	return gaps
}
