package headqueue

import (
	"math"
	"math/bits"
)

// These bound the saddlepoint approximation.
const (
	exactWork   = 4096    // act is computed exactly up to this number of jobs * states
	poorWork    = 4 << 20 // the same bound where the approximation is inaccurate
	fewJobs     = 8       // it is inaccurate for fewer active jobs
	poorRest    = 12      // it is also inaccurate for a smaller sum of p(1-p) in rest
	wideShare   = .03     // a job with a larger share of the rest's variance is treated exactly
	rarest      = 1e-4    // minimum p(1-p) of a job that matters
	maxOutcomes = 512     // maximum number of outcomes of the widest jobs
	maxOdd      = 128     // maximum number of jobs that splitOdd takes out of rest
	maxOddUnits = 4096    // maximum sum of the units of these jobs
	scores      = 10      // number of tilts
	seriesWidth = .2      // in standard deviations: if no job of rest is wider, fit uses series
)

// saddle is the memory of the saddlepoint approximation.
type saddle struct {
	wide, next []outcome
	rest       []chance // the jobs that are approximated, by ascending size
	total      int      // sum of the units of rest
	nodes      [scores]node
	fitted     int // number of nodes in use
	mean, sd   float64
	cosines    []float64 // cosines of a full turn in len(cosines) steps
}

// outcome is a sum of processors with its probability.
type outcome struct {
	n int
	p float64
}

// node is one evaluated saddlepoint: Pr{X >= x+1/2} = Phi(-r), see fit.
type node struct{ x, r float64 }

// approximate returns an approximation of Pr{F >= need} from c.p. The widest jobs are treated exactly. If a unit
// divides nearly all sizes and affects the result, the few jobs whose sizes it does not divide are treated exactly too
// (see splitOdd). saddle.tail approximates the rest. Small sets are computed exactly.
func (c *Calc) approximate(need int) float64 {
	need -= c.fold()
	if need <= 0 {
		return 1
	}
	if c.actTotal < need {
		return 0
	}
	g := c.commonDivisor()
	need = (need + g - 1) / g
	holdable := c.actTotal/g - need
	work := float64(len(c.act)) * float64(min(need, holdable+1))
	if work <= exactWork || len(c.act) < fewJobs && work <= poorWork {
		return c.exactAct(need, g)
	}
	c.saddle.peel(c.act, g)
	if c.saddle.undecided() < poorRest && work <= poorWork {
		return c.exactAct(need, g)
	}
	unit := c.splitOdd()
	c.saddle.fit()
	var sum float64
	for _, w := range c.saddle.wide {
		sum += w.p * c.restTail(need-w.n, unit)
	}
	return max(0, min(1, sum))
}

// peel splits act, in units of g, into rest and the distribution of the widest jobs. A job is among the widest in two
// cases: it has more than wideShare of the variance of all remaining jobs, or it is wider than their standard deviation
// and its p(1-p) is above rarest. peel stops when another job could give more than maxOutcomes outcomes. One job always
// stays in rest.
func (s *saddle) peel(act []chance, g int) {
	s.rest = s.rest[:0]
	var variance float64
	for _, a := range act {
		a.n /= g
		s.rest = append(s.rest, a)
		variance += a.variance()
	}
	s.wide = append(s.wide[:0], outcome{0, 1})
	for len(s.wide) <= maxOutcomes/2 && len(s.rest) > 1 {
		widest, most := -1, 0.0
		for i, a := range s.rest {
			v := a.variance()
			squared := float64(a.n) * float64(a.n)
			steps := v > wideShare*variance || squared > variance && v > rarest*squared
			if steps && v > most {
				widest, most = i, v
			}
		}
		if widest < 0 {
			return
		}
		variance -= most
		s.branch(s.rest[widest])
		s.rest = append(s.rest[:widest], s.rest[widest+1:]...)
	}
}

// undecided returns the sum of p(1-p) over rest. If it is small, few outcomes have most of the probability, and no
// smooth formula reproduces their steps.
func (s *saddle) undecided() float64 {
	var sum float64
	for _, a := range s.rest {
		sum += a.p * (1 - a.p)
	}
	return sum
}

func (a chance) variance() float64 { return float64(a.n) * float64(a.n) * a.p * (1 - a.p) }

