package residual

import "math"

// The table of a law: cell i holds ln t in [i/perUnit, (i+1)/perUnit); what is shorter than a second is in the first.
const (
	// Bins is the number of cells of a law's table.
	Bins    = 160
	perUnit = 8
	// top is the end of the table in seconds: e^20 s, about 15 years. Beyond it a lifetime has a Pareto law with
	// exponent 1.
	top = 485165195.40979
	// grace is the scale in seconds of the lifetime beyond the limit, a Lomax law with exponent 1. The median of the
	// remaining lifetime is grace at the limit; later it is about the time since the limit.
	grace = 60
	// oldest is the greatest age; higher ages count as this.
	oldest = 1e15
	// surest is the highest level of a quantile; level 1 would be infinite.
	surest = 1 - 1e-9
)

// Law is a law of lifetimes. It is immutable and safe for concurrent use. With the zero Law every job ends at once.
type Law struct {
	// tail[i] is the probability of living at least e^(i/perUnit) s, ignoring the limit; tail[0] = 1.
	tail  [Bins + 1]float64
	limit float64 // +Inf if there is none
	over  float64 // probability of living longer than the limit
	// Runs is the weight of the user's own runs in the law, in runs.
	Runs float64
}

// Limit returns the time limit in seconds, +Inf for none.
func (l *Law) Limit() float64 { return l.limit }

// Survival returns Pr{lifetime > seconds}. It never rises, is 1 up to 1 s and positive for every finite time. It
// implements headqueue.Lifetime.
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

// Quantile returns the lifetime in seconds that a share p of the jobs does not exceed, p in [0, 1]; the quantile of 1,
// which has no bound, is that of 1 - 1e-9.
func (l *Law) Quantile(p float64) float64 { return l.Residual(0, p) }

// Residual returns the quantile at u, in [0, 1], of the seconds that remain of a job of the given age: what solves
// S(age+t) = (1-u) S(age). It is finite and at least 0 for every age; a u outside [0, 1] counts as the nearer end, and
// one that is not a number as .5.
func (l *Law) Residual(age, u float64) float64 {
	if !(age > 0) {
		age = 0
	}
	age = min(age, oldest)
	return max(0, l.lifetime(l.Survival(age), u)-age)
}

// Tail prepares Residual for many draws at one age: it is Survival(age) for any age.
func (l *Law) Tail(age float64) float64 { return l.Survival(min(age, oldest)) }

// Draw is Residual for a caller that kept Tail(age).
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

// cut sets the limit, and the share of the jobs that reach it and live on. tail must be set before.
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
