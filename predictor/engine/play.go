package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/residual"
)

// played is the most jobs that a pool may have, running and waiting, for each request to be played itself; in larger ones it is looked up.
const played = 300

// poolFacts is a pool at an instant.
type poolFacts struct {
	procs        int
	policy       forward.Policy
	source       PolicySource
	order        []string
	outages      []Outage
	inUse, ahead amount
	ranks        map[string]amount // what waits by queue, where ranks count
	prioritized  bool              // ranks are those of priorities, not of queues
	large        bool
	running      []job // of a pool that is not large
	waiting      []job
	tables       map[string]*table // of a large one, by queue
}

// job is what a simulation needs of a job.
type job struct {
	key, group   uint64
	procs, rank  int
	start, limit float64
	law          *law
	queue        string
}

// freezePool returns a pool as it is, not to be changed; nil is the whole machine.
func (e *Engine) freezePool(p *pool) *poolFacts {
	if p != nil && p.frozen != nil {
		return p.frozen
	}
	f := &poolFacts{procs: e.capacityOf(p), policy: forward.EASY}
	if p != nil {
		f.policy, f.source, f.order, f.outages = p.policy, p.source, p.order, p.outages
	} else if e.cfg.PolicyKnown && e.cfg.Policy == forward.FCFS {
		f.policy, f.source = e.cfg.Policy, PolicyTold
	}
	f.inUse, f.ahead = e.uses(p)
	if f.policy == forward.PriorityEASY || f.policy == forward.PriorityFCFS {
		f.ranks = map[string]amount{}
		for _, name := range p.queues {
			if q := e.queues[name]; q != nil && q.waiting.total.jobs > 0 {
				f.ranks[name] = q.waiting.total
			}
		}
	}
	if f.large = f.inUse.jobs+f.ahead.jobs > played; f.large {
		f.tables = e.tables
	} else {
		e.gather(p, f)
	}
	if p != nil {
		p.frozen = f
	}
	return f
}

// gather lists the jobs of a pool.
func (e *Engine) gather(p *pool, f *poolFacts) {
	f.running, f.waiting = make([]job, 0, int(f.inUse.jobs)), make([]job, 0, int(f.ahead.jobs))
	for _, r := range e.runningJobs {
		if p == nil || r.queue.pool == p {
			f.running = append(f.running, job{key: r.id + 1, group: r.user.number, procs: r.Procs, start: r.start, limit: r.Limit, law: r.law, queue: r.Queue})
		}
	}
	if f.ahead.jobs == 0 {
		return
	}
	for _, w := range e.line.waiting() {
		if p == nil || w.queue.pool == p {
			f.prioritized = f.prioritized || w.Priority > 0 && f.byPriority()
		}
	}
	if f.prioritized {
		f.policy = forward.PriorityEASY
	}
	for _, w := range e.line.waiting() {
		if p == nil || w.queue.pool == p {
			f.waiting = append(f.waiting, job{key: w.id + 1, group: w.user.number, procs: w.Procs, limit: w.Limit, law: w.law, queue: w.Queue, rank: f.rankOf(&w.Request)})
		}
	}
	if f.prioritized || p.ranked() {
		slices.SortStableFunc(f.waiting, func(a, b job) int { return cmp.Compare(a.rank, b.rank) })
	}
}

func (p *pool) ranked() bool {
	return p != nil && (p.policy == forward.PriorityEASY || p.policy == forward.PriorityFCFS)
}

