package forward

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// NodeClass is a number of equal nodes.
type NodeClass struct {
	Count, Procs, GPUs int
	Memory             int64 // bytes; 0 if memory cannot run short
}

// Needs are what a job needs in addition to processors, and the nodes that it may use.
type Needs struct {
	// Classes has bit i set if the job may run on nodes of State.Nodes[i].
	Classes uint64
	// Nodes is the number of nodes on which the job runs, with equal parts of all its amounts on each. 0 means any
	// number of nodes: on each the job takes the processors that are free there, and memory in proportion. It takes
	// no GPUs then.
	Nodes int
	// Whole is true if the job gets whole nodes: at least Nodes of them, and as many as its amounts need.
	Whole  bool
	GPUs   int
	Memory int64 // bytes
}

// MostNodes is the maximum number of nodes of a state, and mostClasses that of classes. They are bounded because the
// cost of a replica grows with the nodes. Package pools describes a larger machine by one node for each group of nodes,
// with the amounts of the whole group.
const (
	MostNodes   = 512
	mostClasses = 64
)

// room holds amounts of a node: all of them, the free ones, or those that a job takes.
type room struct {
	procs, gpus int32
	memory      int64
}

// MostMemory is the maximum memory of a node, or of a job on it, in bytes (4 PiB). A node whose memory cannot run
// short has this much.
const MostMemory = 1 << 52

func (r *room) plus(o *room) {
	r.procs, r.gpus, r.memory = r.procs+o.procs, r.gpus+o.gpus, r.memory+o.memory
}
func (r *room) minus(o *room) {
	r.procs, r.gpus, r.memory = r.procs-o.procs, r.gpus-o.gpus, r.memory-o.memory
}

// holds reports whether r has room for o.
func (r *room) holds(o *room) bool {
	return o.procs <= r.procs && o.gpus <= r.gpus && o.memory <= r.memory
}

// least reduces each amount to the lesser of the two.
func (r *room) least(o *room) {
	r.procs, r.gpus, r.memory = min(r.procs, o.procs), min(r.gpus, o.gpus), min(r.memory, o.memory)
}

// part has the amounts that a job takes on one node.
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

// nodeScene has the nodes of a state at the beginning of every replica. It has no nodes if only processors count.
type nodeScene struct {
	has     []room
	class   []uint8
	orders  [2][]int32 // nodes in two orders: for jobs without GPUs (nodes with GPUs come last), and for other jobs
	free    []room
	closed  [][]closure // by node; nil without outages
	reopens []float64   // the ends of outages, rising
	parts   []part
	held    []partSpan // range of each running job's parts, by the number of the job
	spread  Needs      // assumed needs of jobs whose own needs are unknown
	shapes  []shape    // of the waiting jobs, by position
	never   []bool     // by position of a waiting job: true if the job would not fit on an empty machine
	empty   []room     // room of each node on an empty machine, except for outages without an end
	finder  finder     // scratch memory of prepareNodes and of the work before the replicas
}

// prepareNodes prepares the nodes with their running jobs and outages. It finds the waiting jobs that would not fit on
// an empty machine. It is called once the jobs have their numbers.
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
	c.boundSizeByNodes()
	n.shapes, n.never = n.shapes[:0], n.never[:0]
	for i := range s.Waiting {
		w := &s.Waiting[i]
		n.shapes = append(n.shapes, n.shape(w.Needs, int32(w.Procs))) //nolint:gosec // checked
		n.never = append(n.never, w.Needs != nil && !n.everFits(&n.shapes[i]))
	}
}

// placeRunning places the running jobs. Those with known nodes come first, on these nodes. The others are placed
// where they fit, the most demanding ones first. A job that fits nowhere completely takes the free processors that
// there are.
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
	// Jobs on one node come first, because their exact amounts are known.
	slices.SortStableFunc(known, func(a, b int32) int {
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
	f := &n.finder
	for _, i := range unknown {
		r := &s.Running[i]
		shape := n.shape(r.Needs, int32(r.Procs)) //nolint:gosec // checked
		q := query{shape: &shape, free: n.free}
		if !f.find(n, &q) {
			shape = n.shape(nil, int32(r.Procs)) //nolint:gosec // checked
			f.find(n, &q)                        // if there is too little room, the job takes what is free
		}
		n.keep(i, f.chosen)
	}
}

// needsOf returns the needs of a job, or the assumed ones if they are unknown.
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
	for k := range parts { // give out the rest, which did not fit into equal parts
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

// shareOf returns the largest part if amounts are divided into nearly equal parts, one for each of the given number of
// nodes.
func shareOf(all room, nodes int32) room {
	up := func(x int64) int64 { return (x + int64(nodes) - 1) / int64(nodes) }
	return room{int32(up(int64(all.procs))), int32(up(int64(all.gpus))), up(all.memory)} //nolint:gosec // not larger
}

// close takes the nodes of outages. If the nodes are unknown, it takes nodes from the last one on: first those that no
// other outage takes at the same time, and then the others. If the outage has begun already, it takes nodes without
// jobs first. A node without any processors left has no memory and no GPUs either.
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
		for k := len(n.has) - 1; k >= 0; k-- { // processors that several outages take at the same time count once
			left -= n.closeNode(k, &o, min(left, int(n.has[k].procs)))
		}
	}
	slices.Sort(n.reopens)
}

// open returns the number of processors of a node that other outages leave during an outage.
func (n *nodeScene) open(k int, o *Outage) int {
	left := int(n.has[k].procs)
	for i := range n.closed[k] {
		if c := &n.closed[k][i]; c.from < o.Until && o.From < c.until {
			left -= int(c.procs)
		}
	}
	return left
}

// closeNode takes the given number of processors of a node for an outage, and returns that number. It returns 0 if the
// number is negative. If these are all processors of the node, the outage takes the GPUs and the memory, too.
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

// boundSizeByNodes bounds the size of competing jobs by the processors of all nodes. Processors that an outage without
// an end takes do not count.
func (c *scene) boundSizeByNodes() {
	n, most := &c.nodes, 0
	n.empty = resize(n.empty, len(n.has))
	for k := range n.has {
		n.empty[k] = n.lasting(k)
		most += int(n.empty[k].procs)
	}
	c.most = min(c.most, most)
}

// lasting returns the amounts of a node. Amounts that an outage without an end takes do not count.
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

// checkNodes returns an error if the nodes of a state, or the amounts that jobs take of them, are invalid.
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

// check returns an error if a job's needs are invalid. who names the job in the error.
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
