package forward_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/waitcast/waitcast/predictor/forward"
)

// naiveNodes plays a state with nodes one second after the other, as naive does. It adds up the free amounts of a node
// from the jobs and outages each time they are needed.
type naiveNodes struct {
	naive
	has     []amounts
	class   []int
	closed  []closed
	jobs    []onNodes // the running ones
	queue   []nodeWait
	end     float64 // the seconds from now after which no plan changes anything
	request float64 // the seconds for which a limit or the eligibility kept the request from starting
}

// amounts holds processors, GPUs and bytes.
type amounts [3]int64

func (a amounts) add(b amounts, sign int64) amounts {
	for i := range a {
		a[i] += sign * b[i]
	}
	return a
}

func (a amounts) holds(b amounts) bool { return a[0] >= b[0] && a[1] >= b[1] && a[2] >= b[2] }

type closed struct {
	node        int
	from, until float64
	takes       amounts
}

type onNodes struct {
	start, end, expect float64
	takes              map[int]amounts
	holds              []forward.Holding
}

type nodeWait struct {
	waits
	needs forward.Needs
}

const noMemoryLimit = int64(1) << 50

func newNaiveNodes(s *forward.State, r forward.Request, end float64) *naiveNodes {
	n := &naiveNodes{naive: naive{s: s}, end: end}
	for c, k := range s.Nodes {
		for range k.Count {
			has := amounts{int64(k.Procs), int64(k.GPUs), k.Memory}
			if k.Memory == 0 {
				has[2] = noMemoryLimit
			}
			n.has, n.class = append(n.has, has), append(n.class, c)
		}
	}
	for _, j := range s.Running {
		o := onNodes{start: -j.Age, end: j.Law.Residual(j.Age, .5), expect: plan(s, j.Limit) - j.Age, holds: j.Holds,
			takes: map[int]amounts{}}
		needs := needsOf(j.Needs)
		parts := equalParts(amounts{int64(j.Procs), int64(needs.GPUs), needs.Memory}, len(j.On))
		for i, at := range j.On {
			if o.takes[int(at)] = parts[i]; needs.Whole {
				o.takes[int(at)] = n.has[at]
			}
		}
		n.jobs = append(n.jobs, o)
	}
	n.close()
	for i, j := range s.Waiting {
		n.queue = append(n.queue, nodeWait{waits{procs: j.Procs, plan: plan(s, j.Limit), eligible: j.Eligible,
			runtime: j.Law.Residual(0, .5), place: 2 * i, holds: j.Holds}, needsOf(j.Needs)})
	}
	n.queue = append(n.queue, nodeWait{waits{procs: r.Procs, plan: plan(s, r.Limit), eligible: r.Eligible,
		place: 2*(len(s.Waiting)-r.Behind) - 1, request: true, holds: r.Holds}, needsOf(r.Needs)})
	slices.SortStableFunc(n.queue, func(a, b nodeWait) int { return cmp.Compare(a.place, b.place) })
	return n
}

func needsOf(d *forward.Needs) forward.Needs {
	if d == nil {
		return forward.Needs{Classes: math.MaxUint64}
	}
	return *d
}

// equalParts divides amounts into n nearly equal parts. The larger parts come first.
func equalParts(all amounts, n int) []amounts {
	out := make([]amounts, n)
	for k := range all {
		for i := range out {
			left := int64(n - i)
			out[i][k] = (all[k] + left - 1) / left
			all[k] -= out[i][k]
		}
	}
	return out
}

// close chooses the nodes that each outage takes, and closes them, by the rules in the comments of package forward (see
// nodeScene.close).
func (n *naiveNodes) close() {
	used := map[int]bool{}
	for _, j := range n.jobs {
		for k, takes := range j.takes {
			used[k] = used[k] || takes != amounts{}
		}
	}
	for _, o := range n.s.Outages {
		left := int64(o.Procs)
		for _, k := range o.On {
			if k >= 0 {
				left -= n.closeNode(int(k), &o, min(n.has[k][0], left))
			}
		}
		if len(o.On) > 0 {
			continue
		}
		var order []int
		for k := len(n.has) - 1; k >= 0; k-- {
			order = append(order, k)
		}
		if o.From <= 0 {
			slices.SortStableFunc(order, func(a, b int) int { return boolean(used[a]) - boolean(used[b]) })
		}
		for _, k := range order {
			open := n.has[k][0]
			for _, c := range n.closed {
				if c.node == k && c.from < o.Until && o.From < c.until {
					open -= c.takes[0]
				}
			}
			left -= n.closeNode(k, &o, min(open, left))
		}
		for k := len(n.has) - 1; k >= 0; k-- {
			left -= n.closeNode(k, &o, min(n.has[k][0], left))
		}
	}
}

