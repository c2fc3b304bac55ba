package forward

import (
	"math"
	"runtime"
	"sync/atomic"

	"github.com/waitcast/waitcast/internal/byend"
	"github.com/waitcast/waitcast/internal/quadheap"
)

// machine plays one replica at a time, in memory that it keeps.
type machine struct {
	*scene
	now      float64
	free     int
	stream   uint64
	jobs     []task
	running  byend.List    // the running jobs by their expected ends
	events   quadheap.Heap // the times at which running jobs end, or reach their expected ends
	waiting  lanes
	late     lateQueue // the waiting jobs that came later, and the request; all waiting jobs if ranks move
	searched int       // number of leading late jobs that cannot start any more in this pass
	changed  int       // the index of the next change of the capacity
	unlocked int       // the index in blocked of the job that becomes eligible next
	arrival  Arrival
	arrives  float64 // instant of the next arrival; +Inf if there is none
	next     func() (Arrival, bool)
	horizon  float64
	drops    []drop
	stairs   []stair
	failed   error
	trail    trail
	ranks    moving
	gateNow  []gateState // the gates of the scene's state, by index
	flips    float64     // the instant of the next flip of a gate; +Inf for never
	idle     int         // number of flips since the last other event
	limitNow []limitState
	reserver waiter  // the job that had a reservation in the last pass; its id is none if no job had one
	opens    float64 // the instant at which the work of a limit has fallen so far that a job may start; +Inf for never
	ground   ground
	scores   []float64       // scores of the groups in this replica, NaN if not computed yet, see luck
	drawn    []atomic.Uint64 // cached lifetimes of this replica, by slot; nil for none

	// If the request itself is simulated, requestID is its number, and joinsAt is the instant at which it joins the
	// queue: +Inf if it has joined, or awaits other jobs. Otherwise requestID is none, and probe records what a request
	// could take. ahead is the number of the state's waiting jobs that go before that request.
	requestID int32
	joinsAt   float64
	request   late
	// awaits is true while other jobs must end before the request may compete. eligible is the instant from which it
	// may compete. needNow has, by position, the number of jobs that must still end, as in dependencies.
	awaits   bool
	eligible float64
	needNow  []int32
	// requestHolds has the amounts of the request in limits. shutFor is the number of seconds for which these limits,
	// other jobs or the eligibility have kept the request from starting so far, and shutSoon is the part of it in the
	// first SoonSeconds. shutSince is the instant since which they have kept it without a break, NaN if they do not
	// keep it now.
	requestHolds                 []Holding
	shutFor, shutSoon, shutSince float64
	probe                        *envelope
	drained                      drain
	ahead                        int
	rank                         int  // rank of the requests that the probe stands for
	gate                         int8 // gate of the requests that the probe stands for
}

// late is a job that was not in the state, or any waiting job if ranks move. It has a place among the state's jobs.
type late struct {
	id      int32
	slot    int32 // number of the state's waiting jobs ahead of it
	rank    int
	procs   int32
	plan    float64
	runtime float64
	gate    int8
	left    bool // the job no longer waits, see lateQueue
	needs   *Needs
	// If ranks move, moves and turn determine the place, and slot does not. Jobs of one rank are ordered by turn.
	moves Ranked
	turn  int32
}

// drop is an instant, in seconds from now, at which an outage or the reservation of a waiting job takes processors.
// most is the number of free processors from then on, if running jobs end as planned. The first drop is now.
type drop struct {
	in   float64
	most int
}

const none int32 = -1

// mostArrivals is the maximum number of arrivals in one replica. It ends a stream of arrivals that never progresses
// in time.
const mostArrivals = 1 << 20

// reset puts the machine into the scene's state, with the lifetimes of a replica.
func (m *machine) reset(c *scene, replica int, seed uint64) {
	m.scene = c
	m.now, m.free, m.changed, m.unlocked, m.failed = 0, c.free, 0, 0, nil
	m.stream = mix(mix(seed) + uint64(replica))
	m.trail = trail{roots: m.trail.roots[:0], cause: none}
	m.jobs = append(m.jobs[:0], c.jobs...)
	m.running.CopyFrom(&c.running)
	m.waiting.copyFrom(&c.waiting)
	m.resetGates()
	m.resetLimits()
	if c.byNode {
		m.resetNodes()
	}
	m.late.reset()
	m.requestID, m.joinsAt, m.probe, m.ahead, m.gate = none, math.Inf(1), nil, len(c.state.Waiting), noGate
	m.requestHolds, m.awaits = nil, false
	m.needNow = append(m.needNow[:0], c.dependencies.need...)
	m.resetLuck()
	m.drawn = nil
	if !c.plans {
		m.drawn = c.state.Lifetimes.of(replica, seed)
	}
	m.events = m.events[:0]
	for i := range c.state.Running {
		t := &m.jobs[i]
		t.end = m.lifetime(int32(i))
		m.events = append(m.events, quadheap.Item{At: min(t.end, t.expect), ID: int32(i)})
	}
	m.events.Build()
	m.resetRanks(replica)
	m.next, m.arrives, m.horizon = nil, math.Inf(1), math.Inf(1)
	if c.state.Arrivals != nil && !c.plans {
		m.next = c.state.Arrivals(replica, seed)
		if m.horizon = c.state.Horizon; m.horizon == 0 {
			m.horizon = defaultHorizon
		}
		m.pull()
	}
}

