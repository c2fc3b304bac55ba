// Package byend stores running jobs by their expected ends, and finds the instant at which a number of processors
// will be free.
//
// The jobs are in blocks of up to 64. A block has the sum of the processors of its jobs. Adding or removing a job
// moves a part of one block. [List.When] and [List.By] add up blocks from the first one on. With n jobs each
// operation takes about n/64 steps and allocates nothing.
package byend

import (
	"cmp"
	"math"
	"slices"
)

// Item is a running job.
type Item struct {
	At   float64 // expected end in seconds, from any origin; +Inf for never
	ID   int32   // number that distinguishes the job from the others
	Held int32   // number of its processors
}

// List has items in order of time. The order of items with equal times has no meaning. The zero value is empty.
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

// Reset removes all items and keeps the memory.
func (l *List) Reset() { l.items, l.blocks, l.spare = l.items[:0], l.blocks[:0], l.spare[:0] }

// CopyFrom makes the list a copy of src. It reuses the memory of the list.
func (l *List) CopyFrom(src *List) {
	l.items = append(l.items[:0], src.items...)
	l.blocks = append(l.blocks[:0], src.blocks...)
	l.spare = append(l.spare[:0], src.spare...)
}

// Fill replaces all items by the given ones. It sorts the given slice.
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

// Blocks returns the number of blocks. It is 0 only for an empty list.
func (l *List) Blocks() int { return len(l.blocks) }

// Block returns the items of the k-th block, in order of time. None of them is before an item of an earlier block.
// The slice belongs to the list and is valid until the list changes.
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

// Add adds an item.
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

// When returns the first instant by which ended items have freed the needed number of processors (need, 1 or more).
// freed is the number that they have freed then, including those of all items that end at that instant. If all items
// together have fewer processors, the instant is +Inf, and freed is their total.
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

// By returns the number of processors that are freed by an instant, including those of items that end at it.
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
