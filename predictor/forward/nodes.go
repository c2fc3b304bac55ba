package forward

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// NodeClass is nodes that are alike.
type NodeClass struct {
	Count, Procs, GPUs int
	Memory             int64 // bytes; 0 where jobs do not run short of it
}

// Needs are the needs of a job other than processors, and the nodes that it may use.
type Needs struct {
	// Classes has bit i set if the job may run on nodes of State.Nodes[i].
	Classes uint64
	// Nodes is on how many nodes it runs, with equal parts of all that it takes on each. 0 is on any number of nodes,
	// with as many processors on each as are free there, and memory in proportion; it takes no GPUs then.
	Nodes int
	// Whole is true if it gets whole nodes: at least Nodes of them, and as many as its amounts need.
	Whole  bool
	GPUs   int
	Memory int64 // bytes
}

// MostNodes is the largest number of nodes that a state may have, and mostClasses of classes: the cost of a replica
// grows with the nodes. Larger machines are one node of everything.
const (
	MostNodes   = 512
	mostClasses = 64
)

// room holds amounts: those of a node, its free ones, or those that a job takes of it.
type room struct {
	procs, gpus int32
	memory      int64
}

// MostMemory is the most memory that a node may have, or a job take, in bytes (4 PiB). A node of which jobs do not run
// short of memory has as much.
const MostMemory = 1 << 52

func (r *room) plus(o *room) {
	r.procs, r.gpus, r.memory = r.procs+o.procs, r.gpus+o.gpus, r.memory+o.memory
}
func (r *room) minus(o *room) {
	r.procs, r.gpus, r.memory = r.procs-o.procs, r.gpus-o.gpus, r.memory-o.memory
}

// holds reports whether there is room for o.
func (r *room) holds(o *room) bool {
	return o.procs <= r.procs && o.gpus <= r.gpus && o.memory <= r.memory
}

// least reduces each amount to the lesser of both.
func (r *room) least(o *room) {
	r.procs, r.gpus, r.memory = min(r.procs, o.procs), min(r.gpus, o.gpus), min(r.memory, o.memory)
}

// part is what a job takes of one node.
type part struct {
	node int32
	room
}

// partSpan is the range of a job's parts among those of all jobs.
type partSpan struct{ first, end int32 }

// closure is a part of a node that an outage takes.
type closure struct {
	from, until float64
	room
}

// nodeScene has the nodes of a state as every replica begins with them. It has no nodes if only processors count.
type nodeScene struct {
	has     []room
	class   []uint8
	orders  [2][]int32 // of nodes: for jobs without GPUs, which spare nodes with GPUs, and for others
	free    []room
	closed  [][]closure // by node; nil without outages
	reopens []float64   // the ends of outages, rising
	parts   []part
	held    []partSpan // by the job's number
	spread  Needs      // the needs of jobs whose own are unknown
	shapes  []shape    // of the waiting jobs, by position
	never   []bool     // of the same jobs: they would not fit on an empty machine
	empty   []room     // on an empty machine, except for outages with an end
	finder  finder     // scratch of prepareNodes and of what comes before the replicas
}

// prepareNodes places the running jobs. It is called once they have their numbers.
func (c *scene) prepareNodes() {
	n, s := &c.nodes, c.state
	n.has, n.class, n.parts, n.held = n.has[:0], n.class[:0], n.parts[:0], n.held[:0]
	n.closed, n.reopens = nil, n.reopens[:0]
	if !c.byNode {
		return
	}
	for k := range s.Nodes {
		class := &s.Nodes[k]
		r := room{int32(class.Procs), int32(class.GPUs), class.Memory} //nolint:gosec // checked
		if r.memory == 0 {
			r.memory = MostMemory
		}
		for range class.Count {
			n.has, n.class = append(n.has, r), append(n.class, uint8(k)) //nolint:gosec // at most mostClasses
		}
	}
	if len(n.has) == 0 {
		return
	}
	n.spread = Needs{Classes: math.MaxUint64}
	for i := range n.orders {
		n.orders[i] = n.orders[i][:0]
		for k := range n.has {
			n.orders[i] = append(n.orders[i], int32(k)) //nolint:gosec // at most MostNodes
		}
	}
	slices.SortStableFunc(n.orders[0], func(a, b int32) int {
		return cmp.Compare(min(1, n.has[a].gpus), min(1, n.has[b].gpus))
	})
	n.free = append(n.free[:0], n.has...)
	n.placeRunning(s)
	n.close(s.Outages)
	c.limitToNodes()
	n.shapes, n.never = n.shapes[:0], n.never[:0]
	for i := range s.Waiting {
		w := &s.Waiting[i]
		n.shapes = append(n.shapes, n.shape(w.Needs, int32(w.Procs))) //nolint:gosec // checked
		n.never = append(n.never, w.Needs != nil && !n.everFits(&n.shapes[i]))
	}
}

