package pools

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/residual"
)

// played is the most jobs that a pool may have, running and waiting, for each request to be played itself; in larger
// ones it is looked up.
const played = 300

// Facts is a pool at an instant.
type Facts struct {
	Procs        int
	policy       forward.Policy
	source       PolicySource
	order        []string
	outages      []Outage
	inUse, ahead track.Amount
	ranks        map[string]track.Amount // what waits by queue, where ranks count
	prioritized  bool                    // ranks are those of priorities, not of queues
	newest       map[string]int          // ranks of the queues' newest jobs, where prioritized
	Large        bool
	Running      []Member // of a pool that is not large
	Waiting      []Member
	// queued is those that simulations play: Waiting, and held ones of which it is known what keeps them; elsewhere is
	// the jobs that run in other pools and count in limits. limited is whether limits hold for jobs of queued.
	queued, elsewhere []Member
	limited           bool
	Surfaces          map[string]*waitSurface // of a large one, by queue
	later             comers
	fitted            *rules.Priority // the order of starts where it was fitted, nil where it is policy's
	gates             *rules.Gates
}

// Member is what a simulation needs of a job.
type Member struct {
	key, group   uint64
	number       uint64 // in the order in which jobs were taken in
	Procs, rank  int
	Start, Limit float64
	Submit       float64
	Expected     float64 // the runtime that was expected at the submission, in seconds
	Law          *track.Law
	Queue        string
	// what the rules need beside it
	queueWait float32
	own       int32 // jobs of the same user that wait ahead
	use       track.RecentUse
	eligible  float64 // when it may start at the earliest, in seconds; 0 for now
	bounds    []joblimits.Bound
}

// Freeze returns a pool as it is, not to be changed; nil is the whole machine.
func (m *Machine) Freeze(p *Pool) *Facts {
	procs := m.capacityOf(p)
	if p != nil && p.frozen != nil && p.frozen.Procs == procs { // that of the machine changes without an event here
		return p.frozen
	}
	f := &Facts{Procs: procs, policy: forward.EASY}
	if p != nil {
		f.policy, f.source, f.order, f.outages = p.policy, p.source, p.order, p.Outages
	} else if m.cfg.PolicyKnown && m.cfg.Policy == forward.FCFS {
		f.policy, f.source = m.cfg.Policy, PolicyConfigured
	}
	f.inUse, f.ahead = m.uses(p)
	if f.policy == forward.PriorityEASY || f.policy == forward.PriorityFCFS {
		f.ranks = map[string]track.Amount{}
		for _, name := range p.Queues {
			if q := m.tracker.Queues[name]; q != nil && q.Waiting.Total.Jobs > 0 {
				f.ranks[name] = q.Waiting.Total
			}
		}
	}
	f.later, f.gates = m.comersOf(p, f), m.Gates.Gates()
	if f.Large = f.inUse.Jobs+f.ahead.Jobs > played; f.Large {
		f.Surfaces = m.Surfaces
	} else {
		m.gather(p, f)
	}
	if p != nil {
		p.frozen = f
	}
	return f
}

// gather lists the jobs of a pool.
func (m *Machine) gather(p *Pool, f *Facts) {
	f.Running, f.Waiting = make([]Member, 0, int(f.inUse.Jobs)), make([]Member, 0, int(f.ahead.Jobs))
	for _, r := range m.tracker.RunningJobs {
		if p == nil || m.At(r.QueueState) == p {
			f.Running = append(f.Running, Member{key: r.ID + 1, group: r.UserState.Number, Procs: r.Procs,
				Start: r.Start, Limit: r.Limit, Law: r.Law, Queue: r.Queue, Submit: r.Submit,
				Expected: r.ExpectedRuntime, bounds: r.Bounds})
			continue
		}
		f.addElsewhere(r)
	}
	if f.prioritized = m.hasPriorities(p, f); f.prioritized {
		f.policy = forward.PriorityEASY
	}
	if !f.prioritized && !f.Large {
		f.fit(m.Priorities.InForce(p.key()))
	}
	own := map[uint64]int32{}
	for _, w := range m.tracker.Line.Waiting() {
		if p == nil || m.At(w.QueueState) == p {
			j := f.member(w)
			j.own = own[j.group]
			f.Waiting = append(f.Waiting, j)
			own[j.group]++
		}
	}
	if f.prioritized {
		f.later.prioritize(f, m.tracker)
	}
	f.queued = f.Waiting
	m.addKept(p, f)
	for i := range f.queued {
		f.limited = f.limited || len(f.queued[i].bounds) > 0
	}
	if f.fitted == nil && (f.prioritized || p.ranked()) {
		byRank := func(a, b Member) int { return cmp.Compare(a.rank, b.rank) }
		slices.SortStableFunc(f.Waiting, byRank)
		slices.SortStableFunc(f.queued, byRank)
	}
}

