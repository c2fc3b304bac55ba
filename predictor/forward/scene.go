package forward

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/byend"
)

// scene is a State that is prepared to be copied by every replica. Jobs have numbers: first the running jobs, then
// the waiting ones.
type scene struct {
	state        *State
	free         int
	most         int // the largest number of processors that the pool ever has
	jobs         []task
	running      byend.List
	changes      []change // changes of the capacity, by time, at most one per instant
	layout       layout
	waiting      lanes
	blocked      []int32 // positions of the jobs that become eligible later, sorted by that time
	scratch      []byend.Item
	gateOf       []int8      // the gates of the waiting jobs, by position; empty without gates
	gates        []gateState // states of the gates at the beginning of a replica
	limits       []limitState
	dependencies dependencies
	backs        bool
	plans        bool // true if jobs are simulated by the time limits alone, without random lifetimes
	byNode       bool // true if State.Nodes count
	nodes        nodeScene
	luck         luck
}

// task holds the state of a job in a replica.
type task struct {
	start  float64 // seconds from now, negative for a job that runs already
	expect float64 // the expected end, by the limit
	end    float64
	procs  int32
	owner  int32
}

// change is a number of processors that return at an instant, or leave (negative).
type change struct {
	at    float64
	procs int
}

// plan returns the runtime in seconds that the scheduler plans for a job with a time limit (0 for unknown). It is +Inf
// if neither the limit nor the default limit is known.
func (s *State) plan(limit float64) float64 {
	switch {
	case limit > 0:
		return limit
	case s.DefaultLimit > 0:
		return s.DefaultLimit
	}
	return math.Inf(1)
}

// prepare reads a state and, if request is not nil, the dependencies of the request on other jobs. State and request
// must not change while the scene is used.
func (c *scene) prepare(s *State, request *Request) error {
	if err := s.check(); err != nil {
		return err
	}
	c.state, c.backs, c.free = s, s.Policy.backfills(), s.Capacity
	c.prepareOutages()
	c.jobs = slices.Grow(c.jobs[:0], len(s.Running)+len(s.Waiting))
	c.scratch = slices.Grow(c.scratch[:0], len(s.Running))
	for i := range s.Running {
		r := &s.Running[i]
		t := task{start: -r.Age, procs: int32(r.Procs), owner: r.Owner, expect: s.plan(r.Limit) - r.Age}
		if t.expect <= 0 {
			t.expect = overrun(0, t.start)
		}
		c.free -= r.Procs
		c.scratch = append(c.scratch, byend.Item{At: t.expect, ID: int32(i), Held: t.procs})
		c.jobs = append(c.jobs, t)
	}
	c.running.Fill(c.scratch)
	c.prepareNodes()
	c.addRunningToLimits()
	c.findDependencies(request)
	c.prepareQueue()
	c.luck.prepare(s, c.plans)
	return nil
}

// overrun returns the expected end of a job that runs past its limit. The job is assumed to run as long again as it has
// run, but at least for a minute (as in package simulator).
func overrun(now, start float64) float64 { return now + max(60, now-start) }

func (c *scene) prepareQueue() {
	s, l := c.state, &c.layout
	l.procs, l.plan, c.blocked = l.procs[:0], l.plan[:0], c.blocked[:0]
	for i := range s.Waiting {
		w := &s.Waiting[i]
		l.procs, l.plan = append(l.procs, int32(w.Procs)), append(l.plan, s.plan(w.Limit))
		c.jobs = append(c.jobs, task{procs: int32(w.Procs), owner: w.Owner})
	}
	l.build()
	c.waiting.none(l)
	c.prepareGates()
	for i := range s.Waiting {
		switch w := &s.Waiting[i]; {
		case !c.mayCompete(i):
		case w.Eligible > 0:
			c.blocked = append(c.blocked, int32(i))
		case isAwaiting(c.dependencies.need, i):
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

// mayCompete reports whether the waiting job at a position may ever compete.
func (c *scene) mayCompete(at int) bool {
	w := &c.state.Waiting[at]
	return w.Procs <= c.most && !math.IsInf(w.Eligible, 1) && !(c.byNode && c.nodes.never[at])
}

// prepareOutages finds the changes of the capacity, and its largest value.
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