// drawLifetime draws the remaining seconds of a job of the state.
func (m *machine) drawLifetime(id int32) float64 {
	var law Law
	var key, group uint64
	var age, limit float64
	if s := m.state; int(id) < len(s.Running) {
		r := &s.Running[id]
		law, key, group, age, limit = r.Law, r.Key, r.Group, r.Age, r.Limit
	} else {
		w := &s.Waiting[int(id)-len(s.Running)]
		law, key, group, limit = w.Law, w.Key, w.Group, w.Limit
	}
	if m.plans || law == nil {
		return planned(min(m.state.plan(limit), longest), age)
	}
	if key == 0 {
		key = uint64(id) + 1
	}
	u := m.quantile(id, key, group)
	var x float64
	if int(id) < len(m.luck.aged) && m.luck.aged[id].law != nil {
		a := &m.luck.aged[id]
		x = a.law.ResidualOfAged(age, a.part, u)
	} else {
		x = law.Residual(age, u)
	}
	if !(x >= 0) {
		if m.failed == nil {
			m.failed = &LawError{Age: age, U: u, Value: x}
		}
		return 0
	}
	return min(x, longest)
}

// planned returns the rest of a limit. If nothing is left, it returns a minute: the scheduler is about to end the
// job.
func planned(limit, age float64) float64 {
	if left := limit - age; left > 0 {
		return left
	}
	return 60
}

// yieldTurns is the number of instants of a replica after which the goroutine yields to others.
const yieldTurns = 32

// play continues until the request has started, or until no more events can affect it. It returns the start of the
// request, or the horizon if that comes first. It returns +Inf if the request never starts, and NaN after an error.
// With a probe there is no request, and the result has no meaning.
func (m *machine) play() float64 {
	for turn := 1; ; turn++ {
		if turn%yieldTurns == 0 {
			runtime.Gosched() // goroutines that answer requests must not wait for a slice of 10 ms
		}
		m.happen()
		if m.failed != nil {
			return math.NaN()
		}
		if m.pass() {
			m.watch(false)
			return m.now
		}
		m.watch(true)
		if m.isHeadKept() {
			m.opens = m.now
		}
		if m.probe != nil && m.probe.least() >= m.probe.most {
			return math.Inf(1)
		}
		if m.drains() {
			m.drain()
			return math.Inf(1)
		}
		at := min(m.arrives, m.joinsAt, m.opens, m.events.First())
		if m.changed < len(m.changes) {
			at = min(at, m.changes[m.changed].at)
		}
		if m.unlocked < len(m.blocked) {
			at = min(at, m.state.Waiting[m.blocked[m.unlocked]].Eligible)
		}
		if at = m.nextRanks(at); math.IsInf(at, 1) {
			return at
		}
		if at > m.horizon {
			return m.horizon
		}
		m.now = at
		m.trail.cause, m.trail.freed = none, 0
	}
}

// happen processes all due events except starts.
func (m *machine) happen() {
	for m.changed < len(m.changes) && m.changes[m.changed].at <= m.now {
		m.free += m.changes[m.changed].procs
		m.changed++
	}
	// Eligible jobs come before ends. Otherwise an end could let a job compete that becomes eligible now, and it
	// would join twice.
	for m.unlocked < len(m.blocked) && m.state.Waiting[m.blocked[m.unlocked]].Eligible <= m.now {
		m.unlock(int(m.blocked[m.unlocked]))
		m.unlocked++
	}
	for m.events.Due(m.now) {
		id := m.events.Pop().ID
		t := &m.jobs[id]
		m.running.Remove(t.expect, id)
		if m.trail.on {
			m.blame(id, t)
		}
		if t.end <= m.now {
			m.free += int(t.procs)
			if m.byNode {
				m.vacate(id)
			}
			m.count(id, -1)
			m.endRanked(t)
			m.freeNext(id)
			continue
		}
		t.expect = overrun(m.now, t.start)
		m.run(id)
	}
	m.rerank()
	m.flipGates()
	m.openLimits()
	if m.joinsAt <= m.now {
		m.joinsAt = math.Inf(1)
		m.join(m.request)
	}
	for m.arrives <= m.now && m.failed == nil {
		m.arrive()
	}
}

