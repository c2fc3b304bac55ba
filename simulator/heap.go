package simulator

import "math"

// item is a job to be taken at a time; equal times go by seq, the order of insertion.
type item struct {
	time float64
	seq  int64
	ref  Ref
}

func (a *item) before(b *item) bool { return a.time < b.time || a.time == b.time && a.seq < b.seq }

// heap is a heap of four children a node, earliest item first. container/heap would allocate for every push, and a binary
// heap of 10,000 jobs misses the cache more often.
type heap []item

// first returns the earliest time, +Inf if there is none.
func (h heap) first() float64 {
	if len(h) == 0 {
		return math.Inf(1)
	}
	return h[0].time
}

// due reports whether there is an item at or before t.
func (h heap) due(t float64) bool { return len(h) > 0 && h[0].time <= t }

func (h *heap) push(it item) {
	*h = append(*h, it)
	a, i := *h, len(*h)-1
	for i > 0 {
		up := (i - 1) / 4
		if !it.before(&a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = it
}

// pop removes the earliest item of a heap that is not empty.
func (h *heap) pop() item {
	a := *h
	n := len(a) - 1
	top, last := a[0], a[n]
	a = a[:n]
	*h = a
	if n > 0 {
		a.sink(0, last)
	}
	return top
}

// sink puts an item into the hole at i or below it.
func (h heap) sink(i int, it item) {
	for {
		kids := 4*i + 1
		if kids >= len(h) {
			break
		}
		least := kids
		for k := kids + 1; k < min(kids+4, len(h)); k++ {
			if h[k].before(&h[least]) {
				least = k
			}
		}
		if !h[least].before(&it) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = it
}

// build makes a heap of items in any order.
func (h heap) build() {
	for i := (len(h) - 2) / 4; i >= 0 && len(h) > 1; i-- {
		h.sink(i, h[i])
	}
}
