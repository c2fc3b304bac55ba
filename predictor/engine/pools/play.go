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

// played is the maximum number of running and waiting jobs of a pool in which each request is simulated. In a larger
// pool requests are looked up in tables.
const played = 300

// Facts is a pool at an instant. It is immutable once Freeze has returned it.
type Facts struct {
	Procs        int
	policy       forward.Policy
	source       PolicySource
	order        []string
	outages      []Outage
	inUse, ahead track.Amount            // sums over the running jobs, and over the competing ones
	ranks        map[string]track.Amount // sums of the waiting jobs by queue, if ranks count
	prioritized  bool                    // the ranks come from priorities, not from queues
	newest       map[string]int          // the ranks of the queues' newest jobs, if prioritized
	Large        bool
	Running      []Member // empty for a large pool
	Waiting      []Member
	// queued has the simulated waiting jobs: those of Waiting, and held jobs with a known cause. elsewhere has running
	// jobs in other pools that count in limits, or for whose ends jobs of this pool wait. limited is true if limits
	// apply to jobs of queued.
	queued, elsewhere []Member
	limited           bool
	Surfaces          map[string]*waitSurface // tables of a large pool, by queue
	later             comers
	fitted            *rules.Priority // the fitted order of starts, nil if the policy's order is used
	// Changes of priorities, if the pool is simulated with them; nil if priorities stay constant.
	moves  *PriorityMoves
	others []ownerRate // usage per second of jobs in other pools, if priorities change
	gates  *rules.Gates
	nodes  nodeUse // without Nodes if the nodes are unknown
}

// Member has the attributes of a job for simulations.
type Member struct {
	key, group   uint64 // the job's id plus 1, and the user's number
	number       uint64 // the job's place in the order in which the engine took jobs in
	Procs, rank  int
	Start, Limit float64
	Submit       float64
	Expected     float64 // expected runtime at the submission, in seconds
	Law          *track.Law
	Queue        string
	also         []string // further queues of the pool in which the job may start
	// queueWait, own and use are further inputs of the order of starts, see rules.Job.
	queueWait float32
	own       int32 // number of waiting jobs of the same user ahead
	use       track.RecentUse
	eligible  float64 // instant before which the job cannot start, 0 for none
	bounds    []joblimits.Bound
	// name and array are the names in the job's own request. after has the keys of the jobs that must have ended
	// before the job may start.
	name, array string
	after       []uint64
	belongs     belongs
	tasks       int // number of tasks of an array with a throttle that the job stands for; 0 means 1
	runs        int // number of successive tasks as which the job is simulated; 0 means 1
	asks        track.NodeAsks
	nodeNames   string         // names of the nodes where it runs, separated by commas
	needs       *forward.Needs // its needs of nodes, see Nodes.needs
	on          []int32        // numbers of the nodes where it runs
	owner       int32          // the owner whose usage counts for its priority
	reported    float64        // when its priority was reported
}

// Freeze returns the present state of a pool, which must not be modified. A nil pool means the whole machine.
func (m *Machine) Freeze(p *Pool) *Facts {
	// The number of processors may have changed without an event of this pool.
	if p != nil && p.frozen != nil && p.frozen.Procs == m.capacityOf(p) {
		p.frozen = p.frozen.withPast(&m.tracker.Past)
		return p.frozen
	}
	f := m.factsOf(p)
	if f.policy.ByRank() {
		f.ranks = map[string]track.Amount{}
		for _, name := range p.Queues {
			if q := m.tracker.Queues[name]; q != nil && q.Waiting.Total.Jobs > 0 {
				f.ranks[name] = q.Waiting.Total
			}
		}
	}
	if f.Large = f.inUse.Jobs+f.ahead.Jobs > played; f.Large {
		f.Surfaces = m.Surfaces
		if f.prioritized = m.hasPriorities(p, f); f.prioritized {
			f.policy = forward.PriorityEASY
		}
	} else {
		m.gather(p, f)
	}
	if p != nil {
		p.frozen = f
	}
	return f
}

// factsOf returns the facts of a pool without its jobs. A nil pool means the whole machine.
func (m *Machine) factsOf(p *Pool) *Facts {
	f := &Facts{Procs: m.capacityOf(p), policy: forward.EASY}
	if p != nil {
		f.policy, f.source, f.order, f.outages = p.policy, p.source, p.order, p.Outages
	} else if m.cfg.PolicyKnown && m.cfg.Policy == forward.FCFS {
		f.policy, f.source = m.cfg.Policy, PolicyConfigured
	}
	f.inUse, f.ahead = m.uses(p)
	f.later, f.gates = m.comersOf(p, f), m.Gates.Gates()
	return f
}

