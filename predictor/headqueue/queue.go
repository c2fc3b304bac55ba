package headqueue

import "math"

// placeWork bounds the survivals looked up while the jobs ahead are placed: some
// 3 ms. A longer queue is placed in batches. perSearch is how many evaluations a
// search takes (measured).
const (
	placeWork = 100_000
	perSearch = 3
)

// queue is the scratch of place.
type queue struct {
	jobs   []Ahead
	slope  float64 // processors freed per second over the last step
	ended  int     // c.held[:ended] have ended for sure,
	procs  float64 // giving back these processors
	swept  int     // len(c.held) when they were last looked for
	lookup int     // survivals looked up
}

// instant is a time with the processors freed on average by then.
type instant struct{ t, freed float64 }

// place appends to c.held the jobs of c.queue as holders that start later, "Predictor
// B's natural extension" (Downey 1996, section 8.1) under strict first come, first
// served: with need_k = sum of procs up to job k - free, job k starts at
//
//	T_k = first t >= T_{k-1} at which sum_running n_i cdf_i(t) +
//	      sum_{j<k} n_j cdf_j(t-T_j) >= need_k,
//
// up to the tolerance placing, from above. The instants never decrease, so each
// search starts at the one before, with one pass over the holders per evaluation.
//
// Where all this would exceed placeWork (some 30 jobs behind 1,000 running),
// neighbors in the queue are placed in batches: the search is for the instant of
// the batch's last job, with its jobs starting on a straight line since the batch
// before, by their need. The end of a queue of thousands is then met within 1 %
// (TestBatches).
//
// slope is a guess at the processors freed per second, 0 for none. It returns the
// instant at which c.need processors are freed: Predictor B behind the queue; +Inf where
// it or a place is never reached, cannot being why.
func (c *Calc) place(free int, slope float64) (b float64, cannot *CannotSay) {
	return c.placeBatches(placeWork, -free, slope)
}

// placeBatches places c.queue.jobs within about so many survivals; need
// processors are asked for before them.
func (c *Calc) placeBatches(budget, need int, slope float64) (float64, *CannotSay) {
	q := &c.queue
	q.slope, q.ended, q.procs, q.swept, q.lookup = slope, 0, 0, len(c.held), 0
	at := instant{}
	for rest := q.jobs; len(rest) > 0; {
		c.sweep(at.t)
		batch := rest[:c.batch(budget, len(rest))]
		rest = rest[len(batch):]
		next := need
		for i := range batch {
			next += batch[i].Procs
		}
		to := c.fluid(at, float64(next), batch)
		if math.IsInf(to.t, 1) {
			return to.t, c.cannotFree(next, to.freed)
		}
		c.start(batch, need, at, to)
		at, need = to, next
	}
	to := c.fluid(at, float64(c.need), nil)
	if math.IsInf(to.t, 1) {
		return to.t, c.cannotFree(c.need, to.freed)
	}
	return to.t, nil
}

func (c *Calc) cannotFree(need int, freed float64) *CannotSay {
	if len(c.held) == 0 {
		return cannotRun(need)
	}
	return cannotReach(NameB, need, freed)
}

// batch is how many of the rest of the queue to place at once: all in equal parts,
// as many as what is left of budget allows searches.
func (c *Calc) batch(budget, rest int) int {
	live := len(c.held) - c.queue.ended
	each := perSearch * (live + min(rest/2, 2*live) + 1)
	searches := max(1, (budget-c.queue.lookup)/each)
	return (rest + searches - 1) / searches
}

// sweep moves the holders that have ended for sure by t out of the way, once the
// others have grown by a quarter.
func (c *Calc) sweep(t float64) {
	q := &c.queue
	if live := len(c.held) - q.ended; len(c.held)-q.swept < live/4+16 {
		return
	}
	q.lookup += len(c.held) - q.ended
	for i := q.ended; i < len(c.held); i++ {
		if c.held[i].ends(t) >= 1 {
			q.procs += float64(c.held[i].procs)
			c.held[i], c.held[q.ended] = c.held[q.ended], c.held[i]
			q.ended++
		}
	}
	q.swept = len(c.held)
}

