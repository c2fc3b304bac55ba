package forward

import (
	"math"

	"github.com/waitcast/waitcast/internal/byend"
)

// ground holds the nodes' state in a replica.
type ground struct {
	free   []room
	parts  []part
	held   []partSpan // range of each job's parts, by the number of the job
	finder finder
	head   reservation
	ends   []byend.Item // planned ends of the running jobs
	open   [2][]int32   // nodes with free processors at the beginning of backfilling, in the orders of nodeScene
	failed []*shape     // shapes that have found no nodes since backfilling began
	shapes [2]shape     // memory for the shapes of two late jobs: the first of the queue, and one that may overtake it
}

// of returns the parts of a running job.
func (g *ground) of(id int32) []part {
	if int(id) >= len(g.held) {
		return nil
	}
	s := g.held[id]
	return g.parts[s.first:s.end]
}

// resetNodes puts the nodes into the scene's state.
func (m *machine) resetNodes() {
	n, g := &m.nodes, &m.ground
	g.free, g.parts = append(g.free[:0], n.free...), append(g.parts[:0], n.parts...)
	g.held = append(g.held[:0], n.held...)
}

// occupy gives a job the nodes that were just chosen.
func (m *machine) occupy(id int32) {
	g := &m.ground
	first := len(g.parts)
	for i := range g.finder.chosen {
		p := &g.finder.chosen[i]
		g.free[p.node].minus(&p.room)
	}
	g.parts = append(g.parts, g.finder.chosen...)
	for len(g.held) <= int(id) {
		g.held = append(g.held, partSpan{})
	}
	g.held[id] = partSpan{int32(first), int32(len(g.parts))} //nolint:gosec // a few for each job
}

// vacate frees the nodes of a job.
func (m *machine) vacate(id int32) {
	parts := m.ground.of(id)
	for i := range parts {
		m.ground.free[parts[i].node].plus(&parts[i].room)
	}
}

// mayArrive reports whether a later arrival with needs would fit on an empty machine. Without needs it returns true,
// because arrive has compared the processors. Invalid needs set m.failed.
func (m *machine) mayArrive(a *Arrival) bool {
	if !m.byNode || a.Needs == nil {
		return true
	}
	if err := a.Needs.check("arrival"); err != nil {
		m.failed = err
		return false
	}
	s := m.nodes.shape(a.Needs, int32(a.Procs)) //nolint:gosec // checked
	return m.ground.finder.find(&m.nodes, &query{shape: &s, free: m.nodes.empty, at: math.Inf(-1)})
}

// shapeOf returns the shape of a waiting job. For a late job it uses the memory in late.
func (m *machine) shapeOf(w *waiter, late *shape) *shape {
	if at := int(w.id) - len(m.state.Running); at < len(m.nodes.shapes) {
		return &m.nodes.shapes[at]
	}
	*late = m.nodes.shape(m.late.jobs[w.late].needs, int32(w.procs)) //nolint:gosec // checked
	return late
}

// queryOf returns the query that asks for nodes for a job of a shape that would start now.
func (m *machine) queryOf(w *waiter, s *shape) query {
	return query{shape: s, at: m.now, plan: w.plan, free: m.ground.free, running: m, until: math.Inf(1)}
}

// passByNode starts the jobs that may start now on the nodes. It corresponds to pass, which considers only
// processors. It reports whether the request has started.
func (m *machine) passByNode() bool {
	m.drops = m.drops[:0]
	h := m.head()
	for h.id != none {
		q := m.queryOf(&h, m.shapeOf(&h, &m.ground.shapes[0]))
		if !m.ground.finder.find(&m.nodes, &q) {
			break
		}
		if m.begin(&h) {
			return true
		}
		h = m.head()
	}
	if h.id == none || !m.backs {
		return false
	}
	most, procs := m.mostFree()
	if procs <= 0 {
		return false
	}
	m.beginBackfill()
	m.reserver = h
	m.reserveNodes(&h)
	return m.backfillByNode(&h, &most, procs)
}

// mostFailed is the maximum number of remembered shapes that found no nodes.
const mostFailed = 8

// beginBackfill lists the nodes that may have room. No node gets more room until the pass is over.
func (m *machine) beginBackfill() {
	g := &m.ground
	g.failed = g.failed[:0]
	for i := range g.open {
		g.open[i] = g.open[i][:0]
		for _, node := range m.nodes.orders[i] {
			if g.free[node].procs > 0 {
				g.open[i] = append(g.open[i], node)
			}
		}
	}
}

// hasFailed reports whether a job that asked for the same or less has found no nodes in this pass.
func (g *ground) hasFailed(s *shape) bool {
	for i := range g.failed {
		if s.asksAtLeast(g.failed[i]) {
			return true
		}
	}
	return false
}

// asksAtLeast reports whether a job requests at least as much as another one, on the same nodes or on fewer.
func (s *shape) asksAtLeast(o *shape) bool {
	return s.needs.Whole == o.needs.Whole && (s.needs.Nodes > 0) == (o.needs.Nodes > 0) &&
		s.needs.Classes&^o.needs.Classes == 0 && s.need.covers(&o.need) && s.share.holds(&o.share) &&
		s.perProc >= o.perProc
}

// mostFree returns the largest free amount of each kind on any node, and the free processors of all nodes.
func (m *machine) mostFree() (most room, procs int64) {
	for i := range m.ground.free {
		r := &m.ground.free[i]
		most = room{max(most.procs, r.procs), max(most.gpus, r.gpus), max(most.memory, r.memory)}
		procs += int64(max(0, r.procs))
	}
	return most, procs
}

