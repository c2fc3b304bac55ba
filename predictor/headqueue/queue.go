package headqueue

import "math"

// placeWork bounds the survivals looked up while the jobs ahead are placed:
// some 10 ms. A longer queue is placed in batches. perSearch is how many
// evaluations a search takes (measured).
const (
	placeWork = 400_000
	perSearch = 3
)

// queue is the scratch of place.
type queue struct {
	jobs  []Ahead
	slope float64 // processors freed per second over the last step
}

// instant is a time with the processors freed on average by then.
type instant struct{ t, freed float64 }

// place appends to c.held the jobs ahead as holders that start later, "Predictor
// B's natural extension" (Downey 1996, section 8.1) under strict first come, first
// served: with need_k = sum of procs up to job k - free, job k starts at
//
//	T_k = first t >= T_{k-1} at which sum_running n_i cdf_i(t) +
//	      sum_{j<k} n_j cdf_j(t-T_j) >= need_k,
//
// up to the tolerance placing, from above. The instants never decrease, so each
// search starts at the one before, with one pass over the holders per evaluation.
//
// Where perSearch * jobs * holders exceeds placeWork (some 125 jobs behind 1,000
// running), neighbors in the queue are placed in batches of equal length: the search
// is for the instant of the batch's last job, with its jobs ending as if they had
// started evenly since the batch before, and the others start on a straight line
// between the two instants, by their need. The end of a queue of thousands is then
// met within 2 % (TestBatches).
func (c *Calc) place(s *State) error {
	q := &c.queue
	q.jobs, q.slope = q.jobs[:0], 0
	for _, a := range s.Ahead {
		if a.Procs > 0 && a.Procs <= s.Capacity {
			q.jobs = append(q.jobs, a)
		}
	}
	n := float64(len(q.jobs))
	return c.placeBatches(1+int(n*perSearch*(float64(len(c.held))+n/2)/placeWork), -s.Free)
}

// placeBatches places c.queue.jobs, size at a time; need processors are asked for
// before them.
func (c *Calc) placeBatches(size, need int) error {
	at := instant{}
	for rest := c.queue.jobs; len(rest) > 0; {
		batch := rest[:min(size, len(rest))]
		rest = rest[len(batch):]
		next := need
		for i := range batch {
			next += batch[i].Procs
		}
		to := c.fluid(at, float64(next), batch)
		if math.IsInf(to.t, 1) {
			if len(c.held) == 0 {
				return cannotRun(next)
			}
			return cannotReach(MethodExactQueue, next, to.freed)
		}
		c.start(batch, need, at, to)
		at, need = to, next
	}
	c.sort()
	return nil
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
	var sum float64
	for i := range c.held {
		h := &c.held[i]
		sum += float64(h.procs) * h.ends(t)
	}
	if len(batch) < 2 {
		return sum
	}
	// Starts spread evenly over the interval: Gauss's rule with two points.
	early, late := .5+math.Sqrt(3)/6, .5-math.Sqrt(3)/6
	for i := range batch {
		h := prepare(Holder{Procs: batch[i].Procs, Limit: batch[i].Limit, Law: batch[i].Law})
		sum += float64(h.procs) * (h.ends((t-from)*early) + h.ends((t-from)*late)) / 2
	}
	return sum
}
