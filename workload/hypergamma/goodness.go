package hypergamma

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// KS returns D of the paper's section 3.3.1: the largest difference between the empirical distribution of x, which
// may be in any order, and cdf. It returns 0 if there are no values.
func KS(x []float64, cdf func(x float64) float64) float64 {
	spots := tally(x)
	return ksSpots(spots, float64(len(x)), cdf)
}

// KSSignificance returns the probability that n independent values of the law have a larger D than d. It uses
// Kolmogorov's limit law with Stephens's correction for finite n ("Use of the Kolmogorov-Smirnov ... without
// extensive tables", 1970), which is good for n from 8. The paper rejects a law at the 95 % level, that is, below
// 0.05. If the law was fitted to the same values, the result is too large.
func KSSignificance(d float64, n int) float64 {
	if n < 1 || !(d > 0) {
		return 1
	}
	root := math.Sqrt(float64(n))
	x := (root + .12 + .11/root) * d
	if x < .2 {
		return 1
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; k < 100; k++ {
		term := math.Exp(-2 * k * k * x * x)
		sum += sign * term
		if term < 1e-16 {
			break
		}
		sign = -sign
	}
	return min(max(2*sum, 0), 1)
}

// Subsamples is the result of [SubsampleTest].
type Subsamples struct {
	Passed float64 `json:"passed"` // share of the subsamples that the law passes at the 95 % level
	MeanD  float64 `json:"mean_d"`
}

// SubsampleTest is the paper's check (section 5.1) whether a fit fails the KS test only because of the number of jobs
// and their dependence. The law is tested on random subsamples of the given size, drawn without replacement. repeats is
// the number of subsamples. The paper uses sizes of 500 to 1,000. A size above len(x) is replaced by len(x). The error
// wraps [ErrTooFew].
func SubsampleTest(rng *rand.Rand, x []float64, cdf func(x float64) float64, size, repeats int) (Subsamples, error) {
	size = min(size, len(x))
	if size < 8 || repeats < 1 {
		return Subsamples{}, fmt.Errorf("hypergamma: %d subsamples of %d values: %w (at least 1 of 8 needed)", repeats,
			size, ErrTooFew)
	}
	var s Subsamples
	pool := slices.Clone(x)
	for range repeats {
		for i := range size {
			j := i + rng.IntN(len(pool)-i)
			pool[i], pool[j] = pool[j], pool[i]
		}
		d := KS(pool[:size], cdf)
		s.MeanD += d / float64(repeats)
		if KSSignificance(d, size) >= .05 {
			s.Passed += 1 / float64(repeats)
		}
	}
	s.Passed = min(s.Passed, 1)
	return s, nil
}

// ChiSquared is the paper's second test (section 3.3.2). It returns the sum of (O - E)^2 / E over subranges, and the
// probability that chance alone gives a larger sum. In the paper, E are the numbers of random samples of the model in
// each subrange; here they may also be expectations. Subranges are joined with their right neighbor, and the last one
// with its left neighbor, until each E is at least 5. The error wraps [ErrValue], or [ErrTooFew] if fewer than two
// subranges are left.
func ChiSquared(observed, expected []float64) (chi2, significance float64, err error) {
	if len(observed) != len(expected) {
		return 0, 0, fmt.Errorf("hypergamma: %d observed and %d expected subranges: %w", len(observed),
			len(expected), ErrValue)
	}
	var o, e []float64
	open := false
	for i := range observed {
		if !(observed[i] >= 0 && expected[i] >= 0) || math.IsInf(observed[i]+expected[i], 1) {
			return 0, 0, fmt.Errorf("hypergamma: subrange %d: %v observed, %v expected: %w", i, observed[i],
				expected[i], ErrValue)
		}
		if !open {
			o, e = append(o, 0), append(e, 0)
		}
		last := len(e) - 1
		o[last] += observed[i]
		e[last] += expected[i]
		open = e[last] < 5
	}
	if open && len(e) > 1 {
		last := len(e) - 1
		o[last-1] += o[last]
		e[last-1] += e[last]
		o, e = o[:last], e[:last]
	}
	if len(e) < 2 {
		return 0, 0, fmt.Errorf("hypergamma: chi-squared over %d subranges: %w (at least 2 that expect 5 needed)",
			len(e), ErrTooFew)
	}
	chi2 = stat.ChiSquare(o, e)
	return chi2, distuv.ChiSquared{K: float64(len(e) - 1)}.Survival(chi2), nil
}
