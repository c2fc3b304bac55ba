package forward

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/byend"
)

// scene is a State made ready to be copied by every replica. Jobs have numbers: those that run first, then those that
// wait.
type scene struct {
	state   *State
	free    int
	most    int // processors that the pool ever has
	jobs    []task
	running byend.List
	changes []change // of the capacity, by time; one for an instant
	layout  layout
	waiting lanes
	blocked []int32 // positions of the jobs that become eligible later, by when
	scratch []byend.Item
	gateOf  []int8      // gates of the jobs that wait, by position; empty without gates
	gates   []gateState // as they are now
	limits  []limitState
	backs   bool
	plans   bool // by the time limits alone, without chance
}

// task is what a replica keeps of a job.
type task struct {
	start  float64 // seconds from now, negative for one that runs already
	expect float64 // expected end, by the limit
	end    float64
	procs  int32
}

// change is processors that come back at an instant, or go (negative).
type change struct {
	at    float64
	procs int
}

// plan returns the seconds that the scheduler plans with.
func (s *State) plan(limit float64) float64 {
	switch {
	case limit > 0:
		return limit
	case s.DefaultLimit > 0:
		return s.DefaultLimit
	}
	return math.Inf(1)
}

// prepare reads a state, which must not change while the scene is used.
func (c *scene) prepare(s *State) error {
	if err := s.check(); err != nil {
		return err
	}
	c.state, c.backs, c.free = s, s.Policy.backfills(), s.Capacity
	c.prepareOutages()
	c.jobs = c.jobs[:0]
	c.scratch = c.scratch[:0]
	for i := range s.Running {
		r := &s.Running[i]
		t := task{start: -r.Age, procs: int32(r.Procs), expect: s.plan(r.Limit) - r.Age}
		if t.expect <= 0 {
			t.expect = overrun(0, t.start)
		}
		c.free -= r.Procs
		c.scratch = append(c.scratch, byend.Item{At: t.expect, ID: int32(i), Held: t.procs})
		c.jobs = append(c.jobs, t)
	}
	c.running.Fill(c.scratch)
	c.prepareLimits()
	c.prepareQueue()
	return nil
}

// overrun returns when a job is expected to end that goes on past its limit: after as long again as it has run, at
// least a minute (as package simulator does).
func overrun(now, start float64) float64 { return now + max(60, now-start) }

func (c *scene) prepareQueue() {
	s, l := c.state, &c.layout
	l.procs, l.plan, c.blocked = l.procs[:0], l.plan[:0], c.blocked[:0]
	for i := range s.Waiting {
		w := &s.Waiting[i]
		l.procs, l.plan = append(l.procs, int32(w.Procs)), append(l.plan, s.plan(w.Limit))
		c.jobs = append(c.jobs, task{procs: int32(w.Procs)})
	}
	l.build()
	c.waiting.none(l)
	c.prepareGates()
	for i := range s.Waiting {
		switch w := &s.Waiting[i]; {
		case w.Procs > c.most || math.IsInf(w.Eligible, 1):
		case w.Eligible > 0:
			c.blocked = append(c.blocked, int32(i))
		case !park(c.gates, c.gateOf, i):
			c.waiting.add(l, i)
		}
	}
	if len(c.blocked) > 1 {
		slices.SortStableFunc(c.blocked, func(a, b int32) int {
			return cmp.Compare(s.Waiting[a].Eligible, s.Waiting[b].Eligible)
		})
	}
}

// prepareOutages finds the changes of the capacity, and how large it ever is.
func (c *scene) prepareOutages() {
	c.changes = c.changes[:0]
	for _, o := range c.state.Outages {
		if o.Until <= 0 || o.Procs == 0 {
			continue
		}
		if o.From <= 0 {
			c.free -= o.Procs
		} else {
			c.changes = append(c.changes, change{o.From, -o.Procs})
		}
		if !math.IsInf(o.Until, 1) {
			c.changes = append(c.changes, change{o.Until, o.Procs})
		}
	}
	c.most = c.free
	if len(c.changes) == 0 {
		return
	}
	slices.SortFunc(c.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	n, has := 0, c.free
	for _, ch := range c.changes {
		if n > 0 && c.changes[n-1].at == ch.at {
			c.changes[n-1].procs += ch.procs
			continue
		}
		c.changes[n] = ch
		n++
	}
	c.changes = c.changes[:n]
	for _, ch := range c.changes {
		has += ch.procs
		c.most = max(c.most, has)
	}
}