// gather adds the jobs of a pool to f, and everything that depends on them.
func (m *Machine) gather(p *Pool, f *Facts) {
	f.Running, f.Waiting = make([]Member, 0, int(f.inUse.Jobs)), make([]Member, 0, int(f.ahead.Jobs))
	for _, r := range m.tracker.RunningJobs {
		if p == nil || m.At(r.QueueState) == p {
			f.Running = append(f.Running, Member{key: r.ID + 1, group: r.UserState.Number, Procs: r.Procs,
				Start: r.Start, Limit: r.Limit, Law: r.Law, Queue: r.Queue, Submit: r.Submit,
				Expected: r.ExpectedRuntime, bounds: r.Bounds, name: r.Name, array: r.Array,
				belongs: belongsOf(&r.Request), asks: r.NodeAsks(), nodeNames: r.NodeNames,
				owner: m.projection.owner(&r.Request)})
			continue
		}
		f.addElsewhere(r)
	}
	if f.prioritized = m.hasPriorities(p, f); f.prioritized {
		f.policy = forward.PriorityEASY
		m.move(p, f)
	}
	if !f.prioritized && !f.Large {
		f.fit(m.Priorities.InForce(p.key()))
	}
	own := map[uint64]int32{}
	for _, w := range m.tracker.Line.Waiting() {
		if p == nil || m.At(w.QueueState) == p {
			j := f.member(w)
			m.addPlaces(p, f, &j, &w.Request)
			j.own, j.owner = own[j.group], m.projection.owner(&w.Request)
			f.Waiting = append(f.Waiting, j)
			own[j.group]++
		}
	}
	if f.prioritized {
		f.later.prioritize(f, m.tracker)
		if f.moves != nil {
			f.later.owners = m.ownersOf(f)
		}
	}
	f.queued = f.Waiting
	m.addKept(p, f)
	f.queued = eachTask(f.queued)
	f.findNeeds(m.nodesOf(p))
	for i := range f.queued {
		f.limited = f.limited || len(f.queued[i].bounds) > 0
	}
	if f.fitted == nil && (f.prioritized || p.ranked()) {
		byRank := func(a, b Member) int { return cmp.Compare(a.rank, b.rank) }
		slices.SortStableFunc(f.Waiting, byRank)
		slices.SortStableFunc(f.queued, byRank)
	}
}

// addKept adds held jobs of a pool to f.queued, if the reason why they are held is known. It adds the oldest of them,
// up to the number played.
func (m *Machine) addKept(p *Pool, f *Facts) {
	kept := 0
	var chain chain
	m.tracker.KeptJobs(func(w *track.Job) bool {
		if p != nil && m.At(w.QueueState) != p {
			return true
		}
		var after []uint64
		if w.Hold.After != "" {
			known := false
			if after, known = chain.link(m, p, f, w.Hold.After); !known {
				return true
			}
		}
		if kept++; kept == 1 {
			f.queued = slices.Clone(f.Waiting)
		}
		j := f.member(w)
		m.addPlaces(p, f, &j, &w.Request)
		j.after, j.owner = after, m.projection.owner(&w.Request)
		f.queued = append(f.queued, j)
		chain.add(w)
		return kept < played
	})
	if kept == 0 {
		return
	}
	slices.SortStableFunc(f.queued, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.number, b.number))
	})
}

// member returns the attributes of a waiting job for simulations.
func (f *Facts) member(w *track.Job) Member {
	u := w.UserState
	return Member{key: w.ID + 1, group: u.Number, number: w.Number, Procs: w.Procs, Limit: w.Limit, Law: w.Law,
		Queue: w.Queue, rank: f.rankOf(&w.Request), Submit: w.Submit, Expected: w.ExpectedRuntime,
		queueWait: queueWait(w.QueueState.Recent.Slow.Value()), use: u.Use, eligible: w.Hold.Until, bounds: w.Bounds,
		tasks: w.Tasks, name: w.Name, array: w.Array, belongs: belongsOf(&w.Request), asks: w.NodeAsks(),
		reported: w.Prioritized}
}

// fit makes simulations of the pool use a fitted priority, unless it is nil or the policy is configured.
func (f *Facts) fit(p *rules.Priority) {
	if p == nil || f.source == PolicyConfigured {
		return
	}
	f.fitted, f.ranks, f.policy, f.source = p, nil, forward.PriorityEASY, PolicyLearnt
	if p.Strict {
		f.policy = forward.PriorityFCFS
	}
}

