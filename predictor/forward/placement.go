package forward

import "math"

// total has the amounts that several nodes together offer a job, or that a job needs.
type total struct{ nodes, procs, gpus, memory int64 }

func (t *total) plus(o *total) {
	t.nodes, t.procs, t.gpus, t.memory = t.nodes+o.nodes, t.procs+o.procs, t.gpus+o.gpus, t.memory+o.memory
}

func (t *total) minus(o *total) {
	t.nodes, t.procs, t.gpus, t.memory = t.nodes-o.nodes, t.procs-o.procs, t.gpus-o.gpus, t.memory-o.memory
}

// covers reports whether t satisfies a need.
func (t *total) covers(need *total) bool {
	return t.nodes >= need.nodes && t.procs >= need.procs && t.gpus >= need.gpus && t.memory >= need.memory
}

// shape has the amounts that a job needs in all and on each node, and the order in which it takes nodes.
type shape struct {
	needs   *Needs
	need    total
	share   room  // amounts on each node, for a job on a fixed number of nodes
	all     room  // amounts of such a job on all nodes
	perProc int64 // bytes per processor, for a job on any number of nodes
	order   uint8 // index of the order in which it takes nodes
}

// shape returns the shape of a job of some processors. Without needs only the processors count.
func (n *nodeScene) shape(d *Needs, procs int32) shape {
	d = n.needsOf(d)
	s := shape{needs: d, order: uint8(min(1, d.GPUs))} //nolint:gosec // 0 or 1
	switch {
	case d.Whole:
		s.need = total{int64(max(1, d.Nodes)), int64(procs), int64(d.GPUs), d.Memory}
	case d.Nodes > 0:
		s.all = room{procs, int32(d.GPUs), d.Memory}
		s.share, s.need.nodes = shareOf(s.all, int32(d.Nodes)), int64(d.Nodes)
	default:
		s.need.procs, s.perProc = int64(procs), (d.Memory+int64(procs)-1)/int64(max(1, procs))
	}
	return s
}

// offer returns the amounts that a node with the given room offers a job.
func (n *nodeScene) offer(s *shape, node int32, r *room) (t total) {
	if s.needs.Classes>>n.class[node]&1 == 0 {
		return t
	}
	switch {
	case s.needs.Whole:
		if *r == n.has[node] {
			t = total{1, int64(r.procs), int64(r.gpus), r.memory}
		}
	case s.needs.Nodes > 0:
		if r.holds(&s.share) {
			t.nodes = 1
		}
	case r.procs > 0:
		if t.procs = int64(r.procs); s.perProc > 0 {
			t.procs = min(t.procs, max(0, r.memory)/s.perProc)
		}
	}
	return t
}

// query is a job to be placed at an instant, for its planned runtime.
type query struct {
	*shape
	at, plan float64
	free     []room      // free at that instant, by node
	among    *[2][]int32 // the nodes in the orders of nodeScene, except for some that offer nothing; nil for all
	last     []bool      // nodes that are used only if the others do not suffice; nil for none
	// running has the running jobs. Their planned ends free more room before later outages. beside has the parts that
	// another job would take until the instant until; they become free then, too.
	running *machine
	beside  []part
	until   float64
}

// finder finds nodes for jobs. It reuses its memory.
type finder struct{ chosen []part }

// find chooses the nodes of a job: the first ones, in the job's order, with room for its planned runtime. The nodes of
// q.last come after all others. f.chosen then has the parts. find reports whether they suffice.
func (f *finder) find(n *nodeScene, q *query) bool {
	f.chosen = f.chosen[:0]
	left := q.need
	rest := q.all
	among := q.among
	if among == nil {
		among = &n.orders
	}
	for _, last := range []bool{false, true} {
		if last && q.last == nil {
			break
		}
		for _, node := range among[q.order] {
			if q.last != nil && q.last[node] != last {
				continue
			}
			r := q.room(n, node)
			offer := n.offer(q.shape, node, &r)
			if offer == (total{}) {
				continue
			}
			f.take(n, q, node, &offer, &left, &rest)
			if left.minus(&offer); left.nodes <= 0 && left.procs <= 0 && left.gpus <= 0 && left.memory <= 0 {
				return true
			}
		}
	}
	return false
}

// take records the amounts that a job takes of a node. left and rest are the amounts that it still needs.
func (f *finder) take(n *nodeScene, q *query, node int32, offer, left *total, rest *room) {
	p := part{node: node}
	switch d := q.needs; {
	case d.Whole:
		p.room = n.has[node]
	case d.Nodes > 0:
		p.room = shareOf(*rest, int32(left.nodes)) //nolint:gosec // at most the nodes
		rest.minus(&p.room)
	default:
		p.procs = int32(min(offer.procs, left.procs)) //nolint:gosec // at most a node's
		p.memory = int64(p.procs) * q.perProc
	}
	f.chosen = append(f.chosen, p)
}

// room returns the amounts that stay free on a node for the whole time of a query.
func (q *query) room(n *nodeScene, node int32) room {
	r := q.free[node]
	if n.closed == nil {
		return r
	}
	closed := n.closed[node]
	for i := range closed {
		if c := &closed[i]; c.until <= q.at || c.from >= q.at+q.plan {
			continue
		}
		at := math.Max(closed[i].from, q.at)
		then := q.free[node]
		q.addEnded(&then, node, at)
		for k := range closed {
			if c := &closed[k]; c.from <= at && at < c.until {
				then.minus(&c.room)
			}
		}
		r.least(&then)
	}
	return r
}

// addEnded adds the amounts on a node that jobs free until an instant by the plan.
func (q *query) addEnded(r *room, node int32, at float64) {
	if q.running == nil || at <= q.at {
		return
	}
	m := q.running
	for k := range m.running.Blocks() {
		for _, it := range m.running.Block(k) {
			if it.At > at {
				break
			}
			if it.At > q.at {
				addPart(r, m.ground.of(it.ID), node)
			}
		}
	}
	if q.until <= at {
		addPart(r, q.beside, node)
	}
}

func addPart(r *room, parts []part, node int32) {
	for i := range parts {
		if parts[i].node == node {
			r.plus(&parts[i].room)
		}
	}
}
