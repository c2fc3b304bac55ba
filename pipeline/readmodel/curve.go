package readmodel

import (
	"math"
	"sort"

	"github.com/waitcast/waitcast/job/waittime"
)

// Curve is the distribution of a wait, interpolated between quantiles. Between two quantiles, and from a wait of 0 with
// probability 0 to the lowest, it is linear in ln(wait + 60 s). Above the highest the probability of a longer wait
// falls exponentially in ln(wait + 60 s), at the rate between the two highest quantiles.
type Curve struct {
	levels, logs []float64
}

// NewCurve returns the distribution with the given rising quantiles in seconds, at rising levels in (0, 1); at least
// two.
func NewCurve(levels, quantiles []float64) Curve {
	c := Curve{levels: levels, logs: make([]float64, len(quantiles))}
	for i, q := range quantiles {
		if q == waittime.Never {
			q = waittime.ScoredNever
		}
		c.logs[i] = math.Log(q + waittime.Shift)
		if i > 0 {
			c.logs[i] = math.Max(c.logs[i], c.logs[i-1])
		}
	}
	return c
}

// Within returns the probability that the wait is at most so many seconds, 0 to 1.
func (c Curve) Within(seconds float64) float64 {
	if seconds < 0 {
		return 0
	}
	z, n := math.Log(seconds+waittime.Shift), len(c.logs)
	i := sort.Search(n, func(i int) bool { return c.logs[i] > z }) // of equal quantiles the highest counts
	switch i {
	case 0:
		low := math.Log(waittime.Shift)
		return c.levels[0] * (z - low) / (c.logs[0] - low)
	case n:
		return 1 - (1-c.levels[n-1])*math.Exp(-(z-c.logs[n-1])*c.fall())
	}
	share := (z - c.logs[i-1]) / (c.logs[i] - c.logs[i-1])
	return c.levels[i-1] + share*(c.levels[i]-c.levels[i-1])
}

// fall is the rate at which the logarithm of the probability of a longer wait falls above the highest quantile, per
// unit of ln(wait + 60 s).
func (c Curve) fall() float64 {
	n := len(c.logs)
	wide := math.Max(c.logs[n-1]-c.logs[n-2], leastWidth)
	return math.Log((1-c.levels[n-2])/(1-c.levels[n-1])) / wide
}

// leastWidth is the smallest distance of the two highest quantiles in ln(wait + 60 s) that fall assumes: a curve with
// equal ones must not end there.
const leastWidth = .1

// Quantile returns the wait in seconds that is not exceeded with the given probability in [0, 1).
func (c Curve) Quantile(level float64) float64 {
	n := len(c.levels)
	i := sort.SearchFloat64s(c.levels, level)
	z := math.Log(waittime.Shift)
	switch i {
	case 0:
		z += level / c.levels[0] * (c.logs[0] - z)
	case n:
		z = c.logs[n-1] + math.Log((1-c.levels[n-1])/(1-level))/c.fall()
	default:
		share := (level - c.levels[i-1]) / (c.levels[i] - c.levels[i-1])
		z = c.logs[i-1] + share*(c.logs[i]-c.logs[i-1])
	}
	return math.Max(0, math.Exp(z)-waittime.Shift)
}

// Rest returns the quantiles, at the curve's levels, of the remaining wait of a job that has waited so many seconds.
func (c Curve) Rest(waited float64) []float64 {
	passed := math.Min(c.Within(waited), 1-1e-9)
	out := make([]float64, len(c.levels))
	for i, level := range c.levels {
		out[i] = math.Max(0, c.Quantile(passed+level*(1-passed))-math.Max(0, waited))
	}
	return out
}