// state writes the pool into a State of the simulator, at an instant.
func (f *poolFacts) state(s *forward.State, at float64) {
	*s = forward.State{Capacity: f.procs, Policy: f.policy, Rho: residual.DefaultRho, Running: s.Running[:0], Waiting: s.Waiting[:0], Outages: s.Outages[:0]}
	used := 0
	for i := range f.running {
		r := &f.running[i]
		s.Running = append(s.Running, forward.Running{
			Key: r.key, Group: r.group, Procs: r.procs, Age: math.Max(0, at-r.start), Limit: r.limit, Law: r.law,
		})
		used += r.procs
	}
	s.Capacity = max(s.Capacity, used)
	for i := range f.waiting {
		w := &f.waiting[i]
		s.Waiting = append(s.Waiting, forward.Waiting{Key: w.key, Group: w.group, Procs: w.procs, Limit: w.limit, Rank: w.rank, Law: w.law})
	}
	for _, o := range f.outages {
		if o.Until > at {
			s.Outages = append(s.Outages, forward.Outage{From: o.From - at, Until: o.Until - at, Procs: o.Procs})
		}
	}
}

// away returns the processors that are away at an instant.
func (f *poolFacts) away(at float64) int {
	n := 0
	for _, o := range f.outages {
		if o.From <= at && at < o.Until {
			n += o.Procs
		}
	}
	return n
}

// mostPriority is the highest priority that is told apart: Slurm's have 32 bits, and what counts before them (tiers) may stand above.
const mostPriority = 1 << 52

// rankOf returns the place of a request in the pool's order, the lower the sooner: by its priority, else by that of its queue.
func (f *poolFacts) rankOf(r *Request) int {
	if f.prioritized && r.Priority > 0 {
		return mostPriority - int(math.Min(r.Priority, mostPriority))
	}
	if f.prioritized {
		return f.likely(r.Queue)
	}
	p := pool{policy: f.policy, order: f.order}
	return p.rank(r.Queue)
}

// likely returns the place of a job of a queue whose priority is not known: that of the queue's newest job that waits, else the last.
func (f *poolFacts) likely(queue string) int {
	rank, newest := mostPriority, uint64(0)
	for i := range f.waiting {
		if w := &f.waiting[i]; w.queue == queue && w.key > newest {
			rank, newest = w.rank, w.key
		}
	}
	return rank
}

// play returns the waits of a request in every replica, sorted, and the plan from the limits; nil and NaN where it cannot be said.
func (f *poolFacts) play(at float64, r *Request, c *scratch) ([]float64, float64) {
	s := &c.state
	f.state(s, at)
	request := forward.Request{Procs: r.Procs, Limit: r.Limit, Rank: f.rankOf(r)}
	request.Behind = s.Behind(request.Rank)
	if r.Procs > s.Capacity {
		return nil, math.NaN()
	}
	waits, err := c.sim.Waits(s, request, replicas, 1, c.waits)
	if err != nil {
		return nil, math.NaN()
	}
	c.waits = waits
	plan, err := c.sim.Plan(s, request)
	if err != nil {
		plan = math.NaN()
	}
	return waits, plan
}

// simulate is play with what is taken from it; nil where it cannot be said.
func (f *poolFacts) simulate(v *View, r *Request, c *scratch) *simulated {
	waits, plan := f.play(v.at, r, c)
	if waits == nil {
		return nil
	}
	return summarize(waits, plan, v.levels)
}

// count fills in what a forecast tells of the jobs ahead.
func (f *poolFacts) count(at float64, r *Request, out *Forecast) {
	ahead := f.ahead
	switch mine := f.rankOf(r); {
	case f.prioritized:
		ahead = amount{}
		for i := range f.waiting {
			if w := &f.waiting[i]; w.rank <= mine {
				ahead.plus(amount{jobs: 1, procs: float64(w.procs)})
			}
		}
	case f.ranks != nil:
		ahead = amount{}
		for queue, a := range f.ranks { // whole numbers: their order does not matter
			if f.rankOf(&Request{Queue: queue}) <= mine {
				ahead.plus(a)
			}
		}
	}
	out.JobsAhead, out.ProcsAhead = int(ahead.jobs), int(ahead.procs)
	out.Free = max(0, f.procs-int(f.inUse.procs)-f.away(at))
	out.Needed = max(0, out.ProcsAhead+r.Procs-out.Free)
}
