package headqueue

import (
	"errors"
	"fmt"
	"math"

	"github.com/waitcast/waitcast/job/waittime"
)

// These are the methods of a [Result].
const (
	MethodNow         = "now"         // enough processors are free for the request and all jobs ahead
	MethodExact       = "exact"       // no job is ahead: eq. 7 by dynamic programming
	MethodSaddlepoint = "saddlepoint" // an approximation of eq. 7, beyond the work limit
	// MethodFCFSQueue simulates strict first come, first served with random lifetimes of the jobs that run and of
	// those that are queued ahead.
	MethodFCFSQueue = "fcfs_queue"
)

// These are the names of a [MethodMedian].
const (
	NameA        = "downey_a"
	NameB        = "downey_b"
	NameCombined = "downey_combined"
	NameExact    = "exact"         // the median by the Result's own method, unless that is fcfs_queue
	NameFCFS     = MethodFCFSQueue // the median by that method
)

// CombinedBelow is the n' below which the combined predictor uses A, and from which on it uses B. Downey 1996, section
// 6.4, leaves open which one applies at 32. If no job that holds n' processors runs, B answers below it too.
const CombinedBelow = 32

// Result is a forecast.
type Result struct {
	Method string // the method of Quantiles and Within
	// Need is n': the number of processors that must be given back before the request can start, including those that
	// the jobs ahead will take. If it is at most 0, the request fits now.
	Need int
	// Levels are the requested levels. Quantiles are the waits in seconds. Without jobs ahead, the wait for level q is
	// the smallest t with Pr{F(t) >= Need} >= q, up to RelTolerance and AbsTolerance from above. With MethodFCFSQueue
	// it is the quantile of the simulated waits. A quantile is +Inf if the probability of a start never reaches q,
	// because too many of the needed jobs are over their limit or older than their law.
	Levels, Quantiles []float64
	// Low and High have an interval for each quantile of MethodFCFSQueue. With about 95 % confidence the result of
	// infinitely many replicas lies in it. They are empty for other methods, which use no random numbers. Replicas is
	// the number of replicas.
	Low, High []float64
	Replicas  int
	// Within has Pr{the wait is at most x} for each requested x.
	Within []float64
	// Medians are downey_a, downey_b, downey_combined, and exact or fcfs_queue, in this order.
	Medians []MethodMedian
}

// MethodMedian is the median wait by one method.
type MethodMedian struct {
	Name    string
	Seconds float64    // +Inf: never, by the known laws; NaN if Cannot is set
	Cannot  *CannotSay // why the method has no answer; nil if it has one
	// Low and High are the interval of the median (see Result), from Replicas draws. Replicas is 0 if nothing was
	// drawn.
	Low, High float64
	Replicas  int
}

// Forecast returns a new Result with the forecast of ForecastInto.
func (c *Calc) Forecast(s *State, procs int, levels, within []float64) (Result, error) {
	var r Result
	err := c.ForecastInto(&r, s, procs, levels, within)
	return r, err
}