// branch adds one job to the outcomes. It merges the ascending sums without the job and with it.
func (s *saddle) branch(a chance) {
	s.next = s.next[:0]
	add := func(n int, p float64) {
		if last := len(s.next) - 1; last >= 0 && s.next[last].n == n {
			s.next[last].p += p
			return
		}
		s.next = append(s.next, outcome{n, p})
	}
	i := 0
	for _, with := range s.wide {
		for ; i < len(s.wide) && s.wide[i].n < with.n+a.n; i++ {
			add(s.wide[i].n, s.wide[i].p*(1-a.p))
		}
		add(with.n+a.n, with.p*a.p)
	}
	s.wide, s.next = s.next, s.wide
}

// splitOdd looks for a unit that divides the sizes of all but a few jobs of rest. It takes these few out of rest, so
// that every sum of the remaining sizes is a multiple of the unit, and converts the remaining sizes to the unit. It
// computes the distribution of the few jobs in c.mass[c.oddLo:c.oddHi]. It returns the unit, 1 if there is none.
func (c *Calc) splitOdd() int {
	s := &c.saddle
	unit := s.lattice()
	c.act, c.actTotal = c.act[:0], 0
	even := s.rest[:0]
	for _, a := range s.rest {
		if a.n%unit == 0 {
			a.n /= unit
			even = append(even, a)
		} else {
			c.act = append(c.act, a)
			c.actTotal += a.n
		}
	}
	s.rest = even
	c.oddLo, c.oddHi = c.convolve(c.actTotal+1, 1, false, false)
	return unit
}

// restTail returns Pr{odd + unit*rest >= need}: odd are the units of the jobs that splitOdd took out, and rest are
// those of the others.
func (c *Calc) restTail(need, unit int) float64 {
	var sum, tail float64
	known := -1 << 62
	for s := c.oddLo; s < c.oddHi; s++ {
		k := 0
		if missing := need - s; missing > 0 {
			k = (missing + unit - 1) / unit
		}
		if k != known {
			known, tail = k, c.saddle.tail(k)
		}
		sum += c.mass[s] * tail
	}
	return sum
}

// lattice returns a unit for which splitOdd is affordable and matters; 1 if there is none. The first candidate is the
// common divisor of the larger half of the jobs, unless it is a power of two. Then follow the powers of two from 256
// down.
func (s *saddle) lattice() int {
	const powers = 9
	var jobs, units [powers]int // by the power of two in the size
	var variance float64
	for _, a := range s.rest {
		z := min(bits.TrailingZeros(uint(a.n)), powers-1)
		jobs[z]++
		units[z] += a.n
		variance += a.variance()
	}
	half := 0
	for i := len(s.rest) - 1; i >= len(s.rest)/2 && half != 1; i-- {
		half = gcd(half, s.rest[i].n)
	}
	if half > 1 && half&(half-1) != 0 && half <= maxOddUnits {
		var n, u int
		for _, a := range s.rest {
			if a.n%half != 0 {
				n++
				u += a.n
			}
		}
		if n <= maxOdd && u <= maxOddUnits && s.shows(half, variance) {
			return half
		}
	}
	n, u, best := 0, 0, 0
	for z := range powers - 1 {
		n += jobs[z]
		u += units[z]
		if n > maxOdd || u > maxOddUnits || n > len(s.rest)/2 {
			break
		}
		best = z + 1
	}
	for ; best > 0; best-- {
		if s.shows(1<<best, variance) {
			return 1 << best
		}
	}
	return 1
}

// shows reports whether the distribution of rest still has visible steps of unit. The height of the steps is unit/(sd
// sqrt(2 pi)), multiplied by the absolute value of the characteristic function of rest at 2 pi k/unit for some k from 1
// to unit/2.
func (s *saddle) shows(unit int, variance float64) bool {
	const ignored = 5e-4 // a probability: half a step below it is ignored
	limit := ignored * 2 * math.Sqrt(2*math.Pi*variance) / float64(unit)
	if limit >= 1 {
		return false
	}
	if len(s.cosines) != unit {
		s.cosines = grow(s.cosines, unit)
		for i := range s.cosines {
			s.cosines[i] = math.Cos(2 * math.Pi * float64(i) / float64(unit))
		}
	}
	for k := 1; k <= unit/2; k++ {
		squared := 1.0
		for _, a := range s.rest {
			squared *= 1 - 2*a.p*(1-a.p)*(1-s.cosines[a.n*k%unit])
			if squared < limit*limit {
				break
			}
		}
		if squared >= limit*limit {
			return true
		}
	}
	return false
}

