package headqueue

// trim is the total probability that the dynamic program may drop. So the program computes only states with noticeable
// probability.
const trim = 1e-13

// Tail fills dst with Pr{F(t) >= n'} for n' = 0 .. top (eq. 7 of Downey 1996), and returns it. F(t) is the number of
// processors that the running jobs give back within t seconds. The result has top+1 values, non-increasing, with an
// absolute error below 1e-11. dst grows if it is too short.
//
// The cost is at most len(running) * top/g multiplications, where g is the greatest common divisor of the sizes.
func (c *Calc) Tail(dst []float64, running []Holder, t float64, top int) []float64 {
	top = max(top, 0)
	c.load(running)
	c.ends(t)
	sure := c.fold()
	g := c.commonDivisor()
	states := top/g + 1
	lo, hi := c.convolve(states, g, false, false)
	dst = grow(dst, top+1)
	// below is the probability of F < n', that is, of the states 0 .. ceil((n'-sure)/g)-1.
	total, below, s := sure+c.actTotal, 0.0, lo
	for n := range dst {
		for ; s < hi && sure+s*g < n; s++ {
			below += c.mass[s]
		}
		switch {
		case n <= sure:
			dst[n] = 1
		case n > total:
			dst[n] = 0
		default:
			dst[n] = max(1-below, 0)
		}
	}
	return dst
}

// AtLeast returns Pr{F(t) >= need}, the exact probability that the running jobs have given back need processors
// within t seconds (absolute error below 1e-11).
func (c *Calc) AtLeast(running []Holder, need int, t float64) float64 {
	c.load(running)
	c.ends(t)
	return c.exact(need)
}

// exact computes Pr{F >= need} from c.p. It separates the jobs that have certainly ended, and divides by the common
// divisor. It computes the distribution either of the processors freed or of those still held, whichever needs fewer
// states.
func (c *Calc) exact(need int) float64 {
	need -= c.fold()
	if need <= 0 {
		return 1
	}
	if c.actTotal < need {
		return 0
	}
	g := c.commonDivisor()
	return c.exactAct((need+g-1)/g, g)
}

// exactAct returns the probability that the jobs of c.act free at least need units of g processors. need is above 0,
// and at most the units of all these jobs.
func (c *Calc) exactAct(need, g int) float64 {
	if holdable := c.actTotal/g - need; holdable+1 < need {
		// need units are free if at most holdable units are still held.
		return min(c.massBelow(holdable+1, g, true), 1)
	}
	return max(1-c.massBelow(need, g, false), 0)
}

// fold copies the jobs with 0 < p < 1 to c.act. It returns the number of processors that the jobs with p = 1 have
// certainly freed.
func (c *Calc) fold() int {
	c.act, c.actTotal = c.act[:0], 0
	sure := 0
	for i := range c.held {
		n, p := c.held[i].procs, c.p[i]
		switch {
		case p >= 1:
			sure += n
		case p > 0:
			c.act = append(c.act, chance{n, p})
			c.actTotal += n
		}
	}
	return sure
}

func (c *Calc) commonDivisor() int {
	g := 0
	for i := range c.act {
		if g = gcd(g, c.act[i].n); g == 1 {
			return 1
		}
	}
	return max(g, 1)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// massBelow returns the probability that the sum of the units freed is below bound. If held is set, the sum of the
// units still held counts instead.
func (c *Calc) massBelow(bound, g int, held bool) float64 {
	lo, hi := c.convolve(bound, g, held, true)
	below := c.lost
	for _, m := range c.mass[lo:hi] {
		below += m
	}
	return below
}

// convolve computes the distribution of the sum of c.act, in units of g, in c.mass[lo:hi]. It drops sums that reach
// bound, and improbable ones (see trim). If sumOnly is set, states that cannot reach bound any more are dropped early,
// and c.lost is the probability of all dropped states below the range.
//
// act must be in ascending order of size, so that the range of sums grows slowly.
func (c *Calc) convolve(bound, g int, held, sumOnly bool) (lo, hi int) {
	c.mass = grow(c.mass, bound)
	f := c.mass
	f[0], c.lost = 1, 0
	lo, hi = 0, 1
	left := c.actTotal / g
	drop := trim / 2 / float64(len(c.act)+1)
	for i := range c.act {
		n, p := c.act[i].n/g, c.act[i].p
		if held {
			p = 1 - p
		}
		left -= n
		top := min(bound, hi+n)
		step(f, lo, hi, top, n, p)
		hi = top
		for budget := drop; hi > lo && f[hi-1] < budget; hi-- {
			budget -= f[hi-1]
		}
		from := lo
		for budget := drop; lo < hi && f[lo] < budget; lo++ {
			budget -= f[lo]
		}
		if sumOnly {
			lo = max(lo, min(hi, bound-left))
			for _, m := range f[from:lo] {
				c.lost += m
			}
		}
		if lo >= hi {
			return lo, lo
		}
	}
	return lo, hi
}

// step adds one job of n units, which has ended with probability p, to the distribution f[lo:hi] in place. The result
// is f[lo:top] with top <= hi+n.
func step(f []float64, lo, hi, top, n int, p float64) {
	q := 1 - p
	mid := lo + n
	if mid < hi {
		scaleInto(f[hi:top], f[hi-n:], p)
		mix(f[mid:hi], f[lo:], q, p)
		scale(f[lo:mid], q)
		return
	}
	if mid < top {
		clear(f[hi:mid])
		scaleInto(f[mid:top], f[lo:], p)
	} else {
		clear(f[hi:top])
	}
	scale(f[lo:hi], q)
}

// mix sets a[i] = q a[i] + p b[i] from the last index to the first. b may be the same array, shifted down.
func mix(a, b []float64, q, p float64) {
	b = b[:len(a)]
	for i := len(a) - 1; i >= 0; i-- {
		a[i] = q*a[i] + p*b[i]
	}
}

func scaleInto(a, b []float64, p float64) {
	b = b[:len(a)]
	for i := range a {
		a[i] = p * b[i]
	}
}

func scale(a []float64, q float64) {
	for i := range a {
		a[i] *= q
	}
}

// grow returns s with length n. Its contents are undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
