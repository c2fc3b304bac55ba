package forward

import (
	"math"
	"math/bits"
)

// layout has the waiting jobs by size. Replicas do not change it. Jobs of one size, or of a narrow range of sizes,
// form a lane. A lane has its jobs in the order of the queue, in blocks of 64.
type layout struct {
	procs  []int32 // by position in the queue
	plan   []float64
	lanes  []span  // by size
	slots  []int32 // the position of the job in each slot; -1 in the unused slots of a lane's last block
	place  []int32 // the slot, by position
	lane   []uint8 // the lane, by position
	counts [sizes]int32
}

// span is the range of a lane: sizes from lo to hi, blocks from first to end (exclusive).
type span struct {
	lo, hi     int32
	first, end int32
}

// lanes has the jobs of the layout that still wait, and the minimum requests among them.
type lanes struct {
	words []uint64  // by position: whether the job waits and may compete
	head  int       // index of the first word that may have a bit set
	lane  []minimum // of each lane
	block []minimum // of each block
}

// minimum has the smallest size and the shortest plan among some jobs. They may be those of two different jobs.
type minimum struct {
	mask  uint64 // of a block: a bit for each waiting job
	plan  float64
	procs int32
	alive int32 // the number of waiting jobs
	from  int32 // of a lane: the first block that may have a waiting job
}

const (
	// Each size up to exact has its own lane. Above it each power of two has four lanes.
	exact = 16
	sizes = exact + 1 + 4*(31-4) // the number of kinds of lanes
)

// kind returns the kind of the lane for a size. Larger sizes have larger kinds.
func kind(procs int32) int {
	if procs <= exact {
		return int(procs)
	}
	n := bits.Len32(uint32(procs)) // 5 or more
	return exact + 1 + 4*(n-5) + int(uint32(procs)>>(n-3)&3)
}

// build lays out the jobs, whose procs and plan must be set.
func (l *layout) build() {
	n := len(l.procs)
	l.place, l.lane = resize(l.place, n), resize(l.lane, n)
	clear(l.counts[:])
	for _, p := range l.procs {
		l.counts[kind(p)]++
	}
	l.lanes = l.lanes[:0]
	var index [sizes]int32
	blocks := int32(0)
	for k, c := range l.counts {
		if c == 0 {
			continue
		}
		index[k] = int32(len(l.lanes))
		end := blocks + (c+63)/64
		l.lanes = append(l.lanes, span{lo: math.MaxInt32, first: blocks, end: end})
		l.counts[k] = blocks * 64 // index of the next slot of the lane
		blocks = end
	}
	l.slots = resize(l.slots, int(blocks)*64)
	for i := range l.slots {
		l.slots[i] = -1
	}
	for i, p := range l.procs {
		k := kind(p)
		slot := l.counts[k]
		l.counts[k]++
		s := &l.lanes[index[k]]
		s.lo, s.hi = min(s.lo, p), max(s.hi, p)
		l.slots[slot], l.place[i], l.lane[i] = int32(i), slot, uint8(index[k])
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4+8)
	}
	return s[:n]
}

// none empties the lanes.
func (q *lanes) none(l *layout) {
	q.words = resize(q.words, (len(l.procs)+63)/64)
	clear(q.words)
	q.head = 0
	empty := minimum{plan: math.Inf(1), procs: math.MaxInt32}
	q.lane = resize(q.lane, len(l.lanes))
	for i := range q.lane {
		q.lane[i] = empty
		q.lane[i].from = l.lanes[i].first
	}
	q.block = resize(q.block, len(l.slots)/64)
	for i := range q.block {
		q.block[i] = empty
	}
}

func (q *lanes) copyFrom(src *lanes) {
	q.words = append(q.words[:0], src.words...)
	q.lane = append(q.lane[:0], src.lane...)
	q.block = append(q.block[:0], src.block...)
	q.head = src.head
}

// add adds a waiting job of the layout.
func (q *lanes) add(l *layout, at int) {
	q.words[at/64] |= 1 << (at % 64)
	q.head = min(q.head, at/64)
	slot := l.place[at]
	b, a := &q.block[slot/64], &q.lane[l.lane[at]]
	b.mask |= 1 << (slot % 64)
	a.from = min(a.from, slot/64)
	for _, m := range [...]*minimum{b, a} {
		m.alive++
		m.plan, m.procs = min(m.plan, l.plan[at]), min(m.procs, l.procs[at])
	}
}

