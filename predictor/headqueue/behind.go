package headqueue

import (
	"math"
	"reflect"
	"slices"
)

// behind has the results of simulating and placing the jobs ahead of a request. It does not depend on the request, so
// requests of all sizes at one instant share it. A Calc keeps it for the last state that was forecast.
type behind struct {
	known bool
	state State // a copy, with slices of its own

	// These are the results of each replica r of strict first come, first served. now is the instant at which the last
	// job ahead starts, +Inf for never. free is the number of processors that are free after that start.
	// heap[from[r]:from[r+1]] has the jobs that hold processors then.
	now  []float64
	free []int
	heap []ending
	from []int

	// These are the results of placing the jobs ahead: the start of the last one, the processors freed per second
	// there, and the reason if there is no start.
	at     instant
	slope  float64
	cannot *CannotSay
}

// is reports whether the results belong to the state s: it has the same capacity, free processors, running jobs and
// jobs ahead.
func (b *behind) is(s *State) bool {
	return b.known && b.state.Capacity == s.Capacity && b.state.Free == s.Free &&
		slices.EqualFunc(b.state.Running, s.Running, func(x, y Holder) bool {
			return x.Procs == y.Procs && x.Age == y.Age && x.Limit == y.Limit && sameLaw(x.Law, y.Law)
		}) &&
		slices.EqualFunc(b.state.Ahead, s.Ahead, func(x, y Ahead) bool {
			return x.Procs == y.Procs && x.Limit == y.Limit && sameLaw(x.Law, y.Law)
		})
}

// sameLaw reports whether two laws are certainly the same.
func sameLaw(a, b Lifetime) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && t.Comparable() && a == b
}

// keep records that the results belong to the state s, of which it makes a copy.
func (b *behind) keep(s *State) {
	b.known = true
	b.state.Capacity, b.state.Free = s.Capacity, s.Free
	b.state.Running = append(b.state.Running[:0], s.Running...)
	b.state.Ahead = append(b.state.Ahead[:0], s.Ahead...)
}

// playAhead computes c.behind for a state, unless it was computed for the same state. ahead is the number of
// processors of all jobs ahead.
func (c *Calc) playAhead(s *State, ahead int) {
	b := &c.behind
	if b.is(s) {
		return
	}
	c.load(s.Running)
	c.simulate(s.Free)
	slope := 0.0
	c.fcfs.starts = append(c.fcfs.starts[:0], b.now...)
	c.fcfs.summarize()
	if median := c.fcfs.quantile(.5); median > 0 && ahead > s.Free {
		slope = float64(ahead-s.Free) / median // 0 if the last job ahead never starts
	}
	b.at, b.cannot = c.place(placeWork, -s.Free, slope)
	b.slope = c.queue.slope
	b.keep(s)
}

// reach returns the instant at which the placed jobs and the running ones have freed c.need processors on average: the
// forecast of Predictor B behind the queue. It is +Inf if that instant is never reached, or if a job ahead never
// starts; cannot is the reason then.
func (c *Calc) reach() (b float64, cannot *CannotSay) {
	if c.behind.cannot != nil {
		why := *c.behind.cannot
		return math.Inf(1), &why
	}
	c.queue.slope = c.behind.slope
	to := c.fluid(c.behind.at, float64(c.need), nil)
	if math.IsInf(to.t, 1) {
		return to.t, c.cannotFree(c.need, to.freed)
	}
	return to.t, nil
}

// request fills f.starts with the instants at which a request for procs processors starts behind the jobs ahead, one
// for each replica, in ascending order. It also computes their moments.
func (f *fcfs) request(b *behind, procs int) {
	f.starts = f.starts[:0]
	for r, now := range b.now {
		if !math.IsInf(now, 1) {
			f.heap = append(f.heap[:0], b.heap[b.from[r]:b.from[r+1]]...)
			now, _ = f.await(now, b.free[r], procs)
		}
		f.starts = append(f.starts, now)
	}
	f.summarize()
}
