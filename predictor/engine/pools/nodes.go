package pools

import (
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// Nodes are the nodes of a pool and the rules of their use by jobs. They are immutable.
type Nodes struct {
	Groups []NodeGroup `json:"groups"`
	// Totals is true if each group is described as one node with the total of all its nodes. That is so if the numbers
	// of nodes are unknown or too large.
	Totals bool `json:"totals,omitempty"`
	// Queues has the rules of the queues that have rules.
	Queues map[string]QueueRules `json:"queues,omitempty"`

	numbers map[string]int32 // numbers of the nodes by name; nil if not all names are known
}

// NodeGroup is a group of equal nodes.
type NodeGroup struct {
	// Queues are the queues whose jobs may use the nodes; empty for all.
	Queues []string `json:"queues,omitempty"`
	Count  int      `json:"count"`
	// Procs, GPUs and Memory (in bytes, 0 if memory cannot run short) are the amounts of one node.
	Procs   int    `json:"procs"`
	GPUs    int    `json:"gpus,omitempty"`
	Memory  int64  `json:"memory,omitempty"`
	GPUType string `json:"gpu_type,omitempty"`
	// Names are the names of the nodes; empty if unknown.
	Names []string `json:"names,omitempty"`
}

// QueueRules has rules for the jobs of a queue.
type QueueRules struct {
	// Whole is true if the jobs get whole nodes.
	Whole bool `json:"whole,omitempty"`
	// ProcMemory and NodeMemory are the default memory of a job, in bytes per processor and in bytes per node. The
	// larger amount counts.
	ProcMemory int64 `json:"proc_memory,omitempty"`
	NodeMemory int64 `json:"node_memory,omitempty"`
}

// SetNodes sets the nodes of a pool, by the name in PoolConfig; nil if unknown. Nodes that cannot be simulated (see
// bounded), and those of further pools after MostPools, count as unknown.
func (m *Machine) SetNodes(name string, n *Nodes) {
	if n != nil {
		n = n.bounded()
	}
	if old := m.nodes[name]; n == nil && old == nil || reflect.DeepEqual(old, n) {
		return
	}
	delete(m.nodes, name)
	if n != nil && len(m.nodes) < MostPools {
		m.nodes[name] = n
	}
	m.TouchAll()
}

// nodesOf returns the nodes of a pool, nil if they are unknown. A nil pool means the whole machine.
func (m *Machine) nodesOf(p *Pool) *Nodes {
	if p == nil || p.Name == "" {
		return nil
	}
	return m.nodes[p.Name]
}

// mostGroups is the maximum number of groups of nodes in simulations.
const mostGroups = 64

// bounded returns the nodes in the form for simulations. If there are too many nodes to place jobs one by one, this
// form has only totals of groups. Groups without nodes or processors are left out. The result is nil if no groups or
// too many groups remain, or if numbers are invalid.
func (n *Nodes) bounded() *Nodes {
	out := &Nodes{Totals: n.Totals, Queues: n.Queues}
	all := 0
	for _, g := range n.Groups {
		if g.Count <= 0 || g.Procs <= 0 {
			continue
		}
		if g.Procs > math.MaxInt32 || g.GPUs < 0 || g.GPUs > math.MaxInt32 || g.Memory < 0 {
			return nil
		}
		g.Queues, g.Memory = slices.Clone(g.Queues), min(g.Memory, forward.MostMemory)
		all += min(g.Count, math.MaxInt32)
		out.Groups = append(out.Groups, g)
	}
	if len(out.Groups) == 0 || len(out.Groups) > mostGroups {
		return nil
	}
	out.Totals = out.Totals || all > forward.MostNodes
	for i := range out.Groups {
		if g := &out.Groups[i]; out.Totals && g.Count > 1 {
			g.Procs, g.GPUs = g.Procs*g.Count, g.GPUs*g.Count
			g.Memory = min(g.Memory*int64(g.Count), forward.MostMemory)
			g.Count = 1
		}
	}
	out.number()
	return out
}

// number gives the nodes their numbers in the states of the simulator, if all of them have names.
func (n *Nodes) number() {
	numbers := map[string]int32{}
	for i := range n.Groups {
		g := &n.Groups[i]
		if len(g.Names) != g.Count || n.Totals {
			return
		}
		for _, name := range g.Names {
			numbers[name] = int32(len(numbers)) //nolint:gosec // at most forward.MostNodes
		}
	}
	n.numbers = numbers
}

// numbersOf returns the numbers of the nodes with the given names, which are separated by commas. The number is -1 for
// a node that is down or belongs to another pool. The result is nil if names is empty or the nodes have no numbers.
func (n *Nodes) numbersOf(names string) []int32 {
	if n.numbers == nil || names == "" {
		return nil
	}
	var out []int32
	for name := range strings.SplitSeq(names, ",") {
		number, ok := n.numbers[name]
		if !ok {
			number = -1
		}
		out = append(out, number)
	}
	return out
}

// needs returns what a job of the given queue needs in addition to processors, nil if it needs nothing else and may use
// all nodes. runs is true for a running job, whose number of nodes is known.
func (n *Nodes) needs(queue string, procs int, a *track.NodeAsks, runs bool) *forward.Needs {
	d := &forward.Needs{GPUs: a.GPUs, Memory: a.Memory}
	most := n.allow(d, queue, a.GPUType)
	rules := n.Queues[queue]
	if d.Memory == 0 {
		d.Memory = max(rules.ProcMemory*int64(procs), rules.NodeMemory*int64(max(1, a.Nodes)))
	}
	d.Memory = min(d.Memory, forward.MostMemory)
	if most.memory == 0 {
		d.Memory = 0
	}
	least := nodesFor(int64(procs), int64(most.procs))
	switch {
	case n.Totals:
		d.Nodes = min(1, a.GPUs)
	case a.Whole || rules.Whole:
		d.Whole, d.Nodes = true, max(1, a.Nodes)
	case a.GPUs > 0:
		d.Nodes = max(1, a.Nodes, least, nodesFor(int64(a.GPUs), int64(most.gpus)), nodesFor(d.Memory, most.memory))
	case runs || a.Nodes > least: // for a job that requests no nodes, the scheduler reports the least possible number
		d.Nodes = a.Nodes
	}
	if *d == (forward.Needs{Classes: n.every()}) {
		return nil
	}
	return d
}

// widen returns the needs d of a job, which may also use the nodes that other allows. Either may be nil, see needs.
func (n *Nodes) widen(d, other *forward.Needs) *forward.Needs {
	if d == nil {
		return nil
	}
	wide := *d
	if wide.Classes = n.every(); other != nil {
		wide.Classes = d.Classes | other.Classes
	}
	if wide == (forward.Needs{Classes: n.every()}) {
		return nil
	}
	return &wide
}

// every returns the set of all groups, a bit for each.
func (n *Nodes) every() uint64 { return ^uint64(0) >> (64 - len(n.Groups)) }

// nodesFor returns the minimum number of nodes that together have an amount. most is the largest amount of one node; if
// it is 0, the result is 1.
func nodesFor(amount, most int64) int {
	if most <= 0 {
		return 1
	}
	return int((amount + most - 1) / most)
}

// nodeMost holds the largest amounts that a single node has.
type nodeMost struct {
	procs, gpus int
	memory      int64
}

// allow sets d.Classes to the groups that jobs of a queue may use; all groups if none is known to be for the queue. If
// GPUs of a type are requested, only groups with GPUs of that type or of an unknown type count. If there are no such
// groups, the type is ignored. allow returns the largest amounts that a single node of the groups in d.Classes has.
func (n *Nodes) allow(d *forward.Needs, queue, gpuType string) (most nodeMost) {
	for _, typed := range []bool{d.GPUs > 0 && gpuType != "", false} {
		for i := range n.Groups {
			g := &n.Groups[i]
			if len(g.Queues) > 0 && !slices.Contains(g.Queues, queue) ||
				typed && (g.GPUs == 0 || g.GPUType != "" && !strings.EqualFold(g.GPUType, gpuType)) {
				continue
			}
			d.Classes |= 1 << i
			most = nodeMost{max(most.procs, g.Procs), max(most.gpus, g.GPUs), max(most.memory, g.Memory)}
		}
		if d.Classes != 0 {
			return most
		}
	}
	d.Classes = n.every() // the nodes of the queue are unknown
	for i := range n.Groups {
		g := &n.Groups[i]
		most = nodeMost{max(most.procs, g.Procs), max(most.gpus, g.GPUs), max(most.memory, g.Memory)}
	}
	return most
}

// isMemoryHeavy reports whether a job takes a larger share of some node's memory than of that node's processors. If no
// job is memory-heavy, processors run short first.
func (n *Nodes) isMemoryHeavy(d *forward.Needs, procs int) bool {
	if d == nil || d.Memory == 0 {
		return false
	}
	for i := range n.Groups {
		g := &n.Groups[i]
		if d.Classes>>i&1 == 1 && g.Memory > 0 &&
			float64(d.Memory)*float64(g.Procs) > float64(g.Memory)*float64(procs) {
			return true
		}
	}
	return false
}

// bindsOf reports whether a waiting job may have to wait for a resource other than processors.
func (n *Nodes) bindsOf(d *forward.Needs, procs int) bool {
	return d != nil && (d.GPUs > 0 || d.Whole || d.Nodes > 0 || n.isMemoryHeavy(d, procs))
}

// nodeUse has the use of a pool's nodes by its jobs.
type nodeUse struct {
	*Nodes
	binds  bool      // a resource other than processors may keep a job waiting
	heavy  bool      // a running job takes a larger share of a node's memory than of its processors
	memory bool      // a waiting job asks for memory
	closed [][]int32 // numbers of the nodes of each outage; nil if unknown
}

// closedBy returns the numbers of the nodes of an outage, given by its index. It returns nil if they are not known.
func (u *nodeUse) closedBy(outage int) []int32 {
	if outage >= len(u.closed) {
		return nil
	}
	return u.closed[outage]
}

// findNeeds sets f.nodes, and the needs of the running and waiting jobs, for a pool with the nodes n. n may be nil.
func (f *Facts) findNeeds(n *Nodes) {
	if f.nodes = (nodeUse{Nodes: n}); n == nil {
		return
	}
	for i := range f.Running {
		r := &f.Running[i]
		r.needs, r.on = n.needs(r.Queue, r.Procs, &r.asks, true), n.numbersOf(r.nodeNames)
		f.nodes.heavy = f.nodes.heavy || n.isMemoryHeavy(r.needs, r.Procs)
	}
	for _, o := range f.outages {
		f.nodes.closed = append(f.nodes.closed, n.numbersOf(o.Nodes))
	}
	for i := range f.queued {
		w := &f.queued[i]
		w.needs = n.needs(w.Queue, w.Procs, &w.asks, false)
		for _, queue := range w.also {
			w.needs = n.widen(w.needs, n.needs(queue, w.Procs, &w.asks, false))
		}
		f.nodes.binds = f.nodes.binds || n.bindsOf(w.needs, w.Procs)
		f.nodes.memory = f.nodes.memory || w.needs != nil && w.needs.Memory > 0
	}
}

// needsOf returns the resources of nodes, besides processors, that a request takes. It returns nil if there are none,
// or if the nodes are unknown.
func (f *Facts) needsOf(r *RankedRequest) *forward.Needs {
	if f.nodes.Nodes == nil {
		return nil
	}
	asks := r.NodeAsks()
	return f.nodes.needs(r.Queue, r.Procs, &asks, false)
}

// playsNodes reports whether the simulation of a request (nil for none) places jobs on nodes, because a resource other
// than processors may run short.
func (f *Facts) playsNodes(r *RankedRequest) bool {
	u := &f.nodes
	switch {
	case f.Large || u.Nodes == nil:
		return false
	case u.binds || u.heavy && u.memory:
		return true
	case r == nil:
		return false
	}
	d := f.needsOf(r)
	return u.bindsOf(d, r.Procs) || u.heavy && d != nil && d.Memory > 0
}

// needsOfPast returns the needs of an arrival that repeats an earlier submission.
func (n *Nodes) needsOfPast(queue string, j *track.PastJob) *forward.Needs {
	asks := track.NodeAsks{}
	if j.Asks != nil {
		asks = *j.Asks
	}
	return n.needs(queue, j.Procs, &asks, false)
}

// addNodes writes the nodes into a state of the simulator, for a request (nil for none), if simulations place jobs on
// nodes. The running jobs of the state must begin with f.Running. The capacity of the state is raised to that of the
// nodes.
func (f *Facts) addNodes(s *forward.State, r *RankedRequest) {
	if s.Nodes = s.Nodes[:0]; !f.playsNodes(r) {
		return
	}
	capacity := 0
	for i := range f.nodes.Groups {
		g := &f.nodes.Groups[i]
		s.Nodes = append(s.Nodes, forward.NodeClass{Count: g.Count, Procs: g.Procs, GPUs: g.GPUs, Memory: g.Memory})
		capacity += g.Count * g.Procs
	}
	s.Capacity = max(s.Capacity, capacity)
	for i := range f.Running {
		s.Running[i].Needs, s.Running[i].On = f.Running[i].needs, f.Running[i].on
	}
	for i := range f.queued {
		s.Waiting[i].Needs = f.queued[i].needs
	}
}

// nodeOpenings returns the largest requests, by processors, that start at once on the nodes and have the other needs of
// the request r. It tries only the time limits of surfaces.
func (f *Facts) nodeOpenings(at float64, r *RankedRequest) []forward.Opening {
	var sim forward.Sim
	var s forward.State
	f.stateFor(&s, at, r)
	s.Gates = f.gates.Coarse(at)
	rank := f.rankOfRequest(at, r)
	starts := func(procs int, limit float64) bool {
		like := *r
		like.Procs = procs
		ok, err := sim.StartsNow(&s, forward.Request{Procs: procs, Limit: limit, Rank: rank, Behind: s.Behind(rank),
			Needs: f.needsOf(&like)})
		return ok && err == nil
	}
	var out []forward.Opening
	low := 0 // the largest size that starts with a longer limit, and so with this one, too
	for _, limit := range slices.Backward(surfaceLimits()) {
		asked := limit
		if math.IsInf(limit, 1) {
			asked = 0
		}
		most := low + sort.Search(f.most()-low, func(i int) bool { return !starts(low+i+1, asked) })
		if most > low {
			out = append(out, forward.Opening{Procs: most, Limit: limit})
		}
		low = most
	}
	slices.Reverse(out)
	return out
}

func codeNodes(s *codec.Codec, n **Nodes) {
	codec.Optional(s, n, func(all *Nodes) { s.JSON(all) })
	if s.Reading && !s.Bad && *n != nil {
		again := (*n).bounded()
		s.Check(again != nil, "nodes that cannot be played")
		*n = again
	}
}
