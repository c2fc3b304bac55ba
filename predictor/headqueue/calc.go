package headqueue

import (
	"cmp"
	"math"
	"slices"
)

// These are the bounds of one forecast.
const (
	// DefaultWorkLimit is the WorkLimit of a zero [Calc], about 20 ms of work. Within it a forecast of 1,000 running
	// jobs and 1,000 missing processors is exact.
	DefaultWorkLimit = 60_000_000
	// MaxJobs is the maximum number of running and queued jobs in a forecast.
	MaxJobs = 1 << 20
)

// Calc computes forecasts and keeps the scratch memory for them. The zero value is ready. It is not safe for
// concurrent use (see the package comment).
type Calc struct {
	// WorkLimit bounds the exact method if no job is ahead. The work is jobs * states * 32 evaluations; only states
	// with noticeable probability count. Beyond the limit the saddlepoint approximation answers. 0 means
	// DefaultWorkLimit, and a negative value means never exact.
	WorkLimit int
	// Replicas is the maximum number of simulations of a queue, 0 means 128. If that many would take longer than
	// about 15 ms, there are fewer, but at least 12.
	Replicas int

	held []held    // the holders by ascending size; those that place added come last
	p    []float64 // probability that each holder has ended at the last evaluated instant

	act          []chance // the jobs with 0 < p < 1, by ascending size
	actTotal     int
	mass         []float64 // memory of the dynamic program
	lost         float64
	oddLo, oddHi int // range of mass with the distribution of the jobs that splitOdd took out

	need   int
	method string
	pts    []point // evaluated instants, ascending
	saddle saddle
	queue  queue
	fcfs   fcfs
	behind behind
}

// chance is a number of processors n that is given back with probability p.
type chance struct {
	n int
	p float64
}

// load sets c.held to the running jobs, sorted by compare. It forgets the evaluated points, and marks c.behind as
// unknown.
func (c *Calc) load(running []Holder) {
	c.behind.known = false // the placed jobs of behind are in c.held
	c.held = c.held[:0]
	for _, h := range running {
		if h.Procs > 0 {
			c.held = append(c.held, prepare(h))
		}
	}
	slices.SortFunc(c.held, compare)
	c.p = grow(c.p, len(c.held))
	c.pts = c.pts[:0]
}

// compare orders holders by size, and holders of equal size by their other fields. So the caller's order does not
// matter.
func compare(a, b held) int {
	if d := cmp.Compare(a.procs, b.procs); d != 0 {
		return d
	}
	return cmp.Or(cmp.Compare(a.shift, b.shift), cmp.Compare(a.cut, b.cut), cmp.Compare(a.s0, b.s0))
}

func (c *Calc) ends(t float64) {
	for i := range c.held {
		c.p[i] = c.held[i].ends(t)
	}
}

// A curve is a non-decreasing function of t that is searched for a quantile. Probabilities are stored as logits,
// which are nearly straight lines over ln t. A curve is NaN at points where it was not evaluated.
type curve int

const (
	curveA      curve = iota // logit of the probability that a job of at least need processors has ended, eq. 8
	curveB                   // logarithm of the mean number of processors freed, eq. 13
	curveNormal              // logit of a normal approximation of Pr{F >= need}
	curveMain                // logit of Pr{F >= need}
	curves
)

// point is an instant with the values of the curves.
type point struct {
	t, x float64 // x = ln(1+t) is the coordinate of the searches
	y    [curves]float64
}

// certain is the bound of the logits. A probability beyond it counts as 0 or 1 in searches.
const certain = 27

// logit returns ln(p/(1-p)), limited to +-certain, that is, to probabilities at least 2e-12 from 0 and 1.
func logit(p float64) float64 {
	return max(-certain, min(certain, math.Log(p/(1-p))))
}

// eval evaluates the curve k at t, and stores the point in c.pts. For curveA it uses only the benefactors: jobs that
// free enough processors alone. For the other curves it sets c.p, and always evaluates curveB and curveNormal, which
// cost little; curveMain only if k is curveMain.
func (c *Calc) eval(t float64, k curve) {
	nan := math.NaN()
	pt := point{t: t, x: math.Log1p(t), y: [curves]float64{nan, nan, nan, nan}}
	if k == curveA {
		none := 1.0 // probability that no benefactor has ended
		for i := range c.held {
			if c.held[i].procs >= c.need {
				none *= 1 - c.held[i].ends(t)
			}
		}
		pt.y[curveA] = logit(1 - none)
		c.keep(pt)
		return
	}
	var mean, variance float64
	for i := range c.held {
		h := &c.held[i]
		p, n := h.ends(t), float64(h.procs)
		c.p[i] = p
		mean += n * p
		variance += n * n * p * (1 - p)
	}
	pt.y[curveB] = max(-certain, math.Log(mean))
	pt.y[curveNormal] = logit(normalTail(mean, variance, float64(c.need)-.5))
	if k == curveMain {
		pt.y[curveMain] = logit(c.atLeast())
	}
	c.keep(pt)
}

// keep inserts pt into c.pts, or adds its curves to the point at the same instant.
func (c *Calc) keep(pt point) {
	i, known := slices.BinarySearchFunc(c.pts, pt.t, func(p point, t float64) int { return cmp.Compare(p.t, t) })
	if !known {
		c.pts = slices.Insert(c.pts, i, pt)
		return
	}
	for k, y := range pt.y {
		if !math.IsNaN(y) {
			c.pts[i].y[k] = y
		}
	}
}

// atLeast returns Pr{F >= need} at the last evaluated instant, by the method of the forecast.
func (c *Calc) atLeast() float64 {
	if c.method == MethodExact {
		return c.exact(c.need)
	}
	return c.approximate(c.need)
}

// normalTail returns Pr{X >= x} of a normal X.
func normalTail(mean, variance, x float64) float64 {
	if !(variance > 0) {
		if mean >= x {
			return 1
		}
		return 0
	}
	return math.Erfc((x-mean)/math.Sqrt(2*variance)) / 2
}