// placeRunning places the running jobs: first those with known nodes, on these nodes, then the others where they fit,
// the most demanding ones first. For a job that fits nowhere completely, the processors that are free somewhere count.
func (n *nodeScene) placeRunning(s *State) {
	n.held = append(n.held, make([]partSpan, len(s.Running))...)
	var known, unknown []int32
	for i := range s.Running {
		if r := &s.Running[i]; r.Procs > 0 && len(r.On) > 0 {
			known = append(known, int32(i)) //nolint:gosec // one of the jobs
		} else if r.Procs > 0 {
			unknown = append(unknown, int32(i)) //nolint:gosec // one of the jobs
		}
	}
	slices.SortStableFunc(known, func(a, b int32) int { // for jobs on one node it is known how much each has there
		return cmp.Compare(len(s.Running[a].On), len(s.Running[b].On))
	})
	for _, i := range known {
		n.put(i, s.Running[i].On, &s.Running[i])
	}
	demand := func(i int32) (whole, gpus, nodes, procs int) {
		r := &s.Running[i]
		d := r.Needs
		if d == nil {
			return 0, 0, 0, r.Procs
		}
		if d.Whole {
			whole = 1
		}
		return whole, d.GPUs / max(1, d.Nodes), min(1, d.Nodes), r.Procs / max(1, d.Nodes)
	}
	slices.SortStableFunc(unknown, func(a, b int32) int {
		aw, ag, an, ap := demand(a)
		bw, bg, bn, bp := demand(b)
		return cmp.Or(cmp.Compare(bw, aw), cmp.Compare(bg, ag), cmp.Compare(bn, an), cmp.Compare(bp, ap))
	})
	var f finder
	for _, i := range unknown {
		r := &s.Running[i]
		shape := n.shape(r.Needs, int32(r.Procs)) //nolint:gosec // checked
		q := query{shape: &shape, free: n.free}
		if !f.find(n, &q) {
			shape = n.shape(nil, int32(r.Procs)) //nolint:gosec // checked
			f.find(n, &q)                        // if there is too little, it takes what there is
		}
		n.keep(i, f.chosen)
	}
}

// needsOf returns the known needs of a job.
func (n *nodeScene) needsOf(d *Needs) *Needs {
	if d == nil {
		return &n.spread
	}
	return d
}

// put places a running job on known nodes, in parts as equal as the nodes' room allows.
func (n *nodeScene) put(id int32, on []int32, r *Running) {
	d := n.needsOf(r.Needs)
	nodes := int32(len(on)) //nolint:gosec // checked
	rest := room{int32(r.Procs), int32(d.GPUs), d.Memory}
	var parts []part
	for k, at := range on {
		p := part{node: at, room: shareOf(rest, nodes-int32(k))} //nolint:gosec // checked
		if at < 0 {
			rest.minus(&p.room)
			continue
		}
		if d.Whole {
			p.room = n.has[at]
		}
		p.least(&n.free[at])
		parts = append(parts, p)
		rest.minus(&p.room)
	}
	for k := range parts { // the rest, which the equal parts left
		more := n.free[parts[k].node]
		more.minus(&parts[k].room)
		more.least(&room{max(0, rest.procs), max(0, rest.gpus), max(0, rest.memory)})
		parts[k].plus(&more)
		rest.minus(&more)
	}
	n.keep(id, parts)
}

// keep records the parts of a running job.
func (n *nodeScene) keep(id int32, parts []part) {
	first := len(n.parts)
	for i := range parts {
		n.free[parts[i].node].minus(&parts[i].room)
	}
	n.parts = append(n.parts, parts...)
	n.held[id] = partSpan{int32(first), int32(len(n.parts))} //nolint:gosec // a few for each job
}

// shareOf returns the largest of that many equal parts.
func shareOf(all room, nodes int32) room {
	up := func(x int64) int64 { return (x + int64(nodes) - 1) / int64(nodes) }
	return room{int32(up(int64(all.procs))), int32(up(int64(all.gpus))), up(all.memory)} //nolint:gosec // not larger
}

// close takes the nodes of outages. If they are unknown, it takes nodes from the last one on that no other outage takes
// at the time. If the outage has begun already, it takes nodes without jobs first. The memory and GPUs of a node are
// gone if all its processors are.
func (n *nodeScene) close(outages []Outage) {
	for _, o := range outages {
		if o.Until <= 0 || o.Procs == 0 {
			continue
		}
		if n.closed == nil {
			n.closed = make([][]closure, len(n.has))
		}
		if !math.IsInf(o.Until, 1) {
			n.reopens = append(n.reopens, o.Until)
		}
		left := o.Procs
		for _, k := range o.On {
			if k >= 0 {
				left -= n.closeNode(int(k), &o, min(left, int(n.has[k].procs)))
			}
		}
		if len(o.On) > 0 {
			continue
		}
		for _, pass := range []func(node int) bool{
			func(node int) bool { return o.From > 0 || n.free[node] == n.has[node] },
			func(int) bool { return true },
		} {
			for k := len(n.has) - 1; k >= 0; k-- {
				if pass(k) {
					left -= n.closeNode(k, &o, min(left, n.open(k, &o)))
				}
			}
		}
		for k := len(n.has) - 1; k >= 0; k-- { // what several outages take at once counts once
			left -= n.closeNode(k, &o, min(left, int(n.has[k].procs)))
		}
	}
	slices.Sort(n.reopens)
}

