package forward

import (
	"math"
	"runtime"
	"slices"

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
	running  byend.List    // by their expected ends
	events   quadheap.Heap // when those that run end, or reach their expected ends
	waiting  lanes
	late     []late // those that wait and came later, or are the request, in the order of the queue
	changed  int    // index of the next change of the capacity
	unlocked int    // index of the next blocked job
	arrival  Arrival
	arrives  float64 // when; +Inf for none
	next     func() (Arrival, bool)
	horizon  float64
	drops    []drop
	stairs   []stair
	failed   error
	trail    trail
	gateNow  []gateState // those of the scene's state, by index
	flips    float64     // when a gate opens or closes next; +Inf for never
	idle     int         // flips since something else happened
	limitNow []limitState
	opens    float64 // when the work of a limit will have fallen so far that a job may start; +Inf for never

	// asked is the number of the request, if it is in the queue itself, and asks when that becomes eligible. Else probe
	// receives what the request, which is behind ahead of the jobs that wait, could take.
	asked   int32
	asks    float64
	request late
	// requestHolds is what it counts for in limits. shutFor is for how many seconds these, or its eligibility, have
	// kept it from starting, shutSince since when they do; NaN where they do not.
	requestHolds       []Holding
	shutFor, shutSince float64
	probe              *envelope
	ahead              int
	rank               int  // of the request
	gate               int8 // of the requests that the probe stands for
}

// late is a job that was not in the state, at a place among those that were.
type late struct {
	id      int32
	slot    int32 // how many of the state's waiting jobs come before
	rank    int
	procs   int32
	plan    float64
	runtime float64
	gate    int8
}

// drop is an instant, in seconds from now, at which processors will be taken, by the plan, and what is free then; the
// first is now.
type drop struct {
	in   float64
	most int
}

const none int32 = -1

// mostArrivals is how many arrivals one replica may have: a stream that never gets on must not hang it.
const mostArrivals = 1 << 20

// reset puts it into the scene's state, with the lifetimes of a replica.
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
	m.late = m.late[:0]
	m.asked, m.asks, m.probe, m.ahead, m.gate = none, math.Inf(1), nil, len(c.state.Waiting), noGate
	m.requestHolds = nil
	m.events = m.events[:0]
	for i := range c.state.Running {
		t := &m.jobs[i]
		t.end = m.lifetime(int32(i))
		m.events = append(m.events, quadheap.Item{At: min(t.end, t.expect), ID: int32(i)})
	}
	m.events.Build()
	m.next, m.arrives, m.horizon = nil, math.Inf(1), math.Inf(1)
	if c.state.Arrivals != nil && !c.plans {
		m.next = c.state.Arrivals(replica, seed)
		if m.horizon = c.state.Horizon; m.horizon == 0 {
			m.horizon = defaultHorizon
		}
		m.pull()
	}
}

// lifetime returns the seconds that a job of the state goes on for.
func (m *machine) lifetime(id int32) float64 {
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
	u := quantile(m.stream, key, group, m.state.Rho)
	x := law.Residual(age, u)
	if !(x >= 0) {
		if m.failed == nil {
			m.failed = &LawError{Age: age, U: u, Value: x}
		}
		return 0
	}
	return min(x, longest)
}

// planned returns what is left of a limit; a minute where nothing is: the scheduler is about to end the job.
func planned(limit, age float64) float64 {
	if left := limit - age; left > 0 {
		return left
	}
	return 60
}

// yieldTurns is after how many instants of a replica others may run.
const yieldTurns = 32

// play goes on until the request has started, or nothing more can happen to it; it returns when the request started,
// +Inf for never. With a probe there is no request and no answer.
func (m *machine) play() float64 {
	for turn := 1; ; turn++ {
		if turn%yieldTurns == 0 {
			runtime.Gosched() // who answers requests must not wait for the scheduler's 10 ms slice to be over
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
		if m.probe != nil && m.probe.least() >= m.probe.most {
			return math.Inf(1)
		}
		at := min(m.arrives, m.asks, m.opens, m.events.First())
		if m.changed < len(m.changes) {
			at = min(at, m.changes[m.changed].at)
		}
		if m.unlocked < len(m.blocked) {
			at = min(at, m.state.Waiting[m.blocked[m.unlocked]].Eligible)
		}
		if at = m.orFlip(at); math.IsInf(at, 1) {
			return at
		}
		if at > m.horizon {
			return m.horizon
		}
		m.now = at
		m.trail.cause, m.trail.freed = none, 0
	}
}

// happen lets everything happen that is due, but for starts.
func (m *machine) happen() {
	for m.changed < len(m.changes) && m.changes[m.changed].at <= m.now {
		m.free += m.changes[m.changed].procs
		m.changed++
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
			m.count(id, -1)
			continue
		}
		t.expect = overrun(m.now, t.start)
		m.run(id)
	}
	m.flipGates()
	m.openLimits()
	for m.unlocked < len(m.blocked) && m.state.Waiting[m.blocked[m.unlocked]].Eligible <= m.now {
		if at := int(m.blocked[m.unlocked]); !park(m.gateNow, m.gateOf, at) {
			m.waiting.add(&m.layout, at)
		}
		m.unlocked++
	}
	if m.asks <= m.now {
		m.asks = math.Inf(1)
		m.join(m.request)
	}
	for m.arrives <= m.now && m.failed == nil {
		m.arrive()
	}
}

// run notes when something happens next to a job that runs.
func (m *machine) run(id int32) {
	t := &m.jobs[id]
	m.running.Add(byend.Item{At: t.expect, ID: id, Held: t.procs})
	m.events.Push(quadheap.Item{At: min(t.end, t.expect), ID: id})
}

// pull asks for the next arrival.
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

// arrive lets the next arrival join the queue.
func (m *machine) arrive() {
	a := &m.arrival
	slot := len(m.state.Waiting) - m.state.Behind(a.Rank)
	rank := 0
	if m.state.Policy.ranked() {
		rank = a.Rank
	}
	if a.Procs <= m.most {
		m.join(m.comer(late{slot: int32(slot), rank: rank, procs: int32(a.Procs), plan: m.state.plan(a.Limit),
			runtime: a.Runtime}))
	}
	m.pull()
}

// comer gives a late job its number.
func (m *machine) comer(l late) late {
	l.id = int32(len(m.jobs))
	l.gate = m.state.gateOf(l.plan)
	m.activate(l.gate)
	m.jobs = append(m.jobs, task{procs: l.procs})
	return l
}

// before reports whether l goes before a request at such a place.
func (l *late) before(slot, rank int) bool {
	return int(l.slot) < slot || int(l.slot) == slot && l.rank < rank
}

// join puts a late job into the queue: behind all of its place and rank.
func (m *machine) join(l late) {
	i := len(m.late)
	for i > 0 && (m.late[i-1].slot > l.slot || m.late[i-1].slot == l.slot && m.late[i-1].rank > l.rank) {
		i--
	}
	m.late = slices.Insert(m.late, i, l)
}

// ask puts the request itself into the queue.
func (m *machine) ask(r *Request) {
	rank := 0
	if m.state.Policy.ranked() {
		rank = r.Rank
	}
	m.request = m.comer(late{
		slot: int32(len(m.state.Waiting) - r.Behind), rank: rank, procs: int32(r.Procs), plan: m.state.plan(r.Limit),
	})
	m.asked, m.asks, m.requestHolds = m.request.id, max(0, r.Eligible), r.Holds
}