// fit evaluates the saddlepoints of X, the number of units that the jobs of rest free. K is the cumulant generating
// function of X. At a tilt theta, x = K'(theta) and
//
//	w = sgn(theta) sqrt(2 (theta x - K)), u = 2 sinh(theta/2) sqrt(K''),
//	Pr{X >= x+1/2} = Phi(-r),  r = w + ln(u/w)/w.
//
// This is the formula of Lugannani and Rice 1980 with the second continuity correction of Daniels 1987, in the form
// of Barndorff-Nielsen's r* (1986). r is smooth in x. So a few tilts serve every x, and no equation must be solved.
// There is no tilt at 0, where the formula is singular.
func (s *saddle) fit() {
	var k [5]float64 // cumulants
	s.total = 0
	widest := 0
	for _, a := range s.rest {
		n, v := float64(a.n), a.p*(1-a.p)
		k[1] += n * a.p
		k[2] += n * n * v
		k[3] += n * n * n * v * (1 - 2*a.p)
		k[4] += n * n * n * n * v * (1 - 6*v)
		s.total += a.n
		widest = max(widest, a.n)
	}
	s.mean, s.sd, s.fitted = k[1], math.Sqrt(k[2]), 0
	if s.sd == 0 {
		return
	}
	const steepest = 30 // maximum exponent of one job, to avoid overflow
	// These are the tilts in standard deviations. 0 is left out.
	for _, z := range [scores]float64{-6, -4.2, -2.8, -1.7, -.7, .7, 1.7, 2.8, 4.2, 6} {
		theta := z / s.sd
		theta = max(-steepest/float64(widest), min(steepest/float64(widest), theta))
		var g [3]float64
		if float64(widest) <= seriesWidth*s.sd {
			g = series(&k, theta)
		} else {
			g = s.generate(theta)
		}
		s.keep(theta, g)
	}
}

// keep adds the node at the tilt theta, where g has K and its first two derivatives. It leaves the node out if it is
// not finite, or not beyond the last node.
func (s *saddle) keep(theta float64, g [3]float64) {
	x := g[1]
	w := math.Copysign(math.Sqrt(2*(theta*x-g[0])), theta)
	u := 2 * math.Sinh(theta/2) * math.Sqrt(g[2])
	r := w + math.Log(u/w)/w
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return
	}
	if i := s.fitted; i > 0 && !(x > s.nodes[i-1].x+1e-6*s.sd && r > s.nodes[i-1].r) {
		return
	}
	s.nodes[s.fitted] = node{x, r}
	s.fitted++
}

// series returns K and its first two derivatives at t, from the first four cumulants.
func series(k *[5]float64, t float64) [3]float64 {
	return [3]float64{
		t * (k[1] + t*(k[2]/2+t*(k[3]/6+t*k[4]/24))),
		k[1] + t*(k[2]+t*(k[3]/2+t*k[4]/6)),
		k[2] + t*(k[3]+t*k[4]/2),
	}
}

// generate returns K and its first two derivatives at theta, from the jobs of rest.
func (s *saddle) generate(theta float64) [3]float64 {
	var g [3]float64
	product, size, e := 1.0, 0, 1.0
	for _, a := range s.rest {
		if a.n != size {
			size = a.n
			e = math.Exp(theta * float64(size))
		}
		done := a.p * e
		all := 1 - a.p + done
		tilted, n := done/all, float64(size)
		g[1] += n * tilted
		g[2] += n * n * tilted * (1 - tilted)
		if product *= all; product > 1e100 || product < 1e-100 {
			g[0] += math.Log(product)
			product = 1
		}
	}
	g[0] += math.Log(product)
	return g
}

// tail returns Pr{X >= k}, where X is the number of units that the jobs of rest free.
func (s *saddle) tail(k int) float64 {
	if k <= 0 {
		return 1
	}
	if k > s.total {
		return 0
	}
	x := float64(k) - .5
	if s.fitted < 2 {
		return normalTail(s.mean, s.sd*s.sd, x)
	}
	return math.Erfc(s.score(x)/math.Sqrt2) / 2
}

// score interpolates r at x: by a cubic through the four nearest nodes, and by a straight line beyond the nodes.
func (s *saddle) score(x float64) float64 {
	nodes := s.nodes[:s.fitted]
	last := len(nodes) - 1
	if x < nodes[0].x || x > nodes[last].x || last < 3 {
		i := 1
		for i < last && x > nodes[i].x {
			i++
		}
		a, b := nodes[i-1], nodes[i]
		return a.r + (b.r-a.r)*(x-a.x)/(b.x-a.x)
	}
	i := 1
	for x > nodes[i].x {
		i++
	}
	i = max(0, min(i-2, last-3))
	var r float64
	four := nodes[i : i+4]
	for j, a := range four {
		l := a.r
		for m, b := range four {
			if m != j {
				l *= (x - b.x) / (a.x - b.x)
			}
		}
		r += l
	}
	return r
}