// addKept puts the held jobs of a pool of which it is known what keeps them among those that are played: the oldest, as
// many as a pool may have that is not large.
func (m *Machine) addKept(p *Pool, f *Facts) {
	kept := 0
	m.tracker.KeptJobs(func(w *track.Job) bool {
		if p != nil && m.At(w.QueueState) != p {
			return true
		}
		if kept++; kept == 1 {
			f.queued = slices.Clone(f.Waiting)
		}
		f.queued = append(f.queued, f.member(w))
		return kept < played
	})
	if kept == 0 {
		return
	}
	slices.SortStableFunc(f.queued, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.number, b.number))
	})
}

// member returns a job that waits as simulations need it.
func (f *Facts) member(w *track.Job) Member {
	u := w.UserState
	return Member{key: w.ID + 1, group: u.Number, number: w.Number, Procs: w.Procs, Limit: w.Limit, Law: w.Law,
		Queue: w.Queue, rank: f.rankOf(&w.Request), Submit: w.Submit, Expected: w.ExpectedRuntime,
		queueWait: queueWait(w.QueueState.Recent.Slow.Value()), use: u.Use, eligible: w.Hold.Until, bounds: w.Bounds}
}

// fit lets the pool be played by a fitted priority, unless that is nil or its policy is configured.
func (f *Facts) fit(p *rules.Priority) {
	if p == nil || f.source == PolicyConfigured {
		return
	}
	f.fitted, f.ranks, f.policy, f.source = p, nil, forward.PriorityEASY, PolicyLearnt
	if p.Strict {
		f.policy = forward.PriorityFCFS
	}
}

// hasPriorities reports whether the jobs' own priorities are known and count in a pool, and notes those of the queues'
// newest jobs.
func (m *Machine) hasPriorities(p *Pool, f *Facts) bool {
	if !f.byPriority() {
		return false
	}
	for name, q := range m.tracker.Queues {
		if q.NewestPriority > 0 && (p == nil || m.At(q) == p) {
			if f.newest == nil {
				f.newest = map[string]int{}
			}
			f.newest[name] = rankByPriority(q.NewestPriority)
		}
	}
	return f.newest != nil
}

// rankByPriority returns the place of a job of a priority: the lower the sooner.
func rankByPriority(priority float64) int {
	return track.MostPriority - int(math.Min(priority, track.MostPriority))
}

func (p *Pool) ranked() bool {
	return p != nil && (p.policy == forward.PriorityEASY || p.policy == forward.PriorityFCFS)
}

// state writes the pool into a State of the simulator, at an instant, for requests that no limit holds for.
func (f *Facts) state(s *forward.State, at float64) { f.stateFor(s, at, nil) }

