package correction

import (
	"container/heap"
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// pending is a job with undecided levels, or one that still waits after its last quantile.
type pending struct {
	ID         int64
	Seq        uint64 // order in which the jobs were served; it decides between jobs that are due at the same instant
	Submit     float64
	Queue      string
	Groups     [kinds]int
	Weights    [kinds]float64
	Q          []float64 // the served quantiles
	Earned     []float64 // amount earned, by level
	Full       uint64    // bit l is set if level l was raised as far as possible
	Next       int       // index of the first undecided level
	Start, End float64   // instants of the start and of the cancellation; NaN if there was none
	due        float64   // instant at which level Next is checked or, after the last level, the job is dropped
	at         int       // index in the heap
}

// ledger has the pending jobs, by id and as a heap by due time.
type ledger struct {
	byID  map[int64]*pending
	order []*pending
	seq   uint64
}

func newLedger() ledger { return ledger{byID: map[int64]*pending{}} }

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (g *ledger) Len() int { return len(g.order) }

// Less orders by the due instant, then by the order of serving.
func (g *ledger) Less(i, j int) bool {
	a, b := g.order[i], g.order[j]
	if a.due != b.due {
		return a.due < b.due
	}
	return a.Seq < b.Seq
}

// Swap exchanges two places of the heap.
func (g *ledger) Swap(i, j int) {
	g.order[i], g.order[j] = g.order[j], g.order[i]
	g.order[i].at, g.order[j].at = i, j
}

// Push appends a job.
func (g *ledger) Push(v any) {
	j := v.(*pending)
	j.at = len(g.order)
	g.order = append(g.order, j)
}

// Pop removes the last job.
func (g *ledger) Pop() any {
	n := len(g.order) - 1
	j := g.order[n]
	g.order[n] = nil
	g.order = g.order[:n]
	return j
}

func (g *ledger) add(j *pending) {
	g.byID[j.ID] = j
	heap.Push(g, j)
}

func (g *ledger) drop(j *pending) {
	delete(g.byID, j.ID)
	heap.Remove(g, j.at)
}

// copyDue copies the jobs that are due before now to another ledger. It starts at a place of the heap and continues
// with the children of each due job, because they are not due before it.
func (g *ledger) copyDue(place int, now float64, to *ledger) {
	if place >= len(g.order) || !(g.order[place].due < now) {
		return
	}
	j := *g.order[place]
	j.Q, j.Earned = slices.Clone(j.Q), slices.Clone(j.Earned)
	to.add(&j)
	g.copyDue(2*place+1, now, to)
	g.copyDue(2*place+2, now, to)
}

// linger is how long, in seconds, a job is kept after its last quantile has passed. What it earned can be taken back
// until then if it is cancelled.
const linger = 30 * 86400

func known(at float64) bool { return !math.IsNaN(at) }

// Watch follows a job that was served. id identifies it until it starts or is cancelled. submit is the time of its
// submission, in seconds on the caller's event clock. raw (rising) is the forecast that was passed to Correct, and
// served are the served quantiles in seconds. Watch first does what Advance does at the submission. It returns false
// for wrong lengths or a submit that is not finite, and if too many jobs are pending. Nothing is learnt from such a
// job. A job with the same id is replaced.
func (c *Correction) Watch(id int64, submit float64, of Job, raw, served []float64) bool {
	n := len(c.cfg.Levels)
	if len(raw) != n || len(served) != n || math.IsNaN(submit) || math.IsInf(submit, 0) {
		return false
	}
	c.Advance(submit)
	if old := c.jobs.byID[id]; old != nil {
		c.drop(old)
	}
	if len(c.jobs.byID) >= c.cfg.MaxPending {
		return false
	}
	var buffer [maxLevels]float64
	z := c.scale(raw, &buffer)
	j := &pending{ID: id, Seq: c.jobs.seq, Submit: submit, Queue: of.Queue,
		Groups: c.groups(of, z), Q: make([]float64, n), Earned: make([]float64, n),
		Start: math.NaN(), End: math.NaN()}
	c.jobs.seq++
	for kind, i := range j.Groups {
		if i < 0 {
			continue
		}
		x := c.own(i)
		x.N++
		x.Open++
		x.Crowd = max(x.Open, x.Crowd*(1-forget))
		j.Weights[kind] = 1 / math.Sqrt(1+(x.Crowd-1)/together)
	}
	last := 0.0
	for l, q := range served {
		if q > last { // false for NaN; served quantiles rise
			last = min(q, MaxWait)
		}
		j.Q[l] = last
		if waittime.Log(last)-z[l] > limit(z, l)-1e-9 {
			j.Full |= 1 << l
		}
	}
	j.due = submit + j.Q[0]
	c.jobs.add(j)
	return true
}

// Started records that a job started at the instant, after it has done what Advance does. It ignores unknown jobs. Jobs
// whose levels are all decided are no longer followed.
func (c *Correction) Started(id int64, at float64) {
	c.Advance(at)
	switch j := c.jobs.byID[id]; {
	case j == nil || known(j.Start) || known(j.End):
	case j.Next >= len(j.Q):
		c.drop(j)
	default:
		j.Start = max(at, j.Submit)
	}
}

// Cancelled records that a job was cancelled at the instant, before its start. Before that it does what Advance does.
// It ignores unknown and started jobs.
func (c *Correction) Cancelled(id int64, at float64) {
	c.Advance(at)
	switch j := c.jobs.byID[id]; {
	case j == nil || known(j.Start) || known(j.End):
	case j.Next >= len(j.Q):
		c.takeBack(j)
	default:
		j.End = max(at, j.Submit) // taken back at the next quantile, as the hits of started jobs are counted there
	}
}

func (c *Correction) takeBack(j *pending) {
	for l, earned := range j.Earned {
		if earned != 0 {
			c.earn(j, l, 0, false)
		}
	}
	c.drop(j)
}

// drop stops following a job.
func (c *Correction) drop(j *pending) {
	if j.Next < len(j.Q) {
		c.settle(j)
	}
	c.jobs.drop(j)
}

// settle counts the job as decided in its groups.
func (c *Correction) settle(j *pending) {
	for _, i := range j.Groups {
		if i >= 0 {
			c.own(i).Open--
		}
	}
}

// Pending returns the number of followed jobs.
func (c *Correction) Pending() int { return len(c.jobs.byID) }

// Advance records that event time has reached now, in seconds. The quantiles that have passed before now are decided,
// in the order of their instants. A start at the very instant of a quantile still counts as covered by it. Earlier
// times are ignored.
func (c *Correction) Advance(now float64) {
	if !(now > c.clock) {
		return
	}
	c.clock = now
	for len(c.jobs.order) > 0 && c.jobs.order[0].due < now {
		c.update(c.jobs.order[0])
	}
}

// update counts what job j has earned at its next quantile.
func (c *Correction) update(j *pending) {
	if j.Next >= len(j.Q) {
		c.drop(j)
		return
	}
	knot := j.Q[j.Next]
	end := j.Next + 1 // index of the first level whose quantile is above knot
	for end < len(j.Q) && j.Q[end] <= knot {
		end++
	}
	switch {
	case j.End-j.Submit <= knot:
		c.takeBack(j)
		return
	case j.Start-j.Submit <= knot:
		end = c.decideStarted(j, knot, end)
	default:
		c.endure(j, knot, end)
	}
	if j.Next = end; j.Next < len(j.Q) {
		j.due = j.Submit + j.Q[j.Next]
	} else {
		c.settle(j)
		if known(j.Start) {
			c.drop(j)
			return
		}
		j.due = j.Submit + knot + linger
	}
	heap.Fix(&c.jobs, j.at)
}

// decideStarted decides the levels of a job that started within knot seconds (the quantile that has just passed), and
// returns the first level that it did not decide. It decides all remaining levels, except at a knot of 0, where it
// decides only the levels served as 0. For the levels above, the probability of a start at once was not forecast, and
// the jobs that still wait have not been counted yet.
func (c *Correction) decideStarted(j *pending, knot float64, end int) int {
	if knot > 0 {
		end = len(j.Q)
	}
	for l := j.Next; l < end; l++ {
		c.earn(j, l, 1-c.cfg.Levels[l], true)
	}
	return end
}

// endure records that a job waited longer than knot seconds, the quantile that has just passed. That is a miss for the
// levels before end, and a partial miss for the others.
func (c *Correction) endure(j *pending, knot float64, end int) {
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