// ForecastInto forecasts when procs processors will be free for a request behind the jobs s.Ahead. levels are
// probabilities in [0, 1]; an empty list means [Levels]. within are seconds. It overwrites r, and reuses the slices
// of r.
//
// Behind jobs queued ahead, the distribution is that of a small simulation of strict first come, first served with
// random lifetimes. The simulation has 12 to 128 stratified replicas, or [Calc].Replicas. r.Low and r.High have its
// sampling error. The same input gives the same output.
//
// Two other medians are computed then. downey_b is the instant of the fluid approximation ("Predictor B's natural
// extension", section 8.1). It places the jobs ahead at T_k, the first t >= T_{k-1} at which the processors freed on
// average, by running jobs and by those placed before, reach what jobs 1 .. k need. downey_a waits for one job,
// running or placed, that frees all of Need.
//
// The error is a *CannotSay (larger_than_machine, nothing_running, never_enough, too_much_work), or another error for
// an argument out of range.
func (c *Calc) ForecastInto(r *Result, s *State, procs int, levels, within []float64) error {
	if err := check(s, procs, levels, within); err != nil {
		return err
	}
	r.Low, r.High, r.Replicas = r.Low[:0], r.High[:0], 0
	if len(levels) == 0 {
		r.Levels = append(r.Levels[:0], waittime.Levels()...)
	} else {
		r.Levels = append(r.Levels[:0], levels...)
	}
	ahead := 0
	c.queue.jobs = c.queue.jobs[:0]
	for _, a := range s.Ahead {
		if a.Procs > 0 && a.Procs <= s.Capacity {
			ahead += a.Procs
			c.queue.jobs = append(c.queue.jobs, a)
		}
	}
	r.Need = ahead + procs - s.Free
	if r.Need <= 0 {
		r.now(within)
		return nil
	}
	c.need = r.Need
	if len(c.queue.jobs) > 0 {
		c.playAhead(s, ahead)
		return c.answerQueue(r, procs, within)
	}
	c.load(s.Running)
	c.method = c.choose()
	r.Method = c.method
	return c.answer(r, within)
}

func check(s *State, procs int, levels, within []float64) error {
	if procs < 1 {
		return fmt.Errorf("headqueue: %d processors asked for; ask for at least 1", procs)
	}
	if procs > s.Capacity {
		return cannotFit(procs, s.Capacity)
	}
	if n := len(s.Running) + len(s.Ahead); n > MaxJobs {
		return cannotAfford(n)
	}
	for _, q := range levels {
		if !(q >= 0 && q <= 1) {
			return fmt.Errorf("headqueue: quantile level %g; give levels from 0 to 1", q)
		}
	}
	for _, x := range within {
		if math.IsNaN(x) {
			return errors.New("headqueue: Pr{start within NaN s} asked for; give seconds")
		}
	}
	return nil
}

// now sets the result of a request that fits at once.
func (r *Result) now(within []float64) {
	r.Method = MethodNow
	r.Quantiles = grow(r.Quantiles, len(r.Levels))
	clear(r.Quantiles)
	r.Within = r.Within[:0]
	for _, x := range within {
		p := 0.0
		if x >= 0 {
			p = 1
		}
		r.Within = append(r.Within, p)
	}
	r.Medians = append(r.Medians[:0], MethodMedian{Name: NameA}, MethodMedian{Name: NameB},
		MethodMedian{Name: NameCombined}, MethodMedian{Name: NameExact})
}

// choose returns the name of the method. It is the exact method if its cost is within the work limit.
func (c *Calc) choose() string {
	limit := c.WorkLimit
	if limit == 0 {
		limit = DefaultWorkLimit
	}
	total, g, squares := 0, 0, 0.0
	for i := range c.held {
		n := c.held[i].procs
		total += n
		g = gcd(g, n)
		squares += float64(n) * float64(n)
	}
	// After the last job nearly all probability lies within about 15 standard deviations of the sum. Averaged over the
	// jobs it is about 10, because the range grows with each job. A standard deviation is at most sqrt(squares)/2.
	const evaluations, width = 32, 10
	states := 1 + min(float64(c.need), float64(total-c.need), width*math.Sqrt(squares)/2)/float64(max(g, 1))
	if float64(len(c.held))*states*evaluations <= float64(limit) {
		return MethodExact
	}
	return MethodSaddlepoint
}

