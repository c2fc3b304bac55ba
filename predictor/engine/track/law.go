package track

import (
	"math"

	"github.com/waitcast/waitcast/predictor/residual"
)

// The table of a law: its knots lie an eighth apart in ln t.
const (
	knots     = residual.Bins
	perUnit   = 8
	grace     = 60.  // scale in seconds of what is lived beyond a limit, as in package residual
	oldestAge = 1e15 // stands for all higher ones
	surest    = 1e-9 // what is left at the highest quantile
)

// Law is a lifetime law of package residual as it was when it was asked for, sampled: a quarter of its size, and it can
// be saved. It is immutable and implements forward.Law. Between its knots the survival is linear in ln t; beyond a
// limit it is over grace/(grace + t - limit), beyond the last knot of a law without one it falls as 1/t.
type Law struct {
	limit float64 // +Inf for none
	over  float64 // Pr{it lives longer than the limit}
	end   float64 // ln t of the last knot, in knots
	tail  []float32
}

// Sample samples a law.
func Sample(from *residual.Law) *Law {
	l := &Law{limit: from.Limit(), end: knots}
	n := knots
	if !math.IsInf(l.limit, 1) {
		l.over = from.Survival(l.limit)
		l.end = math.Min(knots, math.Max(0, math.Log(math.Max(1, l.limit))*perUnit))
		n = int(math.Ceil(l.end))
	}
	l.tail = make([]float32, n+1)
	l.tail[0] = 1
	for i := 1; i <= n; i++ {
		at := math.Exp(math.Min(float64(i), l.end) / perUnit)
		l.tail[i] = float32(from.Survival(math.Min(at, math.Nextafter(l.limit, 0))))
	}
	return l
}

// width returns the width of the cell that begins at knot i: 1, but for the last.
func (l *Law) width(i int) float64 { return math.Min(1, l.end-float64(i)) }

// Survival returns the probability of a lifetime longer than so many seconds.
func (l *Law) Survival(seconds float64) float64 {
	last := len(l.tail) - 1
	switch {
	case seconds >= l.limit:
		return l.over * grace / (grace + math.Min(seconds, oldestAge) - l.limit)
	case !(seconds > 1):
		return 1
	}
	x := math.Log(seconds) * perUnit
	if x >= l.end {
		return float64(l.tail[last]) * math.Exp(l.end/perUnit) / math.Min(seconds, oldestAge)
	}
	i := min(int(x), last-1)
	low, high := float64(l.tail[i]), float64(l.tail[i+1])
	return low + (x-float64(i))/l.width(i)*(high-low)
}

// Residual returns the quantile at u of the seconds that remain of a job of the given age.
func (l *Law) Residual(age, u float64) float64 {
	if !(age > 0) {
		age = 0
	}
	age = math.Min(age, oldestAge)
	if math.IsNaN(u) {
		u = .5
	}
	return math.Max(0, l.lifetime(l.Survival(age)*math.Max(surest, 1-math.Max(0, u)))-age)
}

// lifetime returns the lifetime at which the survival has fallen to s.
func (l *Law) lifetime(s float64) float64 {
	if l.over > 0 && s <= l.over {
		return l.limit - grace + grace*l.over/s
	}
	last := len(l.tail) - 1
	if s < float64(l.tail[last]) || last == 0 {
		return math.Min(l.limit, math.Exp(l.end/perUnit)*float64(l.tail[last])/s)
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
		x += l.width(lo) * math.Min(1, (float64(l.tail[lo])-s)/fall)
	}
	return math.Min(l.limit, math.Exp(x/perUnit))
}
