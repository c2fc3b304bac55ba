package forward

import (
	"cmp"
	"math"
	"slices"
)

// ends keeps the jobs that run by their expected ends, in blocks with the sums of their processors: a job goes in and out by moving a part of one
// block, and the instant at which enough processors are free is found by adding up blocks from the front.
type ends struct {
	items  []ending // blockSize for each block
	blocks []block  // by time
	spare  []int32
}

type ending struct {
	at   float64
	id   int32
	held int32
}

type block struct {
	last  float64 // at of its last item
	held  int
	index int32 // items[index*blockSize:] are its own
	n     int32
}

const blockSize = 64

func (e *ends) copyFrom(src *ends) {
	e.items = append(e.items[:0], src.items...)
	e.blocks = append(e.blocks[:0], src.blocks...)
	e.spare = append(e.spare[:0], src.spare...)
}

// fill makes it hold these jobs, which it sorts.
func (e *ends) fill(all []ending) {
	slices.SortFunc(all, func(a, b ending) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	e.items, e.blocks, e.spare = e.items[:0], e.blocks[:0], e.spare[:0]
	const full = blockSize * 3 / 4 // room for some that start
	for len(all) > 0 {
		n := min(full, len(all))
		b := block{index: e.fresh(), n: int32(n), last: all[n-1].at}
		copy(e.of(&b), all[:n])
		for _, it := range all[:n] {
			b.held += int(it.held)
		}
		e.blocks = append(e.blocks, b)
		all = all[n:]
	}
}

func (e *ends) of(b *block) []ending {
	from := int(b.index) * blockSize
	return e.items[from : from+int(b.n)]
}

// fresh returns the index of a block that is not used.
func (e *ends) fresh() int32 {
	if n := len(e.spare); n > 0 {
		i := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return i
	}
	n := len(e.items)
	e.items = slices.Grow(e.items, blockSize)[:n+blockSize]
	return int32(n / blockSize)
}

// find returns the first block whose last item is not before an instant; it may be len(e.blocks).
func (e *ends) find(at float64) int {
	lo, hi := 0, len(e.blocks)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if e.blocks[mid].last < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (e *ends) add(it ending) {
	if len(e.blocks) == 0 {
		e.blocks = append(e.blocks, block{index: e.fresh()})
	}
	k := min(e.find(it.at), len(e.blocks)-1)
	if e.blocks[k].n == blockSize {
		e.split(k)
		if e.blocks[k].last < it.at {
			k++
		}
	}
	b := &e.blocks[k]
	b.n++
	items := e.of(b)
	i := len(items) - 1
	for ; i > 0 && items[i-1].at > it.at; i-- {
		items[i] = items[i-1]
	}
	items[i] = it
	b.held += int(it.held)
	b.last = items[len(items)-1].at
}

// split moves the later half of a full block into a new one.
func (e *ends) split(k int) {
	late := block{index: e.fresh(), n: blockSize / 2, last: e.blocks[k].last}
	b := &e.blocks[k]
	items := e.of(b)
	copy(e.of(&late), items[blockSize/2:])
	for _, it := range items[blockSize/2:] {
		late.held += int(it.held)
	}
	b.n -= late.n
	b.held -= late.held
	b.last = items[b.n-1].at
	e.blocks = slices.Insert(e.blocks, k+1, late)
}

// remove takes out the job that was added with this instant.
func (e *ends) remove(at float64, id int32) {
	for k := e.find(at); k < len(e.blocks); k++ {
		items := e.of(&e.blocks[k])
		lo := 0
		for lo < len(items) && items[lo].at < at {
			lo++
		}
		for ; lo < len(items) && items[lo].at == at; lo++ {
			if items[lo].id == id {
				e.cut(k, lo)
				return
			}
		}
	}
}

// cut takes item i out of the k-th block.
func (e *ends) cut(k, i int) {
	b := &e.blocks[k]
	items := e.of(b)
	b.held -= int(items[i].held)
	copy(items[i:], items[i+1:])
	if b.n--; b.n > 0 {
		b.last = items[b.n-1].at
		return
	}
	e.spare = append(e.spare, b.index)
	e.blocks = slices.Delete(e.blocks, k, k+1)
}

// when returns the first instant at which jobs with so many processors, 1 or more, are expected to have ended, and how many will
// have been freed at it; +Inf if there are not so many.
func (e *ends) when(need int) (at float64, freed int) {
	at = math.Inf(1)
	for k := range e.blocks {
		b := &e.blocks[k]
		if freed+b.held < need {
			freed += b.held
			continue
		}
		for _, it := range e.of(b) {
			if freed >= need && it.at > at {
				return at, freed
			}
			if freed += int(it.held); freed >= need {
				at = it.at
			}
		}
	}
	return at, freed
}

// by returns how many processors are expected to have been freed by an instant.
func (e *ends) by(at float64) int {
	freed := 0
	for k := range e.blocks {
		b := &e.blocks[k]
		if b.last <= at {
			freed += b.held
			continue
		}
		for _, it := range e.of(b) {
			if it.at > at {
				return freed
			}
			freed += int(it.held)
		}
	}
	return freed
}
