package conformal

import (
	"container/heap"
	"math"

	"github.com/waitcast/waitcast/job/waittime"
)

// pending is a job with undecided levels.
type pending struct {
	ID      int64
	Seq     uint64 // order in which the jobs were served; it decides between jobs that are due at the same instant
	Submit  float64
	Groups  [1 + MaxGroupsOfJob]int
	NGroups int
	Zero    uint64    // bit l is set if level l was forecast as 0
	Q       []float64 // the served quantiles
	Earned  []float64 // amount earned, by level
	Next    int       // index of the first undecided level
	Start   float64   // NaN while the job waits
	Cancel  float64   // NaN unless the job was cancelled
	due     float64   // instant at which level Next is checked or, after the last level, the job is dropped
	at      int       // index in the heap, -1 if the job is not in it
}

// ledger keeps the pending jobs: reusable slots, and a heap of them by due time.
type ledger struct {
	slots []*pending
	free  []int
	index map[int64]int
	order []int // heap of slots
	seq   uint64
}

// Len, Less, Swap, Push and Pop implement heap.Interface. Only heap.Fix is used, because it does not allocate.
func (g *ledger) Len() int { return len(g.order) }

// Less orders by the due instant, then by the order of serving.
func (g *ledger) Less(i, j int) bool {
	a, b := g.slots[g.order[i]], g.slots[g.order[j]]
	if a.due != b.due {
		return a.due < b.due
	}
	return a.Seq < b.Seq
}

// Swap exchanges two places of the heap.
func (g *ledger) Swap(i, j int) {
	g.order[i], g.order[j] = g.order[j], g.order[i]
	g.slots[g.order[i]].at, g.slots[g.order[j]].at = i, j
}

// Push is not used.
func (g *ledger) Push(any) {}

// Pop is not used.
func (g *ledger) Pop() any { return nil }

// take returns an empty slot for a job with the given number of levels, and records it under the job's id.
func (g *ledger) take(id int64, levels int) *pending {
	var s int
	if n := len(g.free); n > 0 {
		s, g.free = g.free[n-1], g.free[:n-1]
	} else {
		s = len(g.slots)
		g.slots = append(g.slots, &pending{Q: make([]float64, levels), Earned: make([]float64, levels)})
	}
	j := g.slots[s]
	*j = pending{ID: id, Seq: g.seq, Q: j.Q, Earned: j.Earned, Start: math.NaN(), Cancel: math.NaN(), at: -1}
	clear(j.Earned)
	g.seq++
	g.index[id] = s
	return j
}

// schedule adds the job to the heap, or moves it to its new place there.
func (g *ledger) schedule(j *pending) {
	if j.at < 0 {
		j.at = len(g.order)
		g.order = append(g.order, g.index[j.ID])
	}
	heap.Fix(g, j.at)
}

// unschedule removes the job from the heap.
func (g *ledger) unschedule(j *pending) {
	if j.at < 0 {
		return
	}
	i, last := j.at, len(g.order)-1
	g.Swap(i, last)
	g.order = g.order[:last]
	j.at = -1
	if i < last {
		heap.Fix(g, i)
	}
}

// drop removes the job, so that its slot can be reused.
func (g *ledger) drop(j *pending) {
	g.unschedule(j)
	g.free = append(g.free, g.index[j.ID])
	delete(g.index, j.ID)
}

// linger is how long, in seconds, a job is kept after its last quantile has passed. Its misses can be reverted until
// then if it is cancelled.
const linger = 30 * 86400

func known(at float64) bool { return !math.IsNaN(at) }

// Watch follows a job that was served. id identifies it until it starts or is cancelled. submit is the time of its
// submission, in seconds on the caller's event clock. groups and raw (rising) are those that were passed to Correct,
// and served are the served quantiles in seconds. Watch first does what Advance does at the submission. It returns
// false for wrong lengths or a submit that is not finite, and if too many jobs are pending. Nothing is learnt from such
// a job. A job with the same id is replaced.
func (c *Calibrator) Watch(id int64, submit float64, groups []string, raw, served []float64) bool {
	n := len(c.cfg.Levels)
	if len(raw) != n || len(served) != n || math.IsNaN(submit) || math.IsInf(submit, 0) {
		return false
	}
	c.Advance(submit)
	if s, ok := c.jobs.index[id]; ok {
		c.jobs.drop(c.jobs.slots[s])
	}
	if len(c.jobs.index) >= c.cfg.MaxPending {
		return false
	}
	j := c.jobs.take(id, n)
	j.Submit, j.NGroups = submit, 1
	for _, name := range groups[:min(len(groups), MaxGroupsOfJob)] {
		if a := c.account(name); a > 0 {
			j.Groups[j.NGroups] = a
			j.NGroups++
		}
	}
	least := 0.0
	for l, q := range served {
		if isZero(raw[l]) {
			j.Zero |= 1 << l
		}
		if q > least { // false for NaN; served quantiles rise
			least = min(q, MaxWait)
		}
		j.Q[l] = least
	}
	j.due = submit + c.up(j.Q[0])
	c.jobs.schedule(j)
	return true
}

func (c *Calibrator) up(q float64) float64 {
	return math.Ceil(q/c.cfg.Resolution) * c.cfg.Resolution
}

func (c *Calibrator) down(q float64) float64 {
	return math.Floor(q/c.cfg.Resolution) * c.cfg.Resolution
}