// open returns the processors of a node that no other outage takes during an outage.
func (n *nodeScene) open(k int, o *Outage) int {
	left := int(n.has[k].procs)
	for i := range n.closed[k] {
		if c := &n.closed[k][i]; c.from < o.Until && o.From < c.until {
			left -= int(c.procs)
		}
	}
	return left
}

// closeNode takes up to procs processors of a node for an outage, and returns how many.
func (n *nodeScene) closeNode(k int, o *Outage, procs int) int {
	if procs <= 0 {
		return 0
	}
	c := closure{from: o.From, until: o.Until, room: room{procs: int32(procs)}} //nolint:gosec // of a node
	if c.procs == n.has[k].procs {
		c.room = n.has[k]
	}
	n.closed[k] = append(n.closed[k], c)
	return procs
}

// limitToNodes bounds the size of competing jobs by the nodes that are not gone for good.
func (c *scene) limitToNodes() {
	n, most := &c.nodes, 0
	n.empty = resize(n.empty, len(n.has))
	for k := range n.has {
		n.empty[k] = n.lasting(k)
		most += int(n.empty[k].procs)
	}
	c.most = min(c.most, most)
}

// lasting returns what a node has except for outages without an end.
func (n *nodeScene) lasting(node int) room {
	r := n.has[node]
	if n.closed != nil {
		for i := range n.closed[node] {
			if c := &n.closed[node][i]; math.IsInf(c.until, 1) {
				r.minus(&c.room)
			}
		}
	}
	r.procs, r.gpus, r.memory = max(0, r.procs), max(0, r.gpus), max(0, r.memory)
	return r
}

// everFits reports whether a job would fit on an empty machine.
func (n *nodeScene) everFits(s *shape) bool {
	return n.finder.find(n, &query{shape: s, free: n.empty, at: math.Inf(-1)})
}

// checkNodes reports whether the nodes of a state, and what jobs take of them, are valid.
func (s *State) checkNodes() error {
	if len(s.Nodes) == 0 {
		return nil
	}
	nodes := 0
	for i := range s.Nodes {
		k := &s.Nodes[i]
		if !isProcs(k.Procs) || k.Count < 0 || k.GPUs < 0 || k.GPUs > math.MaxInt32 || k.Memory < 0 ||
			k.Memory > MostMemory {
			return field(false, "nodes", i, "class", float64(k.Procs), "processors, and no negative amounts")
		}
		nodes += min(k.Count, MostNodes+1)
	}
	if nodes > MostNodes || len(s.Nodes) > mostClasses {
		return field(false, "nodes", -1, "", float64(nodes), fmt.Sprintf("at most %d, of %d classes", MostNodes,
			mostClasses))
	}
	noNode := func(n int32) bool { return n < -1 || int(n) >= nodes }
	for i := range s.Outages {
		o := &s.Outages[i]
		if k := slices.IndexFunc(o.On, noNode); k >= 0 {
			return field(false, "outages", i, fmt.Sprintf("on[%d]", k), float64(o.On[k]), "a number of a node")
		}
	}
	for i := range s.Running {
		r := &s.Running[i]
		if err := r.Needs.check(fmt.Sprintf("running[%d]", i)); err != nil {
			return err
		}
		if k := slices.IndexFunc(r.On, noNode); k >= 0 {
			return field(false, "running", i, fmt.Sprintf("on[%d]", k), float64(r.On[k]), "a number of a node")
		}
	}
	for i := range s.Waiting {
		if err := s.Waiting[i].Needs.check(fmt.Sprintf("waiting[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// check reports whether a job's needs are valid. who names the job in the error.
func (d *Needs) check(who string) error {
	switch {
	case d == nil:
		return nil
	case d.Nodes < 0 || d.Nodes > math.MaxInt32:
		return field(false, who+".needs.nodes", -1, "", float64(d.Nodes), "0 or more")
	case d.GPUs < 0 || d.GPUs > math.MaxInt32:
		return field(false, who+".needs.gpus", -1, "", float64(d.GPUs), "0 or more")
	case d.GPUs > 0 && d.Nodes == 0 && !d.Whole:
		return field(false, who+".needs.nodes", -1, "", 0, "1 or more, as it takes GPUs")
	case d.Memory < 0 || d.Memory > MostMemory:
		return field(false, who+".needs.memory", -1, "", float64(d.Memory), "0 or more")
	}
	return nil
}