// reservation has the nodes that are reserved for the first job, which cannot start now. They are reserved from the
// earliest instant at which the job can start by the plan.
type reservation struct {
	query
	free    []room // free at that instant
	nodes   []bool // by node: whether the job would use it then
	finder  finder
	offered total // what all nodes offer then, except for outages
}

// reserveNodes finds the reservation of a job. Its instant is +Inf if there is none.
func (m *machine) reserveNodes(w *waiter) {
	n, g := &m.nodes, &m.ground
	r := &g.head
	r.free = append(r.free[:0], g.free...)
	r.query = query{shape: m.shapeOf(w, &g.shapes[0]), plan: w.plan, free: r.free, running: m, until: math.Inf(1)}
	r.offered = total{}
	for k := range r.free {
		o := n.offer(r.shape, int32(k), &r.free[k]) //nolint:gosec // at most MostNodes
		r.offered.plus(&o)
	}
	g.ends = g.ends[:0]
	for k := range m.running.Blocks() {
		g.ends = append(g.ends, m.running.Block(k)...)
	}
	reopens := n.reopens
	for i := range g.ends {
		at := g.ends[i].At
		for ; len(reopens) > 0 && reopens[0] < at; reopens = reopens[1:] {
			if reopens[0] > m.now && m.reservedAt(reopens[0]) {
				return
			}
		}
		for _, p := range g.of(g.ends[i].ID) {
			r.change(n, &p, 1)
		}
		if last := i+1 == len(g.ends) || g.ends[i+1].At > at; last && m.reservedAt(at) {
			return
		}
	}
	for _, at := range reopens {
		if at > m.now && m.reservedAt(at) {
			return
		}
	}
	r.at = math.Inf(1)
}

// reservedAt reports whether the reservation is possible at an instant. If so, it makes the reservation.
func (m *machine) reservedAt(at float64) bool {
	n, r := &m.nodes, &m.ground.head
	if r.at = at; math.IsInf(at, 1) || !r.offered.covers(&r.need) || !r.finder.find(n, &r.query) {
		return false
	}
	r.nodes = resize(r.nodes, len(n.has))
	clear(r.nodes)
	for i := range r.finder.chosen {
		r.nodes[r.finder.chosen[i].node] = true
	}
	return true
}

// change adds a part to the free amounts at the reservation, or subtracts it.
func (r *reservation) change(n *nodeScene, p *part, sign int) {
	free := &r.free[p.node]
	o := n.offer(r.shape, p.node, free)
	r.offered.minus(&o)
	if sign > 0 {
		free.plus(&p.room)
	} else {
		free.minus(&p.room)
	}
	o = n.offer(r.shape, p.node, free)
	r.offered.plus(&o)
}

// allows reports whether the reservation still holds if a job has these parts until a given instant. If so, it
// subtracts them from the free amounts at the reservation.
func (r *reservation) allows(n *nodeScene, parts []part, until float64) bool {
	for i := range parts {
		r.change(n, &parts[i], -1)
	}
	ok := r.offered.covers(&r.need)
	if ok && n.closed != nil {
		r.beside, r.until = parts, until
		ok = r.finder.find(n, &r.query)
		r.beside, r.until = nil, math.Inf(1)
	}
	if !ok {
		for i := range parts {
			r.change(n, &parts[i], 1)
		}
	}
	return ok
}

// backfillByNode starts jobs behind the first one that by the plan do not delay it. most is the largest free amount
// of each kind on a node, and procs the number of free processors on all nodes. It reports whether the request has
// started.
func (m *machine) backfillByNode(head *waiter, most *room, procs int64) bool {
	c := cursor{at: head.at + 1}
	if head.late >= 0 {
		c.late = head.late + 1
	}
	for w := m.following(&c); w.id != none; w = m.following(&c) {
		if !m.mayBackfill(&w, most, procs) {
			continue
		}
		if m.begin(&w) {
			return true
		}
	}
	return false
}

// cursor is a place in the queue: among the state's jobs, and among the late ones.
type cursor struct{ at, late int }

// following returns the next job that neither a gate nor a limit keeps from starting. At the end its id is none.
func (m *machine) following(c *cursor) waiter {
	at := m.waiting.after(c.at)
	for at >= 0 && !m.admitted(at) {
		at = m.waiting.after(at)
	}
	late := m.late.jobs
	for c.late = m.late.next(c.late); c.late < len(late) && !m.mayStart(&late[c.late]); {
		c.late = m.late.next(c.late + 1)
	}
	switch {
	case c.late < len(late) && (at < 0 || at >= int(late[c.late].slot)):
		c.late++
		return m.comerAt(c.late - 1)
	case at < 0:
		return waiter{id: none}
	}
	c.at = at + 1
	return m.old(at)
}

// mayBackfill finds nodes for a job such that the job does not delay the first one. It reports whether there are any.
func (m *machine) mayBackfill(w *waiter, most *room, procs int64) bool {
	s, r := m.shapeOf(w, &m.ground.shapes[1]), &m.ground.head
	if !most.holds(&s.share) || s.need.procs > procs || m.nodes.closed == nil && m.ground.hasFailed(s) {
		return false
	}
	q := m.queryOf(w, s)
	q.among = &m.ground.open
	delays := !math.IsInf(r.at, 1) && r.at-m.now < w.plan
	if delays {
		q.last = r.nodes
	}
	if !m.ground.finder.find(&m.nodes, &q) {
		if len(m.ground.failed) < mostFailed && s != &m.ground.shapes[1] {
			m.ground.failed = append(m.ground.failed, s)
		}
		return false
	}
	return !delays || r.allows(&m.nodes, m.ground.finder.chosen, m.now+w.plan)
}
