package track

import (
	"math"

	"github.com/waitcast/waitcast/predictor/residual"
)

// The knots of a law's table are 1/8 apart in ln t.
const (
	knots     = residual.Bins
	perUnit   = 8
	grace     = 60.  // the scale, in seconds, of lifetimes beyond a limit, as in package residual
	oldestAge = 1e15 // replaces all higher ages
	surest    = 1e-9 // minimum of 1 - u in a quantile at u, so that quantiles are finite
)

// Law is a sampled copy of a lifetime law of package residual, with a quarter of its size. It can be saved. It is
// immutable and implements forward.Law. Between its knots the survival is linear in ln t. At a time t beyond the limit
// it is the survival at the limit (over), multiplied by grace/(grace + t - limit). Without a limit it falls as 1/t
// beyond the last knot.
type Law struct {
	limit float64   // +Inf for none
	over  float64   // Pr{the job lives longer than the limit}
	end   float64   // ln t of the last knot, in units of the distance of knots
	tail  []float32 // survival at the knots
}

// Sample returns a sampled copy of a law.
func Sample(from *residual.Law) *Law {
	l := &Law{limit: from.Limit(), end: knots}
	n := knots
	if !math.IsInf(l.limit, 1) {
		l.over = from.Survival(l.limit)
		l.end = min(knots, max(0, math.Log(max(1, l.limit))*perUnit))
		n = int(math.Ceil(l.end))
	}
	l.tail = make([]float32, n+1)
	l.tail[0] = 1
	for i := 1; i <= n; i++ {
		at := math.Exp(min(float64(i), l.end) / perUnit)
		l.tail[i] = float32(from.Survival(min(at, math.Nextafter(l.limit, 0))))
	}
	return l
}

// width returns the distance from knot i to the next one. It is 1, except before the last knot.
func (l *Law) width(i int) float64 { return min(1, l.end-float64(i)) }

// Survival returns the probability of a lifetime above the given number of seconds.
func (l *Law) Survival(seconds float64) float64 {
	last := len(l.tail) - 1
	switch {
	case seconds >= l.limit:
		return l.over * grace / (grace + min(seconds, oldestAge) - l.limit)
	case !(seconds > 1):
		return 1
	}
	x := math.Log(seconds) * perUnit
	if x >= l.end {
		return float64(l.tail[last]) * math.Exp(l.end/perUnit) / min(seconds, oldestAge)
	}
	i := min(int(x), last-1)
	low, high := float64(l.tail[i]), float64(l.tail[i+1])
	return low + (x-float64(i))/l.width(i)*(high-low)
}

// Residual returns the quantile at u of the remaining seconds of a job of the given age.
func (l *Law) Residual(age, u float64) float64 { return l.ResidualOfAged(age, l.Aged(age), u) }

// Aged returns the probability of a lifetime above an age.
func (l *Law) Aged(age float64) float64 { return l.Survival(ageOf(age)) }

// ResidualOfAged returns the result of Residual. survival is the result of Aged for the age.
func (l *Law) ResidualOfAged(age, survival, u float64) float64 {
	if math.IsNaN(u) {
		u = .5
	}
	return max(0, l.lifetime(survival*max(surest, 1-max(0, u)))-ageOf(age))
}

// ageOf limits an age to the range of laws.
func ageOf(age float64) float64 {
	if !(age > 0) {
		age = 0
	}
	return min(age, oldestAge)
}

// lifetime returns the lifetime at which the survival has fallen to s.
func (l *Law) lifetime(s float64) float64 {
	if l.over > 0 && s <= l.over {
		return l.limit - grace + grace*l.over/s
	}
	last := len(l.tail) - 1
	if s < float64(l.tail[last]) || last == 0 {
		return min(l.limit, math.Exp(l.end/perUnit)*float64(l.tail[last])/s)
	}
	lo, hi := 0, last // tail[lo] >= s >= tail[hi]
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); float64(l.tail[mid]) >= s {
			lo = mid
		} else {
			hi = mid
		}
	}
	x := float64(lo)
	if fall := float64(l.tail[lo]) - float64(l.tail[hi]); fall > 0 {
		x += l.width(lo) * min(1, (float64(l.tail[lo])-s)/fall)
	}
	return min(l.limit, math.Exp(x/perUnit))
}
