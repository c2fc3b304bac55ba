// Package uniformlog fits and evaluates Downey's uniform-log law of job lifetimes. In this law the logarithm of the
// lifetime is uniform between two bounds, so that the cumulative distribution is a straight line over ln t.
//
// The source is A. B. Downey, "Predicting queue times on space-sharing parallel computers", UCB/CSD-96-906, 1996,
// sections 4 and 4.1, equations 3 and 4. They define the law, its conditional form for a job of known age, and its
// fit (least squares on the empirical distribution without the shortest and longest tenth). [Model] is the law.
// [Window] fits it to a sliding window of jobs. [FitValues] fits it to a slice.
package uniformlog

import (
	"math"
	"math/rand/v2"
)

// Model is the uniform-log law cdf(t) = B0 + B1 ln t, t in seconds, on [TMin, TMax] (Downey 1996, eq. 3).
//
// Below TMin no job has ended (cdf 0). From TMax on every job has ended (cdf 1). The law has no jobs that live longer
// than TMax, and no time limit. The comment of each method states its result for a job that is nevertheless older. No
// method divides by zero. If B1 is not positive and finite, or B0 is not finite, the model is no distribution
// ([Model.Valid] is false), and every method returns NaN. If B1 is tiny, TMax can exceed the range of float64 and is
// then +Inf; probabilities are still right.
type Model struct {
	B0 float64 `json:"b0"` // intercept of the cdf over ln t
	B1 float64 `json:"b1"` // slope of the cdf over ln t
}

// Valid reports whether the model is a distribution: B0 must be finite, and B1 must be positive and finite.
func (m Model) Valid() bool {
	return m.B1 > 0 && !math.IsInf(m.B1, 0) && !math.IsNaN(m.B0) && !math.IsInf(m.B0, 0)
}

// logBounds returns ln TMin and ln TMax. It returns NaN for a model that is not valid.
func (m Model) logBounds() (lo, hi float64) {
	if !m.Valid() {
		return math.NaN(), math.NaN()
	}
	return -m.B0 / m.B1, (1 - m.B0) / m.B1
}

// TMin returns the shortest lifetime of the law in seconds, e^(-B0/B1).
func (m Model) TMin() float64 {
	lo, _ := m.logBounds()
	return math.Exp(lo)
}

// TMax returns the longest lifetime of the law in seconds, e^((1-B0)/B1).
func (m Model) TMax() float64 {
	_, hi := m.logBounds()
	return math.Exp(hi)
}

// CDF returns Pr{L <= t}, t in seconds (Downey 1996, eq. 3). It is 0 up to TMin (also for t <= 0), and 1 from TMax
// on.
func (m Model) CDF(t float64) float64 {
	if t <= 0 && m.Valid() {
		return 0
	}
	return m.cdfLog(math.Log(t))
}

// cdfLog returns the cdf at x = ln t, clamped to [0, 1].
func (m Model) cdfLog(x float64) float64 {
	if !m.Valid() {
		return math.NaN()
	}
	return min(max(m.B0+m.B1*x, 0), 1)
}

// Survival returns Pr{L > t} = 1 - CDF(t).
func (m Model) Survival(t float64) float64 { return 1 - m.CDF(t) }

// PDF returns the density of the lifetime at t seconds, B1/t on [TMin, TMax] (the derivative of eq. 3) and 0 outside.
func (m Model) PDF(t float64) float64 {
	lo, hi := m.logBounds()
	if math.IsNaN(lo) || math.IsNaN(t) {
		return math.NaN()
	}
	if t <= 0 {
		return 0
	}
	if x := math.Log(t); x < lo || x > hi {
		return 0
	}
	return m.B1 / t
}

// Quantile returns the lifetime in seconds that a share p of all jobs does not exceed, e^((p-B0)/B1) (eq. 3 solved
// for t). It is NaN for p outside [0, 1].
func (m Model) Quantile(p float64) float64 {
	if !(p >= 0 && p <= 1) || !m.Valid() {
		return math.NaN()
	}
	return math.Exp((p - m.B0) / m.B1)
}

