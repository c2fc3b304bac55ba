package simulator

import (
	"math"
	"math/bits"
)

// candidates finds, among waiting jobs, the first in order of submission that is small and short enough to be
// backfilled.
//
// Jobs are kept by queue (where the queue has a limit of processors, else all together) and by size class, the powers
// of two: one lane each, in order of submission, under a tree of minima of size and estimate. Of all lanes but one a
// condition on the size holds for either all jobs or none, so that the tree answers in O(log n); in the lane of the
// class that the condition divides it may descend in vain, at worst through that lane.
type candidates struct {
	lanes  []lane  // classes by group
	groups []int   // queue of each group of lanes, -1 for those without a limit
	places []place // by Ref
}

// classes is the number of size classes: sizes fit into 31 bits.
const classes = 32

// place is where a job is.
type place struct{ lane, slot int32 }

// wanted is what a backfilled job must be: of at most small processors, or of at most large and a short estimate.
type wanted struct {
	small, large int32
	short        float64 // seconds
}

func (w *wanted) matches(n *minima) bool {
	return n.held <= w.small || n.held <= w.large && n.plan <= w.short
}

// minima is a job, or the least size and the least estimate of several.
type minima struct {
	plan float64
	held int32
}

func vacant() minima { return minima{math.Inf(1), math.MaxInt32} }

func (m *minima) add(o minima) {
	m.plan = min(m.plan, o.plan)
	m.held = min(m.held, o.held)
}

// attach makes lanes for the queues of a pool.
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
	if slot > 0 && p.Seq(l.refs[slot-1]) > p.Seq(r) { // molded: it goes back to where it was
		slot = c.insert(p, l, r)
	} else {
		l.refs = append(l.refs, r)
	}
	l.alive++
	c.places[r] = place{int32(i), int32(slot)}
	l.set(slot, minima{p.Estimate(r), int32(held)})
}

// makeRoom drops the slots of jobs that are gone if the lane is full and most of them are.
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

// insert makes a slot for a job in the middle of a lane: rare, so slowly.
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

// first returns the first waiting job after head that is wanted: of at most the processors free now and short, or of at
// most extra processors. Limits of queues are kept; a job of head's own queue leaves what the limit allows to head.
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

// head returns the first job that its queue's limit does not hold up.
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
