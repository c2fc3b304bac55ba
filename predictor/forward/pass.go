package forward

import (
	"math"
	"slices"
)

// waiter is a waiting job in the form that a pass uses.
type waiter struct {
	id    int32
	at    int // position among the state's jobs, -1 for a late job
	late  int // index among the late jobs
	procs int
	plan  float64
}

// head returns the first job of the queue that no gate and no limit keeps from starting. Its id is none if there is no
// such job. It sets aside the state's jobs before it that a limit keeps from starting.
func (m *machine) head() waiter {
	at := m.waiting.first()
	for at >= 0 && !m.admitted(at) {
		at = m.waiting.first()
	}
	if i := m.firstLate(); i >= 0 && (at < 0 || at >= int(m.late.jobs[i].slot)) {
		return m.comerAt(i)
	}
	if at < 0 {
		return waiter{id: none}
	}
	return m.old(at)
}

// firstLate returns the index of the first late job that neither a gate nor a limit keeps from starting, -1 if there
// is none.
func (m *machine) firstLate() int {
	for i := m.late.first(); i < len(m.late.jobs); i = m.late.next(i + 1) {
		if m.mayStart(&m.late.jobs[i]) {
			return i
		}
	}
	return -1
}

// mayStart reports whether neither a gate nor a limit keeps a late job from starting. Arrivals count in no limit. If
// ranks move and the work of the limit falls with time, it lowers m.opens to the instant at which the job may start.
func (m *machine) mayStart(l *late) bool {
	if m.isShut(l.gate) || !m.moves() && l.id != m.requestID {
		return !m.isShut(l.gate)
	}
	h := m.stopper(m.holds(l.id), l.plan)
	if h != nil && m.moves() {
		m.opens = math.Min(m.opens, m.opensAt(h, l.plan))
	}
	return h == nil
}

func (m *machine) old(at int) waiter {
	return waiter{int32(len(m.state.Running) + at), at, -1, int(m.layout.procs[at]), m.layout.plan[at]}
}

func (m *machine) comerAt(i int) waiter {
	l := &m.late.jobs[i]
	return waiter{l.id, -1, i, int(l.procs), l.plan}
}

// isAhead reports whether a job goes ahead of the request that the probe stands for.
func (m *machine) isAhead(w *waiter) bool {
	if w.at >= 0 {
		return w.at < m.ahead
	}
	return m.goesBefore(&m.late.jobs[w.late])
}

// pass starts every job that may start now. It reports whether the request has started. If there is a probe, the probe
// records what a request could take now. With a probe, no job behind that request starts once none ahead of it waits.
func (m *machine) pass() bool {
	m.reserver = waiter{id: none}
	if m.byNode {
		return m.passByNode()
	}
	m.measure()
	probe := m.openProbe()
	if probe != nil {
		probe.root = m.trail.cause
	}
	h := m.head()
	for h.id != none && (probe == nil || m.isAhead(&h)) && m.room(&h) {
		if m.begin(&h) {
			return true
		}
		h = m.head()
	}
	if probe != nil && (h.id == none || !m.isAhead(&h)) {
		m.climb()
		probe.take(m.now, m.stairs)
		return false
	}
	if h.id == none || !m.backs || m.free <= 0 {
		return false
	}
	if m.waiting.smallest(&m.layout) > m.free && m.late.waits == 0 &&
		(probe == nil || probe.least() >= probe.floor(m.free)) {
		return false
	}
	m.reserver = h
	m.reserve(&h)
	m.climb()
	if probe == nil {
		return m.backfill(false)
	}
	m.backfill(true)
	probe.take(m.now, m.stairs)
	if m.ahead < len(m.state.Waiting) || m.late.waits > 0 {
		m.backfill(false)
	}
	return false
}

// openProbe returns the probe. It returns nil if there is none, or if the gate of its requests is shut now.
func (m *machine) openProbe() *envelope {
	if m.isShut(m.gate) {
		return nil
	}
	return m.probe
}

// measure computes the numbers of processors that are free now and at the beginning of each outage. Reservations for
// waiting jobs are not subtracted.
func (m *machine) measure() {
	m.drops = append(m.drops[:0], drop{0, m.free})
	has := m.free
	for _, c := range m.changes[m.changed:] {
		has += c.procs
		if c.procs < 0 {
			m.drops = append(m.drops, drop{c.at - m.now, has + m.running.By(c.at)})
		}
	}
}

// room reports whether a job could start now if no job had a reservation.
func (m *machine) room(w *waiter) bool {
	for i, d := range m.drops {
		if i > 0 && d.in >= w.plan {
			break
		}
		if w.procs > d.most {
			return false
		}
	}
	return true
}

