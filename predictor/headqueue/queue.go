package headqueue

import "math"

// placeWork is the maximum number of survivals that are evaluated while the jobs ahead are placed. It takes about 3
// ms. A longer queue is placed in batches. perSearch is the measured number of evaluations in a search.
const (
	placeWork = 100_000
	perSearch = 3
)

// queue is the memory of place.
type queue struct {
	jobs   []Ahead
	slope  float64 // processors freed per second over the last step
	ended  int     // number of the leading jobs of c.held that have certainly ended
	procs  float64 // number of processors that these have freed
	swept  int     // len(c.held) at the last sweep
	lookup int     // number of survivals evaluated
}

// instant is a time, with the mean number of processors freed by then.
type instant struct{ t, freed float64 }

// place appends the jobs of c.queue to c.held as holders that start later. It implements "Predictor B's natural
// extension" (Downey 1996, section 8.1) under strict first come, first served. Let need_k be the sum of procs up to
// job k, minus free. Job k starts at
//
//	T_k = first t >= T_{k-1} at which sum_running n_i cdf_i(t) +
//	      sum_{j<k} n_j cdf_j(t-T_j) >= need_k,
//
// up to the tolerance placing, from above. The instants never decrease, so each search starts at the previous
// instant. Each evaluation takes one pass over the holders.
//
// If this would exceed placeWork (at about 30 jobs behind 1,000 running), neighbors in the queue are placed in
// batches. The search is then for the instant of the batch's last job. The starts of the other jobs lie on a straight
// line since the previous batch, in proportion to their need. The end of a queue of thousands of jobs is found within
// 1 % (TestBatches).
//
// budget is about the number of survivals that may be evaluated. need is the number of processors that are requested
// before these jobs; if it is negative, -need processors are free. slope is a guess at the processors freed per
// second, 0 for none.
//
// place returns the instant at which the last job starts. Its t is +Inf if a start is never reached; cannot is the
// reason then.
func (c *Calc) place(budget, need int, slope float64) (last instant, cannot *CannotSay) {
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
			return to, c.cannotFree(next, to.freed)
		}
		c.start(batch, need, at, to)
		at, need = to, next
	}
	return at, nil
}

func (c *Calc) cannotFree(need int, freed float64) *CannotSay {
	if len(c.held) == 0 {
		return cannotRun(need)
	}
	return cannotReach(NameB, need, freed)
}

// batch returns the number of jobs to place at once. It divides the rest of the queue into equal parts, one for each
// search that the remaining budget allows.
func (c *Calc) batch(budget, rest int) int {
	live := len(c.held) - c.queue.ended
	each := perSearch * (live + min(rest/2, 2*live) + 1)
	searches := max(1, (budget-c.queue.lookup)/each)
	return (rest + searches - 1) / searches
}

// sweep moves the holders that have certainly ended by t to the front. It does so only if the number of the other
// holders has grown by a quarter.
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

// start appends batch to c.held. The jobs of the batch start between from and to. need processors are requested
// before them.
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

// fluid returns the first instant, up to the tolerance, at which need processors are freed on average. The instant is
// not before at. batch counts as in freed. The t of the result is +Inf if that never happens.
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

// narrow shrinks the bracket around need to the tolerance and returns its upper end. It uses the Illinois variant of
// regula falsi, with steps slightly beyond the estimated root. After two steps that have not halved the bracket it
// bisects.
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

// freed returns the mean number of processors that the jobs of c.held have freed by t. If batch has more than one job,
// its jobs are included. They are assumed to start one after the other between the instants from and t.
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