// has reports whether a job waits and may compete.
func (q *lanes) has(at int) bool { return q.words[at/64]>>(at%64)&1 == 1 }

// remove removes the waiting job at a position.
func (q *lanes) remove(l *layout, at int) {
	q.words[at/64] &^= 1 << (at % 64)
	slot := l.place[at]
	b, a, s := &q.block[slot/64], &q.lane[l.lane[at]], &l.lanes[l.lane[at]]
	b.mask &^= 1 << (slot % 64)
	b.alive--
	a.alive--
	plan, procs := l.plan[at], l.procs[at]
	if plan > b.plan && (procs > b.procs || s.lo == s.hi) {
		return
	}
	b.plan, b.procs = math.Inf(1), math.MaxInt32
	for mask := b.mask; mask != 0; mask &= mask - 1 {
		i := l.slots[int(slot)&^63+bits.TrailingZeros64(mask)]
		b.plan, b.procs = min(b.plan, l.plan[i]), min(b.procs, l.procs[i])
	}
	if plan > a.plan && (procs > a.procs || s.lo == s.hi) {
		return
	}
	a.plan, a.procs = math.Inf(1), math.MaxInt32
	for k := a.from; k < s.end; k++ {
		a.plan, a.procs = min(a.plan, q.block[k].plan), min(a.procs, q.block[k].procs)
	}
}

// first returns the position of the first waiting job, or -1.
func (q *lanes) first() int {
	for ; q.head < len(q.words); q.head++ {
		if w := q.words[q.head]; w != 0 {
			return q.head*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// after returns the position of the first waiting job at or after a position, or -1.
func (q *lanes) after(at int) int {
	for k := at / 64; k < len(q.words); k++ {
		w := q.words[k]
		if k == at/64 {
			w &= ^uint64(0) << (at % 64)
		}
		if w != 0 {
			return k*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// smallest returns a lower bound of the sizes of the waiting jobs, math.MaxInt if none waits.
func (q *lanes) smallest(l *layout) int {
	for i := range q.lane {
		if q.lane[i].alive > 0 {
			return int(l.lanes[i].lo)
		}
	}
	return math.MaxInt
}

// stair describes jobs that may start now: most is their maximum size, and within is their maximum limit in seconds.
type stair struct {
	within float64
	most   int
}

// fits reports whether a job of the given size and limit may start by one of the stairs.
func fits(stairs []stair, procs int32, plan float64) bool {
	for i := range stairs {
		if int(procs) > stairs[i].most {
			return false // the later stairs are lower
		}
		if plan <= stairs[i].within {
			return true
		}
	}
	return false
}

// search returns the position of the first job that may start by the stairs. It searches positions below bound, and
// returns -1 if there is none.
func (q *lanes) search(l *layout, stairs []stair, bound int) int {
	best := bound
	for i := range l.lanes {
		if int(l.lanes[i].lo) > stairs[0].most {
			break
		}
		a := &q.lane[i]
		if a.alive == 0 || !fits(stairs, l.lanes[i].lo, a.plan) {
			continue
		}
		for a.from < l.lanes[i].end && q.block[a.from].mask == 0 {
			a.from++
		}
		for k := a.from; k < l.lanes[i].end; k++ {
			b := &q.block[k]
			if b.mask == 0 {
				continue
			}
			if int(l.slots[int(k)*64+bits.TrailingZeros64(b.mask)]) >= best {
				break
			}
			if !fits(stairs, b.procs, b.plan) {
				continue
			}
			if at := q.inBlock(l, int(k), stairs, best); at >= 0 {
				best = at
				break
			}
		}
	}
	if best == bound {
		return -1
	}
	return best
}

func (q *lanes) inBlock(l *layout, k int, stairs []stair, bound int) int {
	for mask := q.block[k].mask; mask != 0; mask &= mask - 1 {
		at := int(l.slots[k*64+bits.TrailingZeros64(mask)])
		if at >= bound {
			return -1
		}
		if fits(stairs, l.procs[at], l.plan[at]) {
			return at
		}
	}
	return -1
}
