package simulator

import "math"

// ends keeps running jobs by their expected end, with the sum of their processors, in blocks: a job goes in and out by moving a part of one
// block, and the instant at which enough processors are free is found by adding up blocks from the front.
type ends struct {
	items []endItem // blockSize per block
	order []block   // by time
	spare []int32   // blocks that nobody uses
}

type endItem struct {
	at   float64
	seq  int64 // of the job: with at, the key
	held int32
	ref  Ref
}

type block struct {
	at    float64 // of its last item
	held  int
	index int32 // in items
	n     int32
}

const blockSize = 64

func (e *ends) reset() {
	e.items, e.order, e.spare = e.items[:0], e.order[:0], e.spare[:0]
}

func (e *ends) copyFrom(src *ends) {
	e.items = append(e.items[:0], src.items...)
	e.order = append(e.order[:0], src.order...)
	e.spare = append(e.spare[:0], src.spare...)
}

func (e *ends) of(b *block) []endItem {
	from := int(b.index) * blockSize
	return e.items[from : from+int(b.n) : from+blockSize]
}

// find returns the first block whose last item is not before the time, and may be len(order).
func (e *ends) find(at float64) int {
	lo, hi := 0, len(e.order)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if e.order[mid].at < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (e *ends) add(it endItem) {
	if len(e.order) == 0 {
		e.order = append(e.order, block{index: e.newBlock()})
	}
	k := min(e.find(it.at), len(e.order)-1)
	if e.order[k].n == blockSize {
		e.split(k)
		if e.order[k].at < it.at {
			k++
		}
	}
	b := &e.order[k]
	b.n++
	items := e.of(b)
	i := len(items) - 1
	for ; i > 0 && items[i-1].at > it.at; i-- {
		items[i] = items[i-1]
	}
	items[i] = it
	b.held += int(it.held)
	b.at = items[len(items)-1].at
}

// newBlock returns the index of a block that is free.
func (e *ends) newBlock() int32 {
	if n := len(e.spare); n > 0 {
		i := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return i
	}
	n := len(e.items)
	for range blockSize {
		e.items = append(e.items, endItem{})
	}
	return int32(n / blockSize)
}

// split moves the later half of a full block to a new one.
func (e *ends) split(k int) {
	later := block{index: e.newBlock(), n: blockSize / 2, at: e.order[k].at}
	b := &e.order[k]
	b.n -= later.n
	half := e.of(&later)
	from := int(b.index)*blockSize + int(b.n)
	copy(half, e.items[from:from+len(half)])
	for i := range half {
		later.held += int(half[i].held)
	}
	b.held -= later.held
	b.at = e.items[from-1].at
	e.order = append(e.order, block{})
	copy(e.order[k+2:], e.order[k+1:])
	e.order[k+1] = later
}

// remove takes out the job that add was given with this time and number.
func (e *ends) remove(at float64, seq int64) {
	for k := e.find(at); k < len(e.order); k++ {
		b := &e.order[k]
		items := e.of(b)
		i := 0
		for i < len(items) && items[i].at < at {
			i++
		}
		for ; i < len(items) && items[i].at == at; i++ {
			if items[i].seq == seq {
				e.cut(k, i)
				return
			}
		}
	}
}

// cut takes item i out of the k-th block.
func (e *ends) cut(k, i int) {
	b := &e.order[k]
	items := e.of(b)
	b.held -= int(items[i].held)
	copy(items[i:], items[i+1:])
	if b.n--; b.n > 0 {
		b.at = items[b.n-1].at
		return
	}
	e.spare = append(e.spare, b.index)
	e.order = append(e.order[:k], e.order[k+1:]...)
}

// when returns the first instant at which jobs with so many processors in all are expected to have ended, and how many
// processors will have been freed at that instant; +Inf if there are not so many.
func (e *ends) when(need int) (at float64, freed int) {
	at = math.Inf(1)
	for k := range e.order {
		b := &e.order[k]
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