// Mean returns the mean lifetime in seconds, B1 (TMax - TMin), which is (TMax - TMin)/(ln TMax - ln TMin).
func (m Model) Mean() float64 { return m.MeanTotal(0) }

// ConditionalCDF returns Pr{L <= age+t | L > age}: the probability that a job that has run for age seconds ends
// within the next t seconds (Downey 1996, eq. 4, with t counted from now).
//
// Eq. 4 is printed for ages above TMin. Every job survives lower ages, so that for them the result is CDF(age+t). For
// ages from TMax on the paper says nothing, because the law has no such jobs. Here such a job counts as not ending, and
// the result is 0 for every t. A negative age counts as 0. A negative t gives 0.
func (m Model) ConditionalCDF(t, age float64) float64 {
	lo, hi := m.logBounds()
	if math.IsNaN(lo) || math.IsNaN(t) || math.IsNaN(age) {
		return math.NaN()
	}
	age = max(age, 0)
	from := math.Log(age)
	if t <= 0 || from >= hi {
		return 0
	}
	var gain float64
	if from > lo {
		gain = math.Log1p(t / age) // ln((age+t)/age) without cancellation for small t
	} else {
		from = lo
		gain = math.Log(age+t) - lo
	}
	return min(max(gain/(hi-from), 0), 1)
}

// QuantileRemaining returns the number of seconds from now within which a job that has run for age seconds ends with
// probability p. It is the inverse of [Model.ConditionalCDF] in t, which is TMax^p age^(1-p) - age for ages above
// TMin. It is +Inf for ages from TMax on, and NaN for p outside [0, 1].
func (m Model) QuantileRemaining(p, age float64) float64 {
	lo, hi := m.logBounds()
	if math.IsNaN(lo) || math.IsNaN(age) || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	age = max(age, 0)
	from := math.Log(age)
	switch {
	case from >= hi:
		return math.Inf(1)
	case from > lo:
		return age * math.Expm1(p*(hi-from))
	default:
		return max(math.Exp(lo+p*(hi-lo))-age, 0)
	}
}

// MedianRemaining returns the median remaining lifetime in seconds of a job that has run for age seconds. It is
// sqrt(TMax age) - age for ages above TMin (Downey 1996, sec. 4). It falls for ages above TMax/4. It is +Inf from
// TMax on, where the job counts as not ending.
func (m Model) MedianRemaining(age float64) float64 { return m.QuantileRemaining(0.5, age) }

// MeanTotal returns the mean lifetime in seconds, counted from the start, of the jobs that have run for age seconds.
// It is (TMax - age)/(ln TMax - ln age) for ages above TMin, and the unconditional mean below. It is +Inf from TMax
// on, where the job counts as not ending.
//
// Downey 1996, sec. 4, prints this expression as the mean remaining lifetime. The integral of eq. 4 shows that it is
// the total lifetime.
func (m Model) MeanTotal(age float64) float64 {
	lo, hi := m.logBounds()
	if math.IsNaN(lo) || math.IsNaN(age) {
		return math.NaN()
	}
	from := max(math.Log(max(age, 0)), lo)
	if from >= hi {
		return math.Inf(1)
	}
	// Close to TMax the quotient below is inaccurate. Its value is also age * expm1(d)/d with d = ln(TMax/age).
	if d := hi - from; d < 1 {
		return math.Exp(from) * math.Expm1(d) / d
	}
	return (math.Exp(hi) - math.Exp(from)) / (hi - from)
}

// MeanRemaining returns the mean remaining lifetime in seconds of a job that has run for age seconds, MeanTotal(age)
// - age. It is +Inf for ages from TMax on. A negative age counts as 0.
func (m Model) MeanRemaining(age float64) float64 {
	total := m.MeanTotal(age)
	if math.IsInf(total, 1) {
		return total
	}
	return max(total-max(age, 0), 0)
}

// Rand draws a lifetime in seconds.
func (m Model) Rand(rng *rand.Rand) float64 { return m.Quantile(rng.Float64()) }