// start appends batch to c.held, started between from and to, need processors
// being asked for before it.
func (c *Calc) start(batch []Ahead, need int, from, to instant) {
	for i, a := range batch {
		need += a.Procs
		t := to.t
		if i < len(batch)-1 && to.freed > from.freed {
			part := (float64(need) - from.freed) / (to.freed - from.freed)
			t = from.t + max(0, min(1, part))*(to.t-from.t)
		}
		c.held = append(c.held, prepare(Holder{Procs: a.Procs, Age: -t, Limit: a.Limit, Law: a.Law}))
	}
}

// fluid is the first instant from at on, up to the tolerance, at which need
// processors are freed; its t is +Inf where they never are.
func (c *Calc) fluid(at instant, need float64, batch []Ahead) instant {
	if at.freed >= need {
		return at
	}
	lo, step := at, max(1, .01*at.t)
	if c.queue.slope > 0 {
		step = max(.45*placing.at(at.t), 1.02*(need-at.freed)/c.queue.slope)
	}
	var hi instant
	for {
		hi.t = min(lo.t+step, horizon)
		hi.freed = c.freed(hi.t, at.t, batch)
		if hi.freed >= need {
			break
		}
		if hi.t >= horizon {
			return instant{math.Inf(1), hi.freed}
		}
		guess := 16 * step
		if hi.freed > lo.freed {
			guess = 1.02 * (need - hi.freed) * (hi.t - lo.t) / (hi.freed - lo.freed)
		}
		step = max(1.5*step, min(16*step, guess))
		lo = hi
	}
	hi = c.narrow(lo, hi, at.t, need, batch)
	if hi.t > at.t {
		c.queue.slope = (hi.freed - at.freed) / (hi.t - at.t)
	}
	return hi
}

// narrow shrinks the bracket around need to the tolerance and returns its upper
// end: the Illinois variant of regula falsi, pushed over the estimated root, and
// bisection after two steps that have not halved the bracket.
func (c *Calc) narrow(lo, hi instant, from, need float64, batch []Ahead) instant {
	w := placing
	if len(batch) > 1 {
		w = fine
	}
	below, above := need-lo.freed, hi.freed-need
	slow, side := 0, 0
	for range 200 {
		width := w.at(hi.t)
		before := hi.t - lo.t
		if before <= width {
			break
		}
		mid := lo.t + before/2
		t := mid
		if slow < 2 {
			t = lo.t + before*below/(below+above)
			t += math.Copysign(min(.45*width, math.Abs(mid-t)), mid-t)
		}
		if !(t > lo.t && t < hi.t) {
			break
		}
		at := instant{t, c.freed(t, from, batch)}
		if at.freed >= need {
			hi, above = at, at.freed-need
			if side > 0 {
				below /= 2
			}
			side = 1
		} else {
			lo, below = at, need-at.freed
			if side < 0 {
				above /= 2
			}
			side = -1
		}
		if hi.t-lo.t <= .5001*before {
			slow /= 2
		} else {
			slow++
		}
	}
	return hi
}

// freed are the processors freed on average by t: those of c.held and, where batch
// is more than the one job that is being placed, those of its jobs, which start from
// the instant from on.
func (c *Calc) freed(t, from float64, batch []Ahead) float64 {
	sum := c.queue.procs
	live := c.held[c.queue.ended:]
	c.queue.lookup += len(live)
	for i := range live {
		h := &live[i]
		sum += float64(h.procs) * h.ends(t)
	}
	if len(batch) < 2 {
		return sum
	}
	c.queue.lookup += len(batch)
	all, asked := 0, 0
	for i := range batch {
		all += batch[i].Procs
	}
	for _, a := range batch {
		asked += a.Procs
		h := prepare(Holder{Procs: a.Procs, Limit: a.Limit, Law: a.Law})
		sum += float64(a.Procs) * h.ends((t-from)*float64(all-asked)/float64(all))
	}
	return sum
}