func (n *naiveNodes) closeNode(k int, o *forward.Outage, procs int64) int64 {
	take := amounts{procs}
	if procs <= 0 || o.Until <= 0 {
		return 0
	}
	if procs == n.has[k][0] {
		take = n.has[k]
	}
	n.closed = append(n.closed, closed{k, o.From, o.Until, take})
	return procs
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// freeOf returns the free amounts of a node by the plan, at an instant not before now.
func (n *naiveNodes) freeOf(node int, t, now float64) amounts {
	free := n.has[node]
	for _, j := range n.jobs {
		if j.expect > t || t == now {
			free = free.add(j.takes[node], -1)
		}
	}
	for _, c := range n.closed {
		if c.node == node && c.from <= t && t < c.until {
			free = free.add(c.takes, -1)
		}
	}
	return free
}

// choose returns the nodes of a job that would start at an instant, or nil if it may not. Nodes of avoid are used only
// if the others do not suffice.
func (n *naiveNodes) choose(w *nodeWait, at, now float64, avoid map[int]amounts) map[int]amounts {
	var order []int
	for k := range n.has {
		if w.needs.Classes>>n.class[k]&1 == 1 {
			order = append(order, k)
		}
	}
	if w.needs.GPUs == 0 {
		slices.SortStableFunc(order, func(a, b int) int { return boolean(n.has[a][1] > 0) - boolean(n.has[b][1] > 0) })
	}
	slices.SortStableFunc(order, func(a, b int) int {
		_, first := avoid[a]
		_, second := avoid[b]
		return boolean(first) - boolean(second)
	})
	out := map[int]amounts{}
	need := amounts{int64(w.procs), int64(w.needs.GPUs), w.needs.Memory}
	var parts []amounts
	if w.needs.Nodes > 0 && !w.needs.Whole {
		parts = equalParts(need, w.needs.Nodes)
	}
	each := (w.needs.Memory + int64(w.procs) - 1) / int64(w.procs)
	for _, k := range order {
		free := n.freeOf(k, at, now)
		for t := at + 1; t < min(at+w.plan, now+n.end); t++ {
			then := n.freeOf(k, t, now)
			for i := range free {
				free[i] = min(free[i], then[i])
			}
		}
		switch {
		case w.needs.Whole:
			if free == n.has[k] {
				out[k] = free
				need = need.add(free, -1)
			}
			if len(out) >= max(1, w.needs.Nodes) && need[0] <= 0 && need[1] <= 0 && need[2] <= 0 {
				return out
			}
		case parts != nil:
			if free.holds(parts[0]) && len(out) < len(parts) {
				out[k] = parts[len(out)]
			}
			if len(out) == len(parts) {
				// the largest part of each amount is that of the first node
				return out
			}
		default:
			procs := min(free[0], need[0])
			for procs > 0 && procs*each > free[2] {
				procs--
			}
			if procs > 0 {
				out[k] = amounts{procs, 0, procs * each}
				need[0] -= procs
			}
			if need[0] == 0 {
				return out
			}
		}
	}
	return nil
}

// play returns when the request starts.
func (n *naiveNodes) play() float64 {
	idle := &naiveNodes{naive: naive{s: n.s}, has: n.has, class: n.class, end: n.end}
	n.queue = slices.DeleteFunc(n.queue, func(w nodeWait) bool {
		w.plan = 1
		return idle.choose(&w, 0, 0, nil) == nil && !w.request
	})
	for now := 0.; now <= 4*n.end; now++ {
		for again := true; again; {
			n.jobs = slices.DeleteFunc(n.jobs, func(h onNodes) bool { return h.end <= now })
			n.running = n.running[:0]
			for i := range n.jobs {
				h := &n.jobs[i]
				if h.expect <= now {
					h.expect = now + max(60, now-h.start)
				}
				n.running = append(n.running, holder{holds: h.holds}) // they count only in limits
			}
			again = n.schedule(now)
			if n.queue == nil {
				return now
			}
		}
		for _, w := range n.queue {
			if w.request && (w.eligible > now || n.kept(w.holds)) {
				n.request++
			}
		}
	}
	return math.Inf(1)
}

// reserved holds the nodes of the first job at the earliest instant of its start.
type reserved struct {
	of    *nodeWait
	at    float64
	nodes map[int]amounts
}

// schedule starts the jobs that may start. It reports whether one of them ends at once, or a limit now keeps the job
// with the reservation. It empties the queue when the request starts.
func (n *naiveNodes) schedule(now float64) (again bool) {
	var first *reserved
	var head []forward.Holding
	for i := 0; i < len(n.queue); i++ {
		w := n.queue[i]
		if w.eligible > now || n.shut(w.plan, now) || n.kept(w.holds) {
			continue
		}
		if nodes := n.place(&w, now, first); nodes != nil {
			if w.request {
				n.queue = nil
				return false
			}
			n.jobs = append(n.jobs, onNodes{now, now + w.runtime, now + w.plan, nodes, w.holds})
			n.running = append(n.running, holder{holds: w.holds})
			n.queue = slices.Delete(n.queue, i, i+1)
			i--
			again = again || w.runtime == 0
			continue
		}
		if n.s.Policy == forward.FCFS || n.s.Policy == forward.PriorityFCFS {
			return again
		}
		if first == nil {
			first, head = &reserved{of: &w, at: math.Inf(1)}, w.holds
			for at := now + 1; at < now+n.end; at++ {
				if first.nodes = n.choose(&w, at, now, nil); first.nodes != nil {
					first.at = at
					break
				}
			}
		}
	}
	return again || n.kept(head)
}

// place returns the nodes on which a job may start without delaying the first one, or nil for none.
func (n *naiveNodes) place(w *nodeWait, now float64, first *reserved) map[int]amounts {
	if first == nil || math.IsInf(first.at, 1) || now+w.plan <= first.at {
		return n.choose(w, now, now, nil)
	}
	nodes := n.choose(w, now, now, first.nodes)
	if nodes == nil {
		return nil
	}
	n.jobs = append(n.jobs, onNodes{start: now, expect: now + w.plan, takes: nodes})
	still := n.choose(first.of, first.at, now, nil)
	n.jobs = n.jobs[:len(n.jobs)-1]
	if still == nil {
		return nil
	}
	return nodes
}
