// Package byend keeps running jobs by the instants at which they are expected to end, and finds when a number of
// processors will be free.
//
// The jobs are in blocks of up to 64 with the sums of their processors: a job goes in and out by moving a part of one
// block, and [List.When] and [List.By] add up blocks from the front, so that with n jobs each takes some n/64 steps and
// no memory of its own.
package byend

import (
	"cmp"
	"math"
	"slices"
)

// Item is a job that runs.
type Item struct {
	At   float64 // when it is expected to end, in seconds from any origin; +Inf for never
	ID   int32   // tells it from the others
	Held int32   // its processors
}

// List is items in order of time; the order within an instant means nothing. The zero value is empty.
type List struct {
	items  []Item  // blockSize items for each index of a block
	blocks []block // in order of time
	spare  []int32 // indexes of unused blocks
}

type block struct {
	last  float64 // At of the block's last item
	held  int
	index int32 // items[index*blockSize:] belong to this block
	n     int32
}

const blockSize = 64

// Reset empties the list and keeps its memory.
func (l *List) Reset() { l.items, l.blocks, l.spare = l.items[:0], l.blocks[:0], l.spare[:0] }

// CopyFrom makes it a copy, in the memory it has.
func (l *List) CopyFrom(src *List) {
	l.items = append(l.items[:0], src.items...)
	l.blocks = append(l.blocks[:0], src.blocks...)
	l.spare = append(l.spare[:0], src.spare...)
}

// Fill makes it hold these items and no others; it sorts them where they are.
func (l *List) Fill(all []Item) {
	slices.SortFunc(all, func(a, b Item) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	l.Reset()
	const full = blockSize * 3 / 4 // leaves room for jobs that start
	for some := range slices.Chunk(all, full) {
		b := block{index: l.fresh(), n: int32(len(some)), last: some[len(some)-1].At}
		copy(l.of(&b), some)
		for _, it := range some {
			b.held += int(it.Held)
		}
		l.blocks = append(l.blocks, b)
	}
}

// Blocks returns how many blocks there are, 0 only for an empty list.
func (l *List) Blocks() int { return len(l.blocks) }

// Block returns the items of the k-th block, in order of time and none before those of the blocks ahead; they belong to
// the list, until it changes.
func (l *List) Block(k int) []Item { return l.of(&l.blocks[k]) }

func (l *List) of(b *block) []Item {
	from := int(b.index) * blockSize
	return l.items[from : from+int(b.n)]
}

// fresh returns the index of an unused block.
func (l *List) fresh() int32 {
	if n := len(l.spare); n > 0 {
		i := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return i
	}
	n := len(l.items)
	l.items = slices.Grow(l.items, blockSize)[:n+blockSize]
	return int32(n / blockSize)
}

// find returns the index of the first block whose last item is at or after an instant, or len(l.blocks).
func (l *List) find(at float64) int {
	lo, hi := 0, len(l.blocks)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l.blocks[mid].last < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Add puts an item in.
func (l *List) Add(it Item) {
	if len(l.blocks) == 0 {
		l.blocks = append(l.blocks, block{index: l.fresh()})
	}
	k := min(l.find(it.At), len(l.blocks)-1)
	if l.blocks[k].n == blockSize {
		l.split(k)
		if l.blocks[k].last < it.At {
			k++
		}
	}
	b := &l.blocks[k]
	b.n++
	items := l.of(b)
	i := len(items) - 1
	for ; i > 0 && items[i-1].At > it.At; i-- {
		items[i] = items[i-1]
	}
	items[i] = it
	b.held += int(it.Held)
	b.last = items[len(items)-1].At
}

// split moves the second half of a full block into a new block.
func (l *List) split(k int) {
	late := block{index: l.fresh(), n: blockSize / 2, last: l.blocks[k].last}
	b := &l.blocks[k]
	items := l.of(b)
	copy(l.of(&late), items[blockSize/2:])
	for _, it := range items[blockSize/2:] {
		late.held += int(it.Held)
	}
	b.n -= late.n
	b.held -= late.held
	b.last = items[b.n-1].At
	l.blocks = slices.Insert(l.blocks, k+1, late)
}

// Remove removes the item that was added with this instant and number. It does nothing if there is none.
func (l *List) Remove(at float64, id int32) {
	for k := l.find(at); k < len(l.blocks); k++ {
		items := l.Block(k)
		i := 0
		for i < len(items) && items[i].At < at {
			i++
		}
		for ; i < len(items) && items[i].At == at; i++ {
			if items[i].ID == id {
				l.cut(k, i)
				return
			}
		}
		if i < len(items) {
			return
		}
	}
}

// cut removes item i of the k-th block.
func (l *List) cut(k, i int) {
	b := &l.blocks[k]
	items := l.of(b)
	b.held -= int(items[i].Held)
	copy(items[i:], items[i+1:])
	if b.n--; b.n > 0 {
		b.last = items[b.n-1].At
		return
	}
	l.spare = append(l.spare, b.index)
	l.blocks = slices.Delete(l.blocks, k, k+1)
}

// When returns the first instant at which ended items have freed at least procs processors (1 or more), and how many
// have been freed then, including all items that end at that instant. If all items together hold fewer, the instant is
// +Inf and freed is what they hold.
func (l *List) When(need int) (at float64, freed int) {
	at = math.Inf(1)
	for k := range l.blocks {
		b := &l.blocks[k]
		if freed+b.held < need {
			freed += b.held
			continue
		}
		for _, it := range l.of(b) {
			if freed >= need && it.At > at {
				return at, freed
			}
			if freed += int(it.Held); freed >= need {
				at = it.At
			}
		}
	}
	return at, freed
}

// By returns how many processors have been freed by an instant, those of items that end at it included.
func (l *List) By(at float64) int {
	freed := 0
	for k := range l.blocks {
		b := &l.blocks[k]
		if b.last <= at {
			freed += b.held
			continue
		}
		for _, it := range l.of(b) {
			if it.At > at {
				return freed
			}
			freed += int(it.Held)
		}
	}
	return freed
}