// begin starts a job and returns false. If the job is the request, it changes nothing and returns true.
func (m *machine) begin(w *waiter) bool {
	if w.id == m.requestID {
		return true
	}
	runtime := 0.
	if w.at >= 0 {
		m.waiting.remove(&m.layout, w.at)
		runtime = m.lifetime(w.id)
	} else {
		if runtime = m.late.jobs[w.late].runtime; int(w.id) < len(m.scene.jobs) {
			runtime = m.lifetime(w.id)
		}
		m.late.remove(w.late)
	}
	if m.trail.on {
		m.began(w.id)
	}
	t := &m.jobs[w.id]
	t.start, t.end, t.expect = m.now, m.now+runtime, m.now+w.plan
	if t.expect <= m.now && t.end > m.now {
		t.expect = overrun(m.now, t.start)
	}
	m.free -= w.procs
	if m.byNode {
		m.occupy(w.id)
	}
	m.run(w.id)
	m.count(w.id, 1)
	if m.moves() {
		m.ranks.Started(t.owner, w.procs, m.now)
	}
	for i := range m.drops {
		if i == 0 || m.drops[i].in < w.plan {
			m.drops[i].most -= w.procs
		}
	}
	return false
}

// reserve gives the first job, which cannot start now, a reservation at its earliest start by the plan.
func (m *machine) reserve(w *waiter) {
	at, has := m.earliest(w.procs, w.plan)
	for i := range m.drops {
		if in := m.drops[i].in; i > 0 && in >= at-m.now && in < at-m.now+w.plan {
			m.drops[i].most -= w.procs
		}
	}
	d := drop{min(at-m.now, math.MaxFloat64), has - w.procs}
	i := len(m.drops)
	for i > 1 && m.drops[i-1].in > d.in {
		i--
	}
	m.drops = slices.Insert(m.drops, i, d)
}

// earliest returns the first instant from which a job can hold its processors for its planned runtime, and the number
// of free processors then. The instant is +Inf if there is none.
func (m *machine) earliest(procs int, plan float64) (at float64, has int) {
	base, from := m.free, m.now
	ahead := m.changes[m.changed:]
	for {
		at, freed := from, -1
		if base < procs {
			if t, sum := m.running.When(procs - base); t >= from {
				at, freed = t, sum
			}
		}
		past := 0 // number of changes that are still to be passed
		if len(ahead) > 0 {
			if past = 1; at < ahead[0].at {
				past = m.collision(ahead, base, at+plan, procs)
			}
		}
		if past == 0 {
			if freed < 0 {
				freed = m.running.By(at)
			}
			return at, base + freed
		}
		for _, c := range ahead[:past] {
			base, from = base+c.procs, c.at
		}
		ahead = ahead[past:]
	}
}

// collision looks for the first of the changes ahead, before the instant until, after which too few processors are
// free. It returns one more than the index of that change, 0 if there is none.
func (m *machine) collision(ahead []change, base int, until float64, procs int) int {
	for i, c := range ahead {
		if c.at >= until {
			break
		}
		if base += c.procs; base+m.running.By(c.at) < procs {
			return i + 1
		}
	}
	return 0
}

// climb computes m.stairs, the requests that may start now, from m.drops.
func (m *machine) climb() {
	m.stairs = m.stairs[:0]
	most := m.drops[0].most
	for i := range m.drops {
		most = min(most, m.drops[i].most)
		within := math.Inf(1)
		if i+1 < len(m.drops) {
			within = m.drops[i+1].in
		}
		if n := len(m.stairs); n > 0 && m.stairs[n-1].most == most {
			m.stairs[n-1].within = within
			continue
		}
		m.stairs = append(m.stairs, stair{within, most})
	}
}

// backfill starts jobs behind the first one if the stairs allow it. If bounded is set, it starts only jobs ahead of
// the probe. It reports whether the request has started.
func (m *machine) backfill(bounded bool) bool {
	m.searched = 0
	for m.stairs[0].most > 0 {
		w := m.candidate(bounded)
		if w.id == none {
			return false
		}
		if m.begin(&w) {
			return true
		}
		m.climb()
	}
	return false
}

// candidate returns the first job that may start by the stairs. That is never the head, which had no room even without
// the stairs. Within a pass the stairs only fall and the limits only fill. So late jobs that could not start are not
// examined again.
func (m *machine) candidate(bounded bool) waiter {
	bound := len(m.state.Waiting)
	if bounded {
		bound = m.ahead
	}
	at := m.waiting.search(&m.layout, m.stairs, bound)
	for at >= 0 && !m.admitted(at) {
		at = m.waiting.search(&m.layout, m.stairs, bound)
	}
	i := &m.searched
	for *i = m.late.fitting(*i, m.stairs); *i < len(m.late.jobs); *i = m.late.fitting(*i+1, m.stairs) {
		l := &m.late.jobs[*i]
		if at >= 0 && at < int(l.slot) || bounded && !m.goesBefore(l) {
			break
		}
		if m.mayStart(l) {
			return m.comerAt(*i)
		}
	}
	if at < 0 {
		return waiter{id: none}
	}
	return m.old(at)
}
