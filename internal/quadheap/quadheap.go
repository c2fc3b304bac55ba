// Package quadheap is a heap of instants with four children a node. container/heap would allocate for every push, and a
// binary heap of 10,000 jobs misses the cache more often.
package quadheap

import "math"

// Item is a job to be taken at an instant. Of equal instants the lesser number comes first; those of equal numbers come
// in an order that is the same for the same history.
type Item struct {
	At  float64 // seconds from any origin, or +Inf; not NaN
	Seq int64
	ID  int32 // the caller's
}

func (a *Item) before(b *Item) bool { return a.At < b.At || a.At == b.At && a.Seq < b.Seq }

// Heap is items with the earliest one first, and no order of the others that means anything. The zero value is empty.
// What changes or appends items without [Heap.Push] calls [Heap.Build] after that.
type Heap []Item

// First returns the earliest instant, +Inf if there is none.
func (h Heap) First() float64 {
	if len(h) == 0 {
		return math.Inf(1)
	}
	return h[0].At
}

// Due reports whether there is an item at or before an instant.
func (h Heap) Due(at float64) bool { return len(h) > 0 && h[0].At <= at }

// Push puts an item in.
func (h *Heap) Push(it Item) {
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

// Pop takes out the earliest item of a heap that is not empty.
func (h *Heap) Pop() Item {
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

// sink puts an item into the free place i, or below it.
func (h Heap) sink(i int, it Item) {
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for k := first + 1; k < min(first+4, len(h)); k++ {
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

// Build makes a heap of items in any order.
func (h Heap) Build() {
	for i := (len(h) - 2) / 4; i >= 0 && len(h) > 1; i-- {
		h.sink(i, h[i])
	}
}
