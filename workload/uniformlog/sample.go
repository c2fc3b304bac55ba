package uniformlog

import "math"

// Sample has the sorted lifetimes of a window at one moment. It never changes, and several goroutines may use it at
// once.
type Sample struct {
	leaves []*leaf
	n      int
}

// N returns the number of lifetimes.
func (s *Sample) N() int { return s.n }

// Values calls fn with every lifetime in seconds, in ascending order. Lifetimes are those of the window: at least 1 s,
// and with a relative error of at most 1.2e-7.
func (s *Sample) Values(fn func(seconds float64)) {
	for _, lf := range s.leaves {
		for _, v := range lf.values() {
			fn(secondsOf(v))
		}
	}
}

// Quantile returns the lifetime in seconds that a share p of the sample does not exceed: the ceil(p N)-th smallest
// lifetime. It is NaN for an empty sample and for p outside [0, 1].
func (s *Sample) Quantile(p float64) float64 {
	if s.n == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	rank := min(max(int(math.Ceil(p*float64(s.n)))-1, 0), s.n-1)
	for _, lf := range s.leaves {
		if rank < lf.n {
			return secondsOf(lf.vals[rank])
		}
		rank -= lf.n
	}
	return math.NaN()
}

// KS returns the Kolmogorov-Smirnov distance: the largest difference between the cdf of the sample and the cdf of the
// model, over all lifetimes including the outer tenths. It is NaN for an empty sample and for a model that is not
// valid.
func (s *Sample) KS(m Model) float64 {
	if s.n == 0 || !m.Valid() {
		return math.NaN()
	}
	n := float64(s.n)
	var gap float64
	before := 0
	for _, lf := range s.leaves {
		for _, v := range lf.values() {
			f := m.cdfLog(logOf(v))
			gap = max(gap, f-float64(before)/n, float64(before+1)/n-f)
			before++
		}
	}
	return gap
}