// hasPriorities reports whether the jobs' own priorities are known and count in a pool. It records the ranks of the
// queues' newest jobs in f.newest.
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

// rankByPriority returns the rank of a priority; lower ranks start sooner.
func rankByPriority(priority float64) int {
	return track.MostPriority - int(math.Min(priority, track.MostPriority))
}

func (p *Pool) ranked() bool { return p != nil && p.policy.ByRank() }

// state writes the pool into a State of the simulator, at an instant, for requests to which no limit applies.
func (f *Facts) state(s *forward.State, at float64) { f.stateFor(s, at, nil) }

// stateFor writes the pool into a State of the simulator, at an instant, with the limits that may keep jobs of the pool
// or a request (nil for none) from starting. It returns the request's amounts in these limits. It leaves out the gates,
// because only the caller knows how exact they must be.
func (f *Facts) stateFor(s *forward.State, at float64, r *RankedRequest) []forward.Holding {
	f = f.withTasks(at, r)
	*s = forward.State{Capacity: f.Procs, Policy: f.policy, Rho: residual.DefaultRho, Running: s.Running[:0],
		Waiting: s.Waiting[:0], Outages: s.Outages[:0], Limits: s.Limits[:0], Nodes: s.Nodes[:0],
		Arrivals: f.arrivals(at, f.playsNodes(r))}
	s.Running, s.Waiting = slices.Grow(s.Running, len(f.Running)), slices.Grow(s.Waiting, len(f.queued))
	used := 0
	for i := range f.Running {
		r := &f.Running[i]
		s.Running = append(s.Running, forward.Running{
			Key: r.key, Group: r.group, Procs: r.Procs, Age: math.Max(0, at-r.Start), Limit: r.Limit, Law: r.Law,
			Owner: r.owner,
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
				Eligible: math.Max(0, w.eligible-at), Rank: f.rankAt(at, w), Law: w.law(), After: w.after,
				Owner: w.owner, Since: w.since() - at})
	}
	f.addNodes(s, r)
	holds := f.applyLimits(s, at, r)
	if len(s.Limits) == 0 && f.isLinked(r) {
		f.addElsewhereTo(s, at, nil)
	}
	if f.moves != nil {
		s.Ranker = &ranker{f.moves, at, f.others}
	}
	if f.fitted != nil || f.moves != nil {
		slices.SortStableFunc(s.Waiting, func(a, b forward.Waiting) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	for i, o := range f.outages {
		if o.Until > at {
			s.Outages = append(s.Outages, forward.Outage{From: o.From - at, Until: o.Until - at, Procs: o.Procs,
				On: f.nodes.closedBy(i)})
		}
	}
	return holds
}

// Available returns the processors of a pool that outages leave at an instant.
func (p *Pool) Available(at float64) int { return max(0, p.Procs-away(p.Outages, at)) }

// away returns the processors that outages take at an instant.
func away(outages []Outage, at float64) int {
	n := 0
	for _, o := range outages {
		if o.From <= at && at < o.Until {
			n += o.Procs
		}
	}
	return n
}

// rankOf returns the place of a request in the pool's order. In a pool with priorities it follows from the request's
// priority, or if that is unknown from the newest job of the queue. In another pool it follows from the queue. A lower
// place means a sooner start.
func (f *Facts) rankOf(r *track.Request) int {
	if f.prioritized && r.Priority > 0 {
		return rankByPriority(r.Priority)
	}
	if f.prioritized {
		return f.likely(r.Queue)
	}
	return rankOfQueue(f.policy, f.order, r.Queue)
}

// rankAt returns the rank of a waiting job. If priorities move, it is the rank as of the scheduler's last computation.
// With a fitted priority it is the rank at the instant. Otherwise it is the rank that the job had when f was made.
func (f *Facts) rankAt(at float64, w *Member) int {
	switch {
	case f.moves != nil:
		return f.moves.rankNow(w)
	case f.fitted == nil:
		return w.rank
	}
	job := w.ruleJob(at)
	return f.fitted.Rank(&job)
}

// rankOfRequest returns the rank of a request. With a fitted priority it is the rank at the instant. Otherwise it is
// the result of rankOf.
func (f *Facts) rankOfRequest(at float64, r *RankedRequest) int {
	if f.fitted == nil {
		return f.rankOf(&r.Request)
	}
	job := r.ruleJob(f, at)
	return f.fitted.Rank(&job)
}

// most returns the maximum number of processors of a request.
func (f *Facts) most() int { return max(f.Procs, int(f.inUse.Procs)) }

// likely returns the rank of a job with an unknown priority. It is the rank of the queue's newest waiting job, or of
// its newest job if none waits. If priorities change, the waiting job counts as if it were submitted now. If no job of
// the queue had a priority, it is the last rank.
func (f *Facts) likely(queue string) int {
	rank, newest := track.MostPriority, uint64(0)
	if known, ok := f.newest[queue]; ok {
		rank = known
	}
	for i := range f.Waiting {
		if w := &f.Waiting[i]; w.Queue == queue && w.key > newest {
			if rank, newest = w.rank, w.key; f.moves != nil {
				rank = f.moves.rankYoung(w)
			}
		}
	}
	return rank
}

// play returns the outcome of a request in every future, and its planned wait, in seconds. The outcomes allow for
// preemption and for nodes reserved for the request, the plan does not. The plan assumes that all jobs run to their
// time limits. play returns nil and NaN if the simulation is impossible.
func (f *Facts) play(at float64, r *RankedRequest, c *Scratch) ([]forward.Future, float64) {
	f = f.withLinked(r)
	s := &c.state
	holds := f.stateFor(s, at, r)
	s.Gates, s.Lifetimes = c.gates.at(f.gates, at), c.lifetimes
	request := forward.Request{Procs: r.Procs, Limit: r.Limit, Rank: f.rankOfRequest(at, r), Owner: f.ownerOf(r),
		Eligible: r.Delay(at), Holds: holds, After: f.after(r), Needs: f.needsOf(r)}
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
	return f.reserve(at, r, f.preempt(at, r, futures, c), c), plan
}

// simulate simulates a request and summarizes the result. It returns nil if that is impossible.
func (f *Facts) simulate(at float64, levels []float64, r *RankedRequest, c *Scratch) *Simulated {
	futures, plan := f.play(at, r, c)
	if futures == nil {
		return nil
	}
	plan = fromBegin(futures, plan, r.Delay(at))
	c.waits = c.waits[:0]
	for i := range futures {
		wait := futures[i].Wait
		if f.fitted != nil {
			wait = f.fitted.Late(wait)
		}
		c.waits = append(c.waits, wait)
	}
	byFuture := slices.Clone(c.waits)
	slices.Sort(c.waits)
	s := summarize(c.waits, plan, levels)
	s.Waits = byFuture
	if len(r.Bounds) > 0 || r.After != "" {
		s.Blocked, s.Shares = blockedQuantiles(futures, levels), blockedShares(futures)
		s.KeptSoon = keptSoon(futures)
		s.Kept = f.KeptByLimit(at, r)
	}
	s.Orders, s.Nodes = f.PlayOrders(at, r, c), f.nodes.Nodes != nil
	s.NoRoom = f.playsNodes(r) && plan > 0
	return s
}

// fromBegin lets waits count from the begin time of a request. It subtracts delay, the seconds until that time, from
// the waits in futures and from a planned wait, which it returns.
func fromBegin(futures []forward.Future, plan, delay float64) float64 {
	if delay == 0 {
		return plan
	}
	for i := range futures {
		f := &futures[i]
		f.Wait, f.Blocked = math.Max(0, f.Wait-delay), math.Max(0, f.Blocked-delay)
	}
	return math.Max(0, plan-delay)
}

// blockedQuantiles returns the quantiles, in seconds, of the part of a wait for which limits or other jobs keep the
// request from competing.
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

// settling is the wait, in seconds, after which schedulers have examined a request. If the request starts earlier,
// the cause of its wait is never reported.
const settling = 3

// keptSoon reports whether limits or other jobs keep the request from competing for most of the first seconds of its
// wait. In at least half of the futures with a wait of at least settling, they must do so for three quarters of
// forward.SoonSeconds, or of the wait if that is shorter.
func keptSoon(futures []forward.Future) bool {
	waits, kept := 0, 0
	for _, f := range futures {
		if f.Wait < settling {
			continue
		}
		if waits++; f.Soon >= .75*math.Min(f.Wait, forward.SoonSeconds) {
			kept++
		}
	}
	return waits > 0 && 2*kept >= waits
}

// blockedShares returns, for each future, the share of the wait for which limits or other jobs keep the request from
// competing. The futures are in the order of their waits.
func blockedShares(futures []forward.Future) []float64 {
	sorted := slices.SortedFunc(slices.Values(futures), func(a, b forward.Future) int {
		return cmp.Or(cmp.Compare(a.Wait, b.Wait), cmp.Compare(a.Blocked, b.Blocked))
	})
	out := make([]float64, len(sorted))
	for i, f := range sorted {
		if f.Wait > 0 {
			out[i] = math.Min(1, f.Blocked/f.Wait)
		}
	}
	return out
}

// Room has the jobs ahead of a request in a pool, and the free processors.
type Room struct {
	// JobsAhead is the number of jobs that go before the request, and ProcsAhead the sum of their processors. Free is
	// the number of free processors. Needed is the number of further processors that must become free for these jobs
	// and the request.
	JobsAhead, ProcsAhead, Free, Needed int
}

// Count counts the jobs that are ahead of a request at an instant, and the free processors.
func (f *Facts) Count(at float64, r *RankedRequest) (out Room) {
	ahead := f.ahead
	switch mine := f.rankOfRequest(at, r); {
	case f.Large && f.prioritized:
		if t := f.table(&r.Request); t != nil && t.next != nil || t != nil && t.ahead.Jobs > 0 {
			ahead = t.ahead
		}
	case f.prioritized || f.fitted != nil:
		ahead = track.Amount{}
		for i := range f.Waiting {
			if w := &f.Waiting[i]; f.rankAt(at, w) <= mine {
				ahead.Plus(track.Amount{Jobs: 1, Procs: float64(w.Procs)})
			}
		}
		for i := range r.Beside {
			if w := &r.Beside[i]; f.rankAt(at, w) <= mine {
				ahead.Plus(track.Amount{Jobs: 1, Procs: float64(w.Procs)})
			}
		}
	case f.ranks != nil:
		ahead = track.Amount{}
		for queue, a := range f.ranks { // the sums are whole numbers, so the order does not matter
			if f.rankOf(&track.Request{Queue: queue}) <= mine {
				ahead.Plus(a)
			}
		}
	}
	out.JobsAhead, out.ProcsAhead = int(ahead.Jobs), int(ahead.Procs)
	out.Free = max(0, f.Free(at))
	out.Needed = max(0, out.ProcsAhead+r.Procs-out.Free)
	return out
}

// Scratch is memory that consecutive simulations reuse.
type Scratch struct {
	// Workers is the number of goroutines that simulate the futures of a request, see forward.Sim.
	Workers int
	// Replicas is the number of simulated futures; 0 means the number for a forecast.
	Replicas int

	sim     forward.Sim
	state   forward.State
	waits   []float64
	futures []forward.Future
	// lifetimes are those of the view's futures while a request is simulated; nil if no other request shares them.
	lifetimes *forward.Lifetimes

	limits, expected []ending

	player rules.Player
	pool   rules.Pool
	gates  knownGates
}

// knownGates caches gates in the form for simulations from one instant on, because all simulations of a request need
// them.
type knownGates struct {
	of      *rules.Gates
	instant float64
	all     []forward.Gate // must not be changed
}

func (k *knownGates) at(of *rules.Gates, at float64) []forward.Gate {
	if k.of != of || k.instant != at {
		*k = knownGates{of, at, of.At(at)}
	}
	return k.all
}

// Ask simulates the pool for a request at an instant, or looks up the simulation of a large pool. The result is nil
// if that is impossible. age is the age of the simulation in seconds, NaN if there is none.
func (f *Facts) Ask(at float64, levels []float64, r *RankedRequest, known *Memo, c *Scratch) (s *Simulated,
	age float64) {
	age = math.NaN()
	if f.Large {
		t := f.table(&r.Request)
		if s = t.find(&r.Request); s != nil {
			age = at - t.At
		}
		return s, age
	}
	q := Question{pool: f, procs: r.Procs, rank: f.rankOfRequest(at, r), limit: r.Limit, queue: r.Queue, user: r.User,
		owner: f.ownerOf(r)}
	if len(r.Bounds) > 0 || r.After != "" || r.Preempts != nil || f.nodes.Nodes != nil || f.isOpen() ||
		r.Begin > 0 {
		q.of = r.limitedBy()
	}
	if s = Ask(known, q, func() *Simulated {
		c.lifetimes = known.lifetimes(f, at)
		defer func() { c.lifetimes = nil }()
		return f.simulate(at, levels, r, c)
	}); s != nil {
		age = 0
	}
	return s, age
}
