package simulator

import (
	"cmp"
	"math"
	"slices"
)

// Conservative is backfilling in which every job has a reservation. At its submission a job gets the earliest
// reservation that is possible beside all other reservations. After jobs have ended, the waiting jobs are taken in
// order of submission. Each gets the earliest reservation that is possible beside the others, but never a later one
// than before (compression).
//
// If estimates are upper bounds, no job starts after its first reservation. If a job runs for longer than estimated,
// all waiting jobs get new reservations, which may be later; [Conservative.Broken] counts these. A compression visits
// every waiting job and every step of the plan before the job's reservation.
type Conservative struct {
	plan    Profile   // free processors, given the running jobs, the reservations and the outages
	limits  []Profile // by queue: if it has a limit, the processors that the limit leaves free
	promise []float64 // by Ref: start of the reservation; NaN if the job has none
	number  []int64   // by Ref: number of the reservation, in the order in which reservations were made
	made    int64
	next    float64 // start of the earliest reservation
	freed   bool    // true if a job ended early and there was no compression since
	settled bool    // true if another compression would change nothing
	overran bool    // true if a job runs for longer than planned, so that everything must be planned again
	broken  int64
	due     []Ref // scratch memory
}

// New implements Policy.
func (*Conservative) New() Policy { return new(Conservative) }

// Attach implements Policy.
func (c *Conservative) Attach(p *Pool) {
	*c = Conservative{plan: c.plan, next: math.Inf(1), promise: c.promise[:0], number: c.number[:0], due: c.due[:0]}
	c.plan.Reset(0, p.Procs())
	for _, o := range p.Outages() {
		c.plan.Change(o.From, o.Until, -o.Procs)
	}
	c.limits = make([]Profile, len(p.s.cfg.Queues))
	for q := range c.limits {
		c.limits[q].Reset(0, p.QueueRoom(q))
	}
}

// CopyFrom implements Policy.
func (c *Conservative) CopyFrom(src Policy) {
	o, ok := src.(*Conservative)
	if !ok {
		return
	}
	old := *c
	*c = *o
	c.plan, c.limits = old.plan, old.limits
	c.plan.CopyFrom(&o.plan)
	if len(c.limits) != len(o.limits) {
		c.limits = make([]Profile, len(o.limits))
	}
	for q := range c.limits {
		c.limits[q].CopyFrom(&o.limits[q])
	}
	c.promise = append(old.promise[:0], o.promise...)
	c.number = append(old.number[:0], o.number...)
	c.due = old.due[:0]
}

// Broken returns how often a job got a later reservation than before, because another job ran for longer than
// estimated, or processors returned later than planned.
func (c *Conservative) Broken() int64 { return c.broken }

// Promise returns the latest start of a waiting job, by the estimates. It returns +Inf if the job will never start.
func (c *Conservative) Promise(r Ref) float64 { return c.promise[r] }

// Submitted implements Policy.
func (c *Conservative) Submitted(p *Pool, r Ref) {
	for int(r) >= len(c.promise) {
		c.promise = append(c.promise, math.NaN())
		c.number = append(c.number, 0)
	}
	c.promise[r] = math.NaN()
	if c.freed { // waiting jobs get the freed processors first
		c.compress(p)
	}
	c.plan.Forget(p.Now())
	c.reserve(p, r, c.earliest(p, r, math.Inf(1)))
}

// Withdrawn implements Policy.
func (c *Conservative) Withdrawn(p *Pool, r Ref) {
	c.change(p, r, c.promise[r], c.promise[r]+p.Estimate(r), p.Held(r))
	c.promise[r] = math.NaN()
	c.settled = false
}

// Started implements Policy.
func (c *Conservative) Started(p *Pool, r Ref) {
	planned := p.Now() // the plan holds the job's processors until this instant
	if int(r) < len(c.promise) && c.promise[r] <= p.Now() {
		planned = c.promise[r] + p.Estimate(r)
		c.promise[r] = math.NaN()
	}
	c.change(p, r, planned, p.Expected(r), -p.Held(r))
}

// Ended implements Policy.
func (c *Conservative) Ended(p *Pool, r Ref) {
	if p.Expected(r) > p.Now() {
		c.change(p, r, p.Now(), p.Expected(r), p.Held(r))
		c.freed, c.settled = true, false
	}
}

// Overran implements Policy.
func (c *Conservative) Overran(p *Pool, r Ref, was float64) {
	c.change(p, r, was, p.Expected(r), -p.Held(r))
	c.overran = true
}

