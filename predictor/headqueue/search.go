package headqueue

import "math"

// These are the tolerances of quantiles. A quantile is an instant t with cdf(t) >= q for which the cdf at t -
// max(RelTolerance*t, AbsTolerance) is below q. So if the cdf jumps (at a time limit), t is at the jump or after it,
// within the tolerance.
const (
	RelTolerance = 1e-3 // as a part of the instant
	AbsTolerance = .5   // seconds
)

// horizon is the instant in seconds that stands for infinity: about 3,000 years.
const horizon = 1e11

// tolerance is the permitted width of the bracket around a quantile.
type tolerance int

const (
	fine    tolerance = iota // for values that are returned
	coarse                   // for starting points of other searches
	placing                  // for jobs ahead, whose errors add up for the jobs behind them
)

func (w tolerance) at(t float64) float64 {
	switch w {
	case coarse:
		return max(2, .08*t)
	case placing:
		return max(.05, 1e-4*t)
	}
	return max(AbsTolerance, RelTolerance*t)
}

// quantile returns the smallest t, up to the tolerance w, at which the curve k reaches target; +Inf if it never does.
// All searches of a forecast share their evaluations. The curves must have been evaluated at 0 and at the horizon.
//
// It uses regula falsi in (ln(1+t), curve), with steps slightly beyond the estimated root, so that both ends of the
// bracket move. If two steps have not halved the bracket, it once tries a time limit in the bracket, where a jump is
// likely: see Calc.jump. If further steps do not halve it either, it bisects ln(1+t).
func (c *Calc) quantile(k curve, target float64, w tolerance) float64 {
	lo, hi := c.bracket(k, target)
	slow, jumped := 0, false
	for range 200 {
		if hi < 0 {
			return math.Inf(1)
		}
		a, b := c.pts[lo].x, c.pts[hi].x
		width := w.at(c.pts[hi].t)
		if lo == hi || c.pts[hi].t-c.pts[lo].t <= width {
			break
		}
		x := (a + b) / 2
		switch {
		case slow < 2:
			x = c.propose(k, target, lo, hi, width)
		case !jumped:
			jumped = true
			lo, hi = c.jump(k, target, lo, hi, width)
			slow = 1
			continue
		}
		t := math.Expm1(x)
		if t <= c.pts[lo].t || t >= c.pts[hi].t {
			break // float64 allows no narrower bracket
		}
		c.eval(t, k)
		lo, hi = c.bracket(k, target)
		if hi >= 0 && c.pts[hi].x-c.pts[lo].x <= (b-a)*.5001 {
			slow /= 2
		} else {
			slow++
		}
	}
	return c.pts[hi].t
}

// jump evaluates the curve at a time limit that lies in the bracket, and just before it. Of several limits it takes
// that of the last job in c.held, which is the widest if place has added no jobs. It returns the new bracket.
func (c *Calc) jump(k curve, target float64, lo, hi int, width float64) (int, int) {
	from, to := c.pts[lo].t, c.pts[hi].t
	for i := len(c.held) - 1; i >= 0; i-- {
		at := c.held[i].cut
		if !(at > from && at < to) {
			continue
		}
		c.eval(at, k)
		if at -= .9 * width; at > from {
			c.eval(at, k)
		}
		return c.bracket(k, target)
	}
	return lo, hi
}

// bracket returns the first evaluated point at or above target (hi) and the point before it (lo). hi < 0 if there is
// none; lo = hi if it is the first point.
func (c *Calc) bracket(k curve, target float64) (lo, hi int) {
	lo = -1
	for i := range c.pts {
		y := c.pts[i].y[k]
		if y >= target {
			return max(lo, 0), i
		}
		if !math.IsNaN(y) {
			lo = i
		}
	}
	return lo, -1
}

// propose returns the next x to evaluate: the estimated root, moved slightly toward the middle of the bracket.
func (c *Calc) propose(k curve, target float64, lo, hi int, width float64) float64 {
	p, q := c.pts[lo], c.pts[hi]
	x := c.estimate(k, target, lo, hi)
	mid := (p.x + q.x) / 2
	delta := .45 * width / (1 + q.t)
	if math.Abs(x-mid) <= delta || !(x >= p.x && x <= q.x) {
		return mid
	}
	x += math.Copysign(delta, mid-x)
	return max(p.x+delta, min(q.x-delta, x))
}

// estimate returns the x at which the straight line through the bracket's ends reaches target. For the main curve it
// also uses points within the bracket at which only the normal approximation is known. These are shifted by the
// difference of the two curves at the bracket's ends. It returns NaN if an end is certain, because that gives no slope.
func (c *Calc) estimate(k curve, target float64, lo, hi int) float64 {
	p, q := c.pts[lo], c.pts[hi]
	low, high := p.y[k], q.y[k]
	if k == curveMain {
		d, e := low-p.y[curveNormal], high-q.y[curveNormal]
		if low <= -certain {
			d = e
		}
		if high >= certain {
			e = d
		}
		ends := q.x - p.x
		from := p.x
		for i := lo + 1; i < hi; i++ {
			r := &c.pts[i]
			if math.IsNaN(r.y[curveNormal]) {
				continue
			}
			part := (r.x - from) / ends
			y := r.y[curveNormal] + d + (e-d)*part
			if y >= target {
				q, high = *r, y
				break
			}
			p, low = *r, y
		}
	}
	if low <= -certain || k != curveB && high >= certain {
		return math.NaN()
	}
	return p.x + (q.x-p.x)*max(0, min(1, (target-low)/(high-low)))
}
