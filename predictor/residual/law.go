package residual

import "math"

// This is the table of a law. Cell i holds ln t in [i/perUnit, (i+1)/perUnit). Times below a second are in the first
// cell.
const (
	// Bins is the number of cells of a law's table.
	Bins    = 160
	perUnit = 8
	// top is the end of the table in seconds: e^20 s, about 15 years. Lifetimes beyond it have a Pareto law with
	// exponent 1.
	top = 485165195.40979
	// grace is the scale, in seconds, of lifetimes beyond the limit. They have a Lomax law with exponent 1. At the
	// limit the median of the remaining lifetime is grace; later it is about the time since the limit.
	grace = 60
	// oldest is the maximum age. Higher ages count as this.
	oldest = 1e15
	// surest is the highest level of a quantile; level 1 would be infinite.
	surest = 1 - 1e-9
)

// Law is a law of lifetimes. It is immutable and safe for concurrent use. With the zero Law every job ends at once.
type Law struct {
	// tail[i] is the probability of a lifetime of at least e^(i/perUnit) s, if the limit is ignored; tail[0] = 1.
	tail  [Bins + 1]float64
	limit float64 // +Inf if there is none
	over  float64 // probability of a lifetime above the limit
	// Runs is the weight of the user's own runs in the law, as a number of runs.
	Runs float64
}

// Limit returns the time limit in seconds, +Inf for none.
func (l *Law) Limit() float64 { return l.limit }

// Survival returns Pr{lifetime > seconds}. It never rises, is 1 up to 1 s (or a shorter limit) and positive for every
// finite time. It implements headqueue.Lifetime.
func (l *Law) Survival(seconds float64) float64 {
	switch {
	case !(seconds > 0):
		return 1
	case seconds >= l.limit:
		return l.over * grace / (grace + min(seconds, oldest) - l.limit)
	case seconds >= top:
		return l.tail[Bins] * top / min(seconds, oldest)
	case seconds <= 1:
		return 1
	}
	x := math.Log(seconds) * perUnit
	i := min(int(x), Bins-1)
	return l.tail[i] + (x-float64(i))*(l.tail[i+1]-l.tail[i])
}

// Quantile returns the lifetime in seconds that a share p of the jobs, in [0, 1], does not exceed. For p = 1, which
// has no finite quantile, it returns the quantile of 1 - 1e-9.
func (l *Law) Quantile(p float64) float64 { return l.Residual(0, p) }

// Residual returns the quantile at u, in [0, 1], of the remaining seconds of a job of the given age. It is the t that
// solves S(age+t) = (1-u) S(age). It is finite and at least 0 for every age. A u outside [0, 1] counts as the nearer
// end, and NaN counts as 0.5.
func (l *Law) Residual(age, u float64) float64 {
	if !(age > 0) {
		age = 0
	}
	age = min(age, oldest)
	return max(0, l.lifetime(l.Survival(age), u)-age)
}

// Tail returns the survival at an age, as Draw needs it. Ages above the maximum count as the maximum.
func (l *Law) Tail(age float64) float64 { return l.Survival(min(age, oldest)) }

// Draw returns Residual(age, u), but is faster for many draws at one age. tail is the result of Tail(age).
func (l *Law) Draw(age, tail, u float64) float64 {
	return max(0, l.lifetime(tail, u)-max(0, min(age, oldest)))
}

// lifetime returns the lifetime at which the survival has fallen to s (1-u).
func (l *Law) lifetime(s, u float64) float64 {
	if math.IsNaN(u) {
		u = .5
	}
	s *= 1 - max(0, min(u, surest))
	if l.over > 0 && s <= l.over { // over is 0 without a limit
		return l.limit - grace + grace*l.over/s
	}
	if s < l.tail[Bins] {
		return min(l.limit, top*l.tail[Bins]/s)
	}
	lo, hi := 0, Bins // tail[lo] >= s >= tail[hi]
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if l.tail[mid] >= s {
			lo = mid
		} else {
			hi = mid
		}
	}
	x := float64(lo)
	if fall := l.tail[lo] - l.tail[hi]; fall > 0 {
		x += min(1, (l.tail[lo]-s)/fall)
	}
	return min(l.limit, math.Exp(x/perUnit))
}

// cut sets the limit, and the probability of a lifetime above it. outlive is the share of jobs that live on, among
// those that reach their limit. l.tail must be set before.
func (l *Law) cut(limit, outlive float64) {
	l.limit, l.over = math.Inf(1), 0
	if limit > 0 && !math.IsInf(limit, 1) {
		reach := l.Survival(limit)
		l.limit = limit
		l.over = reach * outlive
	}
}

// cell returns the cell of a lifetime.
func cell(seconds float64) int {
	if !(seconds > 1) {
		return 0
	}
	if seconds >= top {
		return Bins - 1
	}
	return min(int(math.Log(seconds)*perUnit), Bins-1)
}