// Head implements Policy. It returns the job with the earliest reservation.
func (c *Conservative) Head(p *Pool) Ref {
	head := p.First()
	for r := head; r != None; r = p.After(r) {
		if c.promise[r] < c.promise[head] {
			head = r
		}
	}
	return head
}

// Wake implements Policy.
func (c *Conservative) Wake() float64 { return c.next }

// Schedule implements Policy.
func (c *Conservative) Schedule(p *Pool, why Cause) {
	c.plan.Forget(p.Now())
	for q := range c.limits {
		c.limits[q].Forget(p.Now())
	}
	switch {
	case c.overran:
		c.planAnew(p)
	case why&ByEnd != 0 || c.freed:
		c.compress(p)
	}
	for c.next <= p.Now() && c.startDue(p) {
		c.planAnew(p)
	}
}

// startDue starts the jobs whose reservations are due, in the order in which the reservations were made. stuck is
// true if a job could not start. In that case a job ran longer than planned and ends at this instant, or processors
// return later than planned. Then the plan must be rebuilt.
func (c *Conservative) startDue(p *Pool) (stuck bool) {
	c.due = c.due[:0]
	for r := p.First(); r != None; r = p.After(r) {
		if c.promise[r] <= p.Now() {
			c.due = append(c.due, r)
		}
	}
	slices.SortFunc(c.due, func(a, b Ref) int { return cmp.Compare(c.number[a], c.number[b]) })
	for _, r := range c.due {
		if !p.Start(r) {
			stuck = true
		}
	}
	c.findNext(p)
	return stuck
}

func (c *Conservative) findNext(p *Pool) {
	c.next = math.Inf(1)
	for r := p.First(); r != None; r = p.After(r) {
		if at := c.promise[r]; at < c.next {
			c.next = at
		}
	}
}

// compress moves every future reservation, in order of submission, to the earliest instant that is possible beside all
// other reservations. It does nothing if the last compression moved none and no processors were freed since.
func (c *Conservative) compress(p *Pool) {
	c.freed = false
	if c.settled {
		return
	}
	c.settled = true
	for r := p.First(); r != None; r = p.After(r) {
		was := c.promise[r]
		if !(was > p.Now()) { // true if the job is about to start or has no reservation
			continue
		}
		if at := c.earliest(p, r, was); at < was {
			c.change(p, r, was, was+p.Estimate(r), p.Held(r))
			c.reserve(p, r, at)
			c.settled = false
		}
	}
	c.findNext(p)
}

// planAnew cancels all reservations and makes new ones in order of submission.
func (c *Conservative) planAnew(p *Pool) {
	c.overran, c.freed, c.settled = false, false, true
	c.plan.Reset(p.Now(), p.Free())
	for _, ch := range p.changes[p.upcoming:] {
		c.plan.Change(ch.at, math.Inf(1), ch.procs)
	}
	for q := range c.limits {
		c.limits[q].Reset(p.Now(), p.QueueRoom(q))
	}
	for r := range p.Running() {
		c.change(p, r, p.Expected(r), math.Inf(1), p.Held(r))
	}
	for r := p.First(); r != None; r = p.After(r) {
		was := c.promise[r]
		c.reserve(p, r, c.earliest(p, r, math.Inf(1)))
		if c.promise[r] > was {
			c.broken++
		}
	}
	c.findNext(p)
}

// earliest returns the earliest possible start of a waiting job, at most until. until is the start of the job's present
// reservation, +Inf if it has none.
func (c *Conservative) earliest(p *Pool, r Ref, until float64) float64 {
	held, estimate, q := p.Held(r), p.Estimate(r), p.Queue(r)
	t := c.plan.earlier(p.Now(), until, held, estimate)
	if !p.capped(q) {
		return t
	}
	for {
		at := c.limits[q].earlier(t, until, held, estimate)
		if at == t || at == until {
			return at
		}
		if t = c.plan.earlier(at, until, held, estimate); t == at {
			return t
		}
	}
}

// reserve gives a job a reservation that begins at the given instant.
func (c *Conservative) reserve(p *Pool, r Ref, at float64) {
	c.made++
	c.promise[r], c.number[r] = at, c.made
	c.next = min(c.next, at)
	c.change(p, r, at, at+p.Estimate(r), -p.Held(r))
}

// change adds free processors (takes them if procs is negative) between two instants: to the plan and, if the job's
// queue has a limit, to what the limit leaves.
func (c *Conservative) change(p *Pool, r Ref, from, until float64, procs int) {
	c.plan.Change(from, until, procs)
	if q := p.Queue(r); p.capped(q) {
		c.limits[q].Change(from, until, procs)
	}
}