// unlock lets a job of the state compete that was not eligible before, or waited for other jobs.
func (m *machine) unlock(at int) {
	switch {
	case isAwaiting(m.needNow, at):
	case m.moves():
		m.joinRanked(m.rankedJob(at))
	case !park(m.gateNow, m.gateOf, at):
		m.waiting.add(&m.layout, at)
	}
}

// run schedules the next event of a running job.
func (m *machine) run(id int32) {
	t := &m.jobs[id]
	m.running.Add(byend.Item{At: t.expect, ID: id, Held: t.procs})
	m.events.Push(quadheap.Item{At: min(t.end, t.expect), ID: id})
}

// pull sets m.arrival and m.arrives to the next arrival. An invalid arrival sets m.failed.
func (m *machine) pull() {
	a, ok := m.next()
	if !ok {
		m.arrives = math.Inf(1)
		return
	}
	if len(m.jobs) > len(m.scene.jobs)+mostArrivals {
		m.failed = &FieldError{Field: "number of arrivals before the horizon", Value: mostArrivals,
			Need: "a shorter horizon, or fewer"}
		return
	}
	if !isProcs(a.Procs) || !isSeconds(a.Runtime) || !isSeconds(a.Limit) || !isSeconds(a.After) {
		m.failed = &FieldError{Field: "arrival's procs, of one with a limit, a runtime and an interval that must be " +
			"finite from 0,", Value: float64(a.Procs), Need: needProcs}
		return
	}
	m.arrival, m.arrives = a, m.now+a.After
}

// arrive puts the next arrival into the queue, unless the pool never has room for it, and then pulls the one after it.
func (m *machine) arrive() {
	a := &m.arrival
	slot := len(m.state.Waiting) - m.state.Behind(a.Rank)
	rank := 0
	if m.state.Policy.ByRank() {
		rank = a.Rank
	}
	if a.Procs <= m.most && m.mayArrive(a) {
		l := m.comer(late{slot: int32(slot), rank: rank, procs: int32(a.Procs), plan: m.state.plan(a.Limit),
			runtime: a.Runtime, needs: a.Needs, moves: Ranked{a.Rank, a.Owner, m.now}})
		l.turn = m.turnOfArrival(l.id)
		m.join(l)
	}
	m.pull()
}

// comer gives a late job its number and its gate, and returns the job. From now on the flips of that gate count.
func (m *machine) comer(l late) late {
	l.id = int32(len(m.jobs))
	l.gate = m.state.gateOf(l.plan)
	m.activate(l.gate)
	m.jobs = append(m.jobs, task{procs: l.procs, owner: l.moves.Owner})
	return l
}

// before reports whether l goes ahead of a request at a given place.
func (l *late) before(slot, rank int) bool {
	return int(l.slot) < slot || int(l.slot) == slot && l.rank < rank
}

// join puts a late job into the queue, behind all jobs of its place and rank.
func (m *machine) join(l late) {
	if m.moves() {
		m.joinRanked(l)
		return
	}
	m.late.compact(false)
	others := m.late.jobs
	i := len(others)
	for i > 0 && (others[i-1].slot > l.slot || others[i-1].slot == l.slot && others[i-1].rank > l.rank) {
		i--
	}
	m.late.insert(i, l)
}

// addRequest adds the request itself as a job. It joins the queue once it is eligible and the jobs for which it waits
// have ended.
func (m *machine) addRequest(r *Request) {
	rank := 0
	if m.state.Policy.ByRank() {
		rank = r.Rank
	}
	m.request = m.comer(late{
		slot: int32(len(m.state.Waiting) - r.Behind), rank: rank, procs: int32(r.Procs), plan: m.state.plan(r.Limit),
		needs: r.Needs, moves: Ranked{r.Rank, r.Owner, r.Since}, turn: m.turnOf(r.Behind),
	})
	m.requestID, m.joinsAt, m.requestHolds = m.request.id, max(0, r.Eligible), r.Holds
	if n := len(m.state.Waiting); len(m.needNow) > n && m.needNow[n] > 0 {
		m.awaits, m.eligible, m.joinsAt = true, m.joinsAt, math.Inf(1)
	}
}