// answer fills r for a request without jobs ahead, by searching the curves.
func (c *Calc) answer(r *Result, within []float64) error {
	if len(c.held) == 0 {
		return cannotRun(c.need)
	}
	c.begin()
	last := &c.pts[len(c.pts)-1]
	freed := math.Exp(last.y[curveB])
	if last.y[curveMain] <= -certain {
		return cannotReach(c.method, c.need, freed)
	}
	r.Within = r.Within[:0]
	for _, x := range within {
		r.Within = append(r.Within, c.startWithin(x))
	}
	r.Quantiles = r.Quantiles[:0]
	c.approach(r.Levels)
	for _, q := range r.Levels {
		t := 0.0
		if q > 0 {
			t = c.quantile(curveMain, logit(q), fine)
		}
		r.Quantiles = append(r.Quantiles, t)
	}
	b := MethodMedian{Name: NameB, Seconds: c.quantile(curveB, math.Log(float64(c.need)), fine)}
	if math.IsInf(b.Seconds, 1) {
		b.Seconds, b.Cannot = math.NaN(), cannotReach(NameB, c.need, freed)
	}
	c.medians(r, b, MethodMedian{Name: NameExact, Seconds: c.quantile(curveMain, 0, fine)})
	return nil
}

// answerQueue fills r for a request behind c.queue.jobs.
func (c *Calc) answerQueue(r *Result, procs int, within []float64) error {
	r.Method = MethodFCFSQueue
	c.pts = c.pts[:0]
	c.fcfs.request(&c.behind, procs)
	at, cannot := c.reach()
	if c.fcfs.share == 0 {
		if cannot == nil {
			cannot = cannotReach(r.Method, r.Need, c.freed(horizon, 0, nil))
		}
		cannot.Method = r.Method
		return cannot
	}
	r.Within, r.Quantiles = r.Within[:0], r.Quantiles[:0]
	for _, x := range within {
		r.Within = append(r.Within, c.fcfs.within(x))
	}
	for _, q := range r.Levels {
		low, high := c.fcfs.sampled(q)
		r.Quantiles = append(r.Quantiles, c.fcfs.quantile(q))
		r.Low, r.High = append(r.Low, low), append(r.High, high)
	}
	r.Replicas = c.fcfs.replicas
	b := MethodMedian{Name: NameB, Seconds: at}
	if cannot != nil {
		b.Seconds, b.Cannot = math.NaN(), cannot
	}
	for _, t := range [...]float64{0, horizon} {
		c.eval(t, curveA)
	}
	own := MethodMedian{Name: NameFCFS, Seconds: c.fcfs.quantile(.5), Replicas: c.fcfs.replicas}
	own.Low, own.High = c.fcfs.sampled(.5)
	c.medians(r, b, own)
	return nil
}

// begin evaluates all curves at 0 and at the horizon.
func (c *Calc) begin() {
	for _, t := range [...]float64{0, horizon} {
		c.eval(t, curveA)
		c.eval(t, curveMain)
	}
}

// approach evaluates the main curve near the quantile of each level. It finds these places by a coarse search of the
// normal approximation. Before that it searches for the result of Predictor B, because the points of that search are
// near the median.
func (c *Calc) approach(levels []float64) {
	c.quantile(curveB, math.Log(float64(c.need)), coarse)
	for _, q := range levels {
		target := logit(q)
		if math.IsInf(c.quantile(curveNormal, target, coarse), 1) {
			continue
		}
		lo, hi := c.bracket(curveNormal, target)
		x := c.estimate(curveNormal, target, lo, hi)
		if t := math.Expm1(x); t > c.pts[lo].t && t < c.pts[hi].t {
			c.eval(t, curveMain)
		}
	}
}

// startWithin returns the probability that the request starts within x seconds, Pr{F(x) >= need}.
func (c *Calc) startWithin(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	c.ends(x)
	return c.atLeast()
}

// medians fills r.Medians. b is the median of Predictor B, own that of r's own method.
func (c *Calc) medians(r *Result, b, own MethodMedian) {
	a := MethodMedian{Name: NameA, Seconds: math.NaN()}
	widest := 0
	for i := range c.held {
		widest = max(widest, c.held[i].procs)
	}
	if widest >= c.need {
		a.Seconds = c.quantile(curveA, 0, fine)
	} else {
		a.Cannot = cannotBenefit(c.need)
	}
	both := b
	if c.need < CombinedBelow && a.Cannot == nil {
		both = a
	}
	both.Name = NameCombined
	r.Medians = append(r.Medians[:0], a, b, both, own)
}
