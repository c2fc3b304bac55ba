package simulator

import "math"

// item is a job to be taken at a time; equal times go by seq, the order of insertion.
type item struct {
	time float64
	seq  uint64
	job  *Job
}

func (a item) before(b item) bool { return a.time < b.time || a.time == b.time && a.seq < b.seq }

// jobHeap is a binary heap, earliest item first. container/heap would allocate for every push.
type jobHeap []item

// first returns the earliest time, +Inf if there is none.
func (h jobHeap) first() float64 {
	if len(h) == 0 {
		return math.Inf(1)
	}
	return h[0].time
}

// due reports whether there is an item at or before t.
func (h jobHeap) due(t float64) bool { return len(h) > 0 && h[0].time <= t }

func (h *jobHeap) push(t float64, seq uint64, j *Job) {
	*h = append(*h, item{})
	a, i, it := *h, len(*h)-1, item{time: t, seq: seq, job: j}
	for i > 0 {
		up := (i - 1) / 2
		if !it.before(a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = it
}

// pop removes the earliest item of a heap that is not empty.
func (h *jobHeap) pop() *Job {
	a := *h
	j, last := a[0].job, a[len(a)-1]
	a[len(a)-1] = item{}
	a = a[:len(a)-1]
	*h = a
	for i := 0; len(a) > 0; {
		down := 2*i + 1
		if down+1 < len(a) && a[down+1].before(a[down]) {
			down++
		}
		if down >= len(a) || !a[down].before(last) {
			a[i] = last
			break
		}
		a[i] = a[down]
		i = down
	}
	return j
}

// fifo is a queue in a ring that grows by doubling.
type fifo struct {
	ring []*Job // length 0 or a power of two
	head int
	n    int
}

func (q *fifo) len() int { return q.n }

// first returns the job that has waited longest; the queue must not be empty.
func (q *fifo) first() *Job { return q.ring[q.head] }

func (q *fifo) push(j *Job) {
	if q.n == len(q.ring) {
		ring := make([]*Job, max(16, 2*q.n))
		copied := copy(ring, q.ring[q.head:])
		copy(ring[copied:], q.ring[:q.head])
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = j
	q.n++
}

func (q *fifo) pop() *Job {
	j := q.ring[q.head]
	q.ring[q.head] = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return j
}
