package forward

import (
	"math"
	"slices"
)

// lateQueue has the jobs that joined the queue during a replica (if ranks move, all waiting jobs), in the order of the
// queue. A job that leaves is only marked, so that the places of the other jobs do not change until the next job joins.
// A long replica has thousands of these jobs, and most passes start none of them. With the minimum requests of blocks a
// search skips jobs that cannot start.
type lateQueue struct {
	jobs   []late
	blocks []lateBlock // of lateBlockSize jobs each
	known  int         // number of leading blocks that are up to date
	begin  int         // place of the first job that may wait
	waits  int         // the number of waiting jobs
}

// lateBlock has the minimum requests of the waiting jobs of a block.
type lateBlock struct {
	plan  float64
	procs int32
}

const lateBlockSize = 64

func (q *lateQueue) reset() { *q = lateQueue{jobs: q.jobs[:0], blocks: q.blocks[:0]} }

// insert puts a job at a place, before the job that is there.
func (q *lateQueue) insert(i int, l late) {
	q.jobs = slices.Insert(q.jobs, i, l)
	q.known, q.begin = min(q.known, i/lateBlockSize), min(q.begin, i)
	q.waits++
}

// remove marks a job as gone. Its entry stays until compact.
func (q *lateQueue) remove(i int) {
	q.jobs[i].left = true
	q.waits--
	if k := i / lateBlockSize; k < q.known {
		q.blocks[k] = q.minimum(k)
	}
}

// compact drops the entries of jobs that have left. Unless always is set, it does so only if there are many of them.
func (q *lateQueue) compact(always bool) {
	if gone := len(q.jobs) - q.waits; gone == 0 || !always && gone < lateBlockSize+q.waits {
		return
	}
	q.jobs = slices.DeleteFunc(q.jobs, func(l late) bool { return l.left })
	q.known, q.begin = 0, 0
}

// next returns the place of the first waiting job at or after a place, or the number of entries if there is none.
func (q *lateQueue) next(i int) int {
	for i < len(q.jobs) && q.jobs[i].left {
		i++
	}
	return i
}

// first returns the place of the first waiting job, or the number of entries if there is none.
func (q *lateQueue) first() int {
	q.begin = q.next(q.begin)
	return q.begin
}

// fitting returns the place of the first waiting job, at or after a place, that may start by the stairs. It returns the
// number of entries if there is none.
func (q *lateQueue) fitting(i int, stairs []stair) int {
	for i = max(i, q.begin); i < len(q.jobs); {
		end := min(len(q.jobs), i-i%lateBlockSize+lateBlockSize)
		if b := q.block(i / lateBlockSize); !fits(stairs, b.procs, b.plan) {
			i = end
			continue
		}
		for ; i < end; i++ {
			if l := &q.jobs[i]; !l.left && fits(stairs, l.procs, l.plan) {
				return i
			}
		}
	}
	return i
}

// block returns the minimum requests of a block.
func (q *lateQueue) block(k int) lateBlock {
	for q.known <= k {
		q.blocks = append(q.blocks[:q.known], q.minimum(q.known))
		q.known++
	}
	return q.blocks[k]
}

func (q *lateQueue) minimum(k int) lateBlock {
	b := lateBlock{plan: math.Inf(1), procs: math.MaxInt32}
	for i := k * lateBlockSize; i < min(len(q.jobs), (k+1)*lateBlockSize); i++ {
		if l := &q.jobs[i]; !l.left {
			b.plan, b.procs = min(b.plan, l.plan), min(b.procs, l.procs)
		}
	}
	return b
}