// Started records that a job started at the instant, after it has done what Advance does. It ignores unknown jobs. Jobs
// whose levels are all decided are no longer followed.
func (c *Calibrator) Started(id int64, at float64) {
	c.Advance(at)
	s, ok := c.jobs.index[id]
	if !ok {
		return
	}
	j := c.jobs.slots[s]
	if j.Next >= len(j.Q) {
		c.jobs.drop(j)
		return
	}
	if !known(j.Start) && !known(j.Cancel) {
		j.Start = max(at, j.Submit)
	}
}

// Cancelled records that a job was cancelled at the instant, before its start. Before that it does what Advance does.
// It ignores unknown and started jobs.
func (c *Calibrator) Cancelled(id int64, at float64) {
	c.Advance(at)
	s, ok := c.jobs.index[id]
	if !ok {
		return
	}
	j := c.jobs.slots[s]
	if known(j.Start) || known(j.Cancel) {
		return
	}
	j.Cancel = max(at, j.Submit)
	if j.Next >= len(j.Q) {
		c.leave(j)
	}
}

// leave drops a cancelled job, and reverts the part of its account that Config.KeepCancelled does not keep.
func (c *Calibrator) leave(j *pending) {
	for l := range j.Q {
		if j.Earned[l] != 0 && c.cfg.KeepCancelled < 1 {
			c.earn(j, l, j.Earned[l]*c.cfg.KeepCancelled, false)
		}
	}
	c.jobs.drop(j)
}

// censor settles a job that was cancelled at an age between two of its quantiles. It interpolates, in z, how much of
// the probability of a start had passed by that age. This happens at the later quantile, as for jobs that started
// between the two. Otherwise the hits of jobs that would have been cancelled between two quantiles would have too much
// weight.
func (c *Calibrator) censor(j *pending, age float64) {
	before, passed := 0.0, 0.0
	if j.Next > 0 {
		before, passed = j.Q[j.Next-1], c.cfg.Levels[j.Next-1]
	}
	if after := j.Q[j.Next]; after > before {
		part := math.Log((age+waittime.Shift)/(before+waittime.Shift)) /
			math.Log((after+waittime.Shift)/(before+waittime.Shift))
		passed += min(max(part, 0), 1) * (c.cfg.Levels[j.Next] - passed)
	}
	for l := j.Next; l < len(j.Q); l++ {
		c.earn(j, l, min(j.Earned[l], -(1-c.cfg.Levels[l])*passed/(1-passed)), false)
	}
}

// Pending returns the number of followed jobs.
func (c *Calibrator) Pending() int { return len(c.jobs.index) }

// Advance records that event time has reached now, in seconds. The quantiles that have passed before now are decided,
// in the order of their instants. A start at the very instant of a quantile still counts as covered by it. Earlier
// times are ignored.
func (c *Calibrator) Advance(now float64) {
	if !(now > c.clock) {
		return
	}
	c.clock = now
	for len(c.jobs.order) > 0 {
		j := c.jobs.slots[c.jobs.order[0]]
		if !(j.due < now) {
			return
		}
		c.updateAccount(j)
	}
}

// updateAccount updates the account of job j at its next quantile.
func (c *Calibrator) updateAccount(j *pending) {
	if j.Next >= len(j.Q) {
		c.jobs.drop(j)
		return
	}
	knot := c.up(j.Q[j.Next])
	end := j.Next + 1 // index of the first level whose quantile is above knot
	for end < len(j.Q) && c.up(j.Q[end]) <= knot {
		end++
	}
	wait := j.Start - j.Submit
	if age := j.Cancel - j.Submit; age <= knot {
		c.censor(j, age)
		c.leave(j)
		return
	}
	if wait <= knot { // false while the job waits
		end = c.decideStarted(j, wait, knot, end)
	} else {
		c.endure(j, knot, end)
	}
	j.Next = end
	switch {
	case j.Next < len(j.Q):
		j.due = j.Submit + c.up(j.Q[j.Next])
		c.jobs.schedule(j)
	case !known(j.Start) && !known(j.Cancel) && c.cfg.KeepCancelled < 1:
		j.due = knot + j.Submit + linger // kept until it starts or is cancelled, at most for linger
		c.jobs.schedule(j)
	default:
		c.jobs.drop(j)
	}
}

// decideStarted decides the levels of a job that started within knot seconds (the quantile that has just passed), and
// returns the first level that it did not decide. It decides all remaining levels, except at a knot of 0. At 0 it
// decides only the levels forecast as 0. For the levels above, the probability of a start at once was not forecast, and
// the jobs that still wait have not been counted yet.
func (c *Calibrator) decideStarted(j *pending, wait, knot float64, end int) int {
	last := len(j.Q)
	if knot == 0 {
		last = end
	}
	for l := j.Next; l < last; l++ {
		if wait < c.down(j.Q[l]) {
			c.earn(j, l, 1-c.cfg.Levels[l], true)
		} else {
			c.tie(j, l)
		}
	}
	return last
}

// endure records that a job waited longer than knot seconds, the quantile that has just passed. That is a miss for the
// levels before end, and a partial miss for the others.
func (c *Calibrator) endure(j *pending, knot float64, end int) {
	for l := j.Next; l < end; l++ {
		c.earn(j, l, -c.cfg.Levels[l], true)
	}
	if knot == 0 {
		return
	}
	passed := c.cfg.Levels[end-1]
	for l := end; l < len(j.Q); l++ {
		c.earn(j, l, -(1-c.cfg.Levels[l])*passed/(1-passed), false)
	}
}
