package simulator

import (
	"math"
	"math/bits"
)

// candidates finds the first waiting job, in the order of Pool.Seq, that is small and short enough to be backfilled.
//
// The jobs of a queue with a limit of processors form a group. All other jobs form one group. Each group is divided by
// size class; size classes are powers of two. Each such part is a lane: jobs in that order, with a tree of minima of
// size and estimate. A condition on the size is true for all jobs or for no job of a lane, except in the size class
// that contains the bound of the condition. Therefore the tree answers in O(log n). Only in lanes of that class the
// search may be in vain, and may visit all jobs in the worst case.
type candidates struct {
	lanes  []lane  // by group and class
	groups []int   // queue of each group of lanes; -1 for the group of all queues without a limit
	places []place // by Ref
}

// classes is the number of size classes. A size has at most 31 bits.
const classes = 32

// place is the lane and slot of a job.
type place struct{ lane, slot int32 }

// wanted is the condition for a backfilled job. The job has at most small processors, or it has at most large
// processors and a short estimate.
type wanted struct {
	small, large int32
	short        float64 // in seconds
}

func (w *wanted) matches(n *minima) bool {
	return n.held <= w.small || n.held <= w.large && n.plan <= w.short
}

// minima has the size and estimate of a job, or the minima of several jobs.
type minima struct {
	plan float64
	held int32
}

func vacant() minima { return minima{math.Inf(1), math.MaxInt32} }

func (m *minima) add(o minima) {
	m.plan = min(m.plan, o.plan)
	m.held = min(m.held, o.held)
}

// attach creates the lanes for the queues of a pool.
func (c *candidates) attach(p *Pool) {
	c.groups = append(c.groups[:0], -1)
	for q := range p.s.cfg.Queues {
		if p.capped(q) {
			c.groups = append(c.groups, q)
		}
	}
	c.lanes = make([]lane, classes*len(c.groups))
	c.places = c.places[:0]
}

func (c *candidates) copyFrom(src *candidates) {
	c.groups = append(c.groups[:0], src.groups...)
	c.places = append(c.places[:0], src.places...)
	if len(c.lanes) != len(src.lanes) {
		c.lanes = make([]lane, len(src.lanes))
	}
	for i := range c.lanes {
		c.lanes[i].copyFrom(&src.lanes[i])
	}
}

func class(held int) int { return bits.Len32(uint32(held - 1)) }

func (c *candidates) group(queue int) int {
	for g, q := range c.groups {
		if q == queue {
			return g
		}
	}
	return 0
}

func (c *candidates) add(p *Pool, r Ref) {
	for int(r) >= len(c.places) {
		c.places = append(c.places, place{-1, 0})
	}
	held := p.Held(r)
	i := c.group(p.Queue(r))*classes + class(held)
	l := &c.lanes[i]
	c.makeRoom(l)
	slot := len(l.refs)
	if slot > 0 && p.Seq(l.refs[slot-1]) > p.Seq(r) { // a molded job, or one that was received before
		slot = c.insert(p, l, r)
	} else {
		l.refs = append(l.refs, r)
	}
	l.alive++
	c.places[r] = place{int32(i), int32(slot)}
	l.set(slot, minima{p.Estimate(r), int32(held)})
}

// makeRoom removes the slots of jobs that have left, if the lane is full and at least half of its slots are empty.
func (c *candidates) makeRoom(l *lane) {
	if len(l.refs) < fanout || len(l.refs) < 2*l.alive || len(l.refs) < len(l.levels[0]) {
		return
	}
	n := 0
	for i, r := range l.refs {
		if r != None {
			l.refs[n], l.levels[0][n] = r, l.levels[0][i]
			c.places[r].slot = int32(n)
			n++
		}
	}
	l.refs = l.refs[:n]
	l.rebuild()
}

// insert makes a slot for a job in the middle of a lane. It is slow, which does not matter, because this is rare.
func (c *candidates) insert(p *Pool, l *lane, r Ref) int {
	at := len(l.refs)
	for at > 0 && (l.refs[at-1] == None || p.Seq(l.refs[at-1]) > p.Seq(r)) {
		at--
	}
	l.refs = append(l.refs, None)
	copy(l.refs[at+1:], l.refs[at:])
	l.refs[at] = r
	for i := at + 1; i < len(l.refs); i++ {
		if k := l.refs[i]; k != None {
			c.places[k].slot = int32(i)
		}
	}
	l.grow(len(l.refs))
	copy(l.levels[0][at+1:], l.levels[0][at:])
	l.levels[0][at] = vacant()
	l.rebuild()
	return at
}

func (c *candidates) remove(r Ref) {
	w := c.places[r]
	c.places[r].lane = -1
	l := &c.lanes[w.lane]
	l.alive--
	l.refs[w.slot] = None
	l.clear(int(w.slot))
	for n := len(l.refs); n > 0 && l.refs[n-1] == None; n-- {
		l.refs = l.refs[:n-1]
	}
}

// first returns the first waiting job that may overtake head, in the order of Pool.Seq; None if there is none. Such a
// job has at most extra processors, or it has at most the free processors and an estimate of at most short seconds.
// Limits of queues are respected: a job of head's own queue must leave enough of the limit for head.
func (c *candidates) first(p *Pool, head Ref, short float64, extra int) Ref {
	best, bestSeq := None, int64(math.MaxInt64)
	skip := c.places[head]
	for g, q := range c.groups {
		room := p.roomBeside(q, head)
		w := wanted{small: int32(min(extra, room)), large: int32(room), short: short}
		if w.large <= 0 {
			continue
		}
		for i := g * classes; i <= g*classes+class(int(w.large)); i++ {
			l := &c.lanes[i]
			if l.alive == 0 || !w.matches(&l.all) {
				continue
			}
			from := 0
			if i == int(skip.lane) {
				from = int(skip.slot) + 1
			}
			if slot := l.first(from, &w); slot >= 0 {
				if r := l.refs[slot]; p.Seq(r) < bestSeq {
					best, bestSeq = r, p.Seq(r)
				}
			}
		}
	}
	return best
}

// head returns the first waiting job that is not blocked by the limit of its queue, None if there is none.
func (c *candidates) head(p *Pool) Ref {
	if len(c.groups) == 1 {
		return p.First()
	}
	best, bestSeq := None, int64(math.MaxInt64)
	for g, q := range c.groups {
		room := int32(p.QueueRoom(q))
		w := wanted{small: room, large: room, short: math.Inf(1)}
		for i := g * classes; room > 0 && i <= g*classes+class(int(room)); i++ {
			if l := &c.lanes[i]; l.alive > 0 {
				if slot := l.first(0, &w); slot >= 0 && p.Seq(l.refs[slot]) < bestSeq {
					best, bestSeq = l.refs[slot], p.Seq(l.refs[slot])
				}
			}
		}
	}
	return best
}
