package uniformlog

import (
	"slices"
	"sort"
)

// leafCap makes a leaf fit into the allocator's 1 KiB class. leafFill leaves room for insertions after a rebuild.
const (
	leafCap  = 240
	leafFill = 180
)

// A leaf has consecutive values of the sorted list, and their sums. After each change the sums are computed again from
// all values.
type leaf struct {
	vals  [leafCap]int32
	n     int
	epoch uint64 // epoch of the list when the leaf was created; see list
	sum   uint64 // Σ x
	sumSq uint64 // Σ x²
	ranks uint64 // Σ r x, where r is 0 for the leaf's first value
}

func (l *leaf) values() []int32 { return l.vals[:l.n] }

func (l *leaf) last() int32 { return l.vals[l.n-1] }

func (l *leaf) resum() {
	l.sum, l.sumSq, l.ranks = 0, 0, 0
	for r, v := range l.values() {
		x := uint64(v)
		l.sum += x
		l.sumSq += x * x
		l.ranks += uint64(r) * x
	}
}

// A list is a sorted multiset of quantized values in leaves. No leaf is empty. Each view starts a new epoch. Other
// goroutines may read leaves of earlier epochs, so these leaves are copied before they are changed.
type list struct {
	leaves []*leaf
	n      int
	epoch  uint64
}

// fill replaces the content of the list with the given values, which must be sorted.
func (l *list) fill(sorted []int32) {
	l.n = len(sorted)
	l.leaves = make([]*leaf, 0, len(sorted)/leafFill+1)
	for chunk := range slices.Chunk(sorted, leafFill) {
		l.leaves = append(l.leaves, l.newLeaf(chunk))
	}
}

func (l *list) newLeaf(vals []int32) *leaf {
	nl := &leaf{n: len(vals), epoch: l.epoch}
	copy(nl.vals[:], vals)
	nl.resum()
	return nl
}

// view returns the present leaves. They are never changed again.
func (l *list) view() []*leaf {
	l.epoch++
	return slices.Clone(l.leaves)
}

// find returns the index of the first leaf whose last value is at least v, or the number of leaves if there is none.
func (l *list) find(v int32) int {
	return sort.Search(len(l.leaves), func(i int) bool { return l.leaves[i].last() >= v })
}

// own returns leaf i so that it may be changed. If a view may share the leaf, own copies it first.
func (l *list) own(i int) *leaf {
	lf := l.leaves[i]
	if lf.epoch != l.epoch {
		c := *lf
		c.epoch = l.epoch
		lf = &c
		l.leaves[i] = lf
	}
	return lf
}

func (l *list) insert(v int32) {
	if len(l.leaves) == 0 {
		l.fill([]int32{v})
		return
	}
	i := min(l.find(v), len(l.leaves)-1)
	lf := l.own(i)
	if lf.n == leafCap {
		right := l.newLeaf(lf.vals[leafCap/2:])
		lf.n = leafCap / 2
		lf.resum()
		l.leaves = slices.Insert(l.leaves, i+1, right)
		if v > lf.last() {
			lf = right
		}
	}
	at, _ := slices.BinarySearch(lf.values(), v)
	lf.n++
	copy(lf.vals[at+1:lf.n], lf.vals[at:])
	lf.vals[at] = v
	lf.resum()
	l.n++
}

// remove removes one value equal to v. It does nothing if there is none.
func (l *list) remove(v int32) {
	i := l.find(v)
	if i == len(l.leaves) {
		return
	}
	at, ok := slices.BinarySearch(l.leaves[i].values(), v)
	if !ok {
		return
	}
	lf := l.own(i)
	copy(lf.vals[at:], lf.vals[at+1:lf.n])
	lf.n--
	l.n--
	if lf.n == 0 {
		l.leaves = slices.Delete(l.leaves, i, i+1)
		return
	}
	lf.resum()
	if lf.n < leafCap/4 && len(l.leaves) > 1 {
		l.merge(min(i, len(l.leaves)-2))
	}
}

// merge joins leaves i and i+1 if the result has room for insertions.
func (l *list) merge(i int) {
	right := l.leaves[i+1]
	if l.leaves[i].n+right.n > leafFill {
		return
	}
	left := l.own(i)
	left.n += copy(left.vals[left.n:], right.values())
	left.resum()
	l.leaves = slices.Delete(l.leaves, i+1, i+2)
}