// stateFor writes the pool into a State of the simulator, at an instant, with the limits that may bind for a request
// (nil for none), and returns what that would have of them. It leaves out the gates: its callers know how fine they
// need them.
func (f *Facts) stateFor(s *forward.State, at float64, r *RankedRequest) []forward.Holding {
	*s = forward.State{Capacity: f.Procs, Policy: f.policy, Rho: residual.DefaultRho, Running: s.Running[:0],
		Waiting: s.Waiting[:0], Outages: s.Outages[:0], Limits: s.Limits[:0], Arrivals: f.arrivals(at)}
	used := 0
	for i := range f.Running {
		r := &f.Running[i]
		s.Running = append(s.Running, forward.Running{
			Key: r.key, Group: r.group, Procs: r.Procs, Age: math.Max(0, at-r.Start), Limit: r.Limit, Law: r.Law,
		})
		used += r.Procs
	}
	if f.fitted != nil {
		s.Capacity = f.fitted.Processors(s.Capacity)
	}
	s.Capacity = max(s.Capacity, used)
	for i := range f.queued {
		w := &f.queued[i]
		s.Waiting = append(s.Waiting,
			forward.Waiting{Key: w.key, Group: w.group, Procs: w.Procs, Limit: w.Limit,
				Eligible: math.Max(0, w.eligible-at), Rank: f.rankAt(at, w), Law: w.Law})
	}
	var holds []forward.Holding
	if r != nil {
		holds = f.applyLimits(s, at, r.Bounds, r.Limit)
	} else {
		f.applyLimits(s, at, nil, 0)
	}
	if f.fitted != nil {
		slices.SortStableFunc(s.Waiting, func(a, b forward.Waiting) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	for _, o := range f.outages {
		if o.Until > at {
			s.Outages = append(s.Outages, forward.Outage{From: o.From - at, Until: o.Until - at, Procs: o.Procs})
		}
	}
	return holds
}

// away returns the processors that are away at an instant.
func (f *Facts) away(at float64) int { return away(f.outages, at) }

func away(outages []Outage, at float64) int {
	n := 0
	for _, o := range outages {
		if o.From <= at && at < o.Until {
			n += o.Procs
		}
	}
	return n
}

// rankOf returns the place of a request in the pool's order, the lower the sooner: by its priority, else by that of its
// queue.
func (f *Facts) rankOf(r *track.Request) int {
	if f.prioritized && r.Priority > 0 {
		return rankByPriority(r.Priority)
	}
	if f.prioritized {
		return f.likely(r.Queue)
	}
	p := Pool{policy: f.policy, order: f.order}
	return p.rank(r.Queue)
}

// rankAt returns the place of a job that waits at an instant.
func (f *Facts) rankAt(at float64, w *Member) int {
	if f.fitted == nil {
		return w.rank
	}
	job := w.ruleJob(at)
	return f.fitted.Rank(&job)
}

// rankOfRequest returns the place of a request at an instant.
func (f *Facts) rankOfRequest(at float64, r *RankedRequest) int {
	if f.fitted == nil {
		return f.rankOf(&r.Request)
	}
	job := r.ruleJob(f, at)
	return f.fitted.Rank(&job)
}

// most returns the most processors that a request can have.
func (f *Facts) most() int { return max(f.Procs, int(f.inUse.Procs)) }

// likely returns the place of a job of a queue whose priority is not known: that of the queue's newest job that waits,
// else of its newest job, else the last.
func (f *Facts) likely(queue string) int {
	rank, newest := track.MostPriority, uint64(0)
	if known, ok := f.newest[queue]; ok {
		rank = known
	}
	for i := range f.Waiting {
		if w := &f.Waiting[i]; w.Queue == queue && w.key > newest {
			rank, newest = w.rank, w.key
		}
	}
	return rank
}

// play returns what becomes of a request in every replica, and the plan from the limits; nil and NaN if the simulation
// is not possible.
func (f *Facts) play(at float64, r *RankedRequest, c *Scratch) ([]forward.Future, float64) {
	s := &c.state
	holds := f.stateFor(s, at, r)
	s.Gates = c.gates.at(f.gates, at)
	request := forward.Request{Procs: r.Procs, Limit: r.Limit, Rank: f.rankOfRequest(at, r), Holds: holds}
	request.Behind = s.Behind(request.Rank)
	if r.Procs > f.most() {
		return nil, math.NaN()
	}
	s.Capacity = max(s.Capacity, r.Procs)
	c.sim.Workers = c.Workers
	futures, err := c.sim.Futures(s, request, cmp.Or(c.Replicas, replicas), 1, c.futures)
	if err != nil {
		return nil, math.NaN()
	}
	c.futures = futures
	plan, err := c.sim.Plan(s, request)
	if err != nil {
		plan = math.NaN()
	}
	return futures, plan
}

// simulate plays a request and summarizes the result; nil if that is not possible.
func (f *Facts) simulate(at float64, levels []float64, r *RankedRequest, c *Scratch) *Simulated {
	futures, plan := f.play(at, r, c)
	if futures == nil {
		return nil
	}
	c.waits = c.waits[:0]
	for i := range futures {
		wait := futures[i].Wait
		if f.fitted != nil {
			wait = f.fitted.Late(wait)
		}
		c.waits = append(c.waits, wait)
	}
	slices.Sort(c.waits)
	s := summarize(c.waits, plan, levels)
	if len(r.Bounds) > 0 {
		s.Blocked = blockedQuantiles(futures, levels)
	}
	s.Orders = f.PlayOrders(at, r, c)
	return s
}

// blockedQuantiles returns the quantiles of the part of a wait for which limits keep the request from starting, in
// seconds.
func blockedQuantiles(futures []forward.Future, levels []float64) []float64 {
	blocked := make([]float64, len(futures))
	for i := range futures {
		blocked[i] = futures[i].Blocked
	}
	slices.Sort(blocked)
	out := make([]float64, len(levels))
	for i, level := range levels {
		out[i] = QuantileOf(blocked, level)
	}
	return out
}

// Room is what is ahead of a request in a pool.
type Room struct {
	// JobsAhead and ProcsAhead are the jobs that go before the request and their processors, Free the free processors,
	// Needed how many more must become free for all of them and the request.
	JobsAhead, ProcsAhead, Free, Needed int
}

// Count returns what is ahead of a request at an instant.
func (f *Facts) Count(at float64, r *RankedRequest) (out Room) {
	ahead := f.ahead
	switch mine := f.rankOfRequest(at, r); {
	case f.prioritized || f.fitted != nil:
		ahead = track.Amount{}
		for i := range f.Waiting {
			if w := &f.Waiting[i]; f.rankAt(at, w) <= mine {
				ahead.Plus(track.Amount{Jobs: 1, Procs: float64(w.Procs)})
			}
		}
	case f.ranks != nil:
		ahead = track.Amount{}
		for queue, a := range f.ranks { // whole numbers: their order does not matter
			if f.rankOf(&track.Request{Queue: queue}) <= mine {
				ahead.Plus(a)
			}
		}
	}
	out.JobsAhead, out.ProcsAhead = int(ahead.Jobs), int(ahead.Procs)
	out.Free = max(0, f.Procs-int(f.inUse.Procs)-f.away(at))
	out.Needed = max(0, out.ProcsAhead+r.Procs-out.Free)
	return out
}

// Scratch is memory that simulations share, one at a time.
type Scratch struct {
	// Workers is how many goroutines play the futures of a request, see forward.Sim.
	Workers int
	// Replicas is how many futures are played; 0: as many as a forecast has.
	Replicas int

	sim     forward.Sim
	state   forward.State
	waits   []float64
	futures []forward.Future

	limits, expected []ending

	player rules.Player
	pool   rules.Pool
	gates  knownGates
}

// knownGates is gates as they are from an instant on, which the simulations of a request all need.
type knownGates struct {
	of      *rules.Gates
	instant float64
	all     []forward.Gate // not to be changed
}

func (k *knownGates) at(of *rules.Gates, at float64) []forward.Gate {
	if k.of != of || k.instant != at {
		*k = knownGates{of, at, of.At(at)}
	}
	return k.all
}

// Ask plays the pool forward for a request at an instant, or looks up what was played of a large pool. The result is
// nil where that is not possible; age is that of the simulation in seconds, NaN for none.
func (f *Facts) Ask(at float64, levels []float64, r *RankedRequest, known *Memo, c *Scratch) (s *Simulated,
	age float64) {
	age = math.NaN()
	if f.Large {
		t := f.Surfaces[r.Queue]
		if s = t.find(&r.Request); s != nil {
			age = at - t.At
		}
		return s, age
	}
	q := Question{pool: f, procs: r.Procs, rank: f.rankOfRequest(at, r), limit: r.Limit, queue: r.Queue, user: r.User}
	if len(r.Bounds) > 0 {
		q.of = r.limitedBy()
	}
	if s = Ask(known, q, func() *Simulated { return f.simulate(at, levels, r, c) }); s != nil {
		age = 0
	}
	return s, age
}
