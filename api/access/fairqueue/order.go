package fairqueue

import "container/heap"

// client is a client with requests that wait or have slots, or with a start tag above the virtual time.
type client struct {
	name string
	// tag is the start tag of the client's next piece of work, in units of cost.
	tag float64
	// progress is the cost of the work that each request of the client would have got so far if they shared equally.
	progress float64
	waiting  ordered[*Request]
	held     int // number of slots of its requests
	index    int // index in its heap
}

// before reports whether a client is served before another one: the one with the lower start tag goes first. If the
// tags are equal and both have waiting requests, it is the one whose first waiting request arrived earlier.
func (c *client) before(other *client) bool {
	if c.tag != other.tag || len(c.waiting) == 0 || len(other.waiting) == 0 {
		return c.tag < other.tag
	}
	return c.waiting[0].arrival < other.waiting[0].arrival
}

func (c *client) setIndex(i int) { c.index = i }

// expected returns the cost of the work of the client's waiting requests that has not begun.
func (c *client) expected() (sum float64) {
	for _, t := range c.waiting {
		sum += t.expected
	}
	return sum
}

// before reports whether a request is served before another one of the same client. The request that would end first
// under equal shares (weighted fair queueing) goes first; if both would end together, the earlier one. So a small
// request may pass a large one that came before it.
func (t *Request) before(other *Request) bool {
	if t.order != other.order {
		return t.order < other.order
	}
	return t.arrival < other.arrival
}

func (t *Request) setIndex(i int) { t.index = i }

// element is an element of a heap that knows its order and its index.
type element[T any] interface {
	before(other T) bool
	setIndex(i int)
}

var (
	_ element[*client]  = (*client)(nil)
	_ element[*Request] = (*Request)(nil)
)

// ordered is a heap (see container/heap) whose first element comes before all others.
type ordered[T element[T]] []T

// Len implements heap.Interface.
func (h ordered[T]) Len() int { return len(h) }

// Less implements heap.Interface.
func (h ordered[T]) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap implements heap.Interface.
func (h ordered[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].setIndex(i)
	h[j].setIndex(j)
}

// Push implements heap.Interface.
func (h *ordered[T]) Push(x any) {
	x.(T).setIndex(len(*h))
	*h = append(*h, x.(T))
}

// Pop implements heap.Interface.
func (h *ordered[T]) Pop() any {
	var none T
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	x.setIndex(nowhere)
	return x
}

// nowhere is the index of an element that is in no heap.
const nowhere = -1

// enqueue adds a request to the waiting ones. The caller holds the lock.
func (q *Queue) enqueue(t *Request) {
	c := t.client
	heap.Push(&c.waiting, t)
	if len(c.waiting) == 1 {
		heap.Push(&q.clients, c)
	} else {
		heap.Fix(&q.clients, c.index)
	}
	q.waiting++
}

// dequeue removes a waiting request from the queue. The caller holds the lock.
func (q *Queue) dequeue(t *Request) {
	c := t.client
	heap.Remove(&c.waiting, t.index)
	if len(c.waiting) == 0 {
		heap.Remove(&q.clients, c.index)
	} else {
		heap.Fix(&q.clients, c.index)
	}
	q.waiting--
}

// begin charges the client of a request for a piece of work that begins. If the virtual time is below the client's
// start tag, it rises to that tag. Then begin drops the records of resting clients whose tags are not above the virtual
// time. The caller holds the lock.
func (q *Queue) begin(t *Request) {
	c := t.client
	q.virtual = max(q.virtual, c.tag)
	c.tag += t.piece
	c.progress += t.piece / float64(max(1, len(c.waiting)+c.held))
	t.expected = max(0, t.expected-t.piece)
	if len(c.waiting) > 0 {
		heap.Fix(&q.clients, c.index)
	}
	for len(q.resting) > 0 && q.resting[0].tag <= q.virtual {
		q.forget()
	}
}

// next gives a free slot to the request that goes first, and returns that request. At least one request must wait. The
// caller holds the lock.
func (q *Queue) next() *Request {
	t := q.clients[0].waiting[0]
	q.dequeue(t)
	q.busy++
	t.client.held++
	q.begin(t)
	return t
}

// of returns the record of a client that has a new request, and makes the record if there is none. If no other request
// of the client waits, the client's tag is raised to the virtual time unless it is higher, so that idle time gives no
// credit. The caller holds the lock, and must then enqueue a request of the client or call rest.
func (q *Queue) of(name string) *client {
	c := q.byName[name]
	if c == nil {
		c = &client{name: name, index: nowhere}
		q.byName[name] = c
	}
	if len(c.waiting) == 0 {
		if c.index != nowhere { // remove c before its tag changes, because its place in the heap depends on the tag
			heap.Remove(&q.resting, c.index)
		}
		c.tag = max(c.tag, q.virtual)
	}
	return c
}

// rest drops the record of a client if it has no requests. If its tag is above the virtual time, the record is kept for
// now, as one of at most maxResting. The caller holds the lock.
func (q *Queue) rest(c *client) {
	if len(c.waiting) > 0 || c.held > 0 {
		return
	}
	if c.tag <= q.virtual {
		delete(q.byName, c.name)
		return
	}
	heap.Push(&q.resting, c)
	if len(q.resting) > maxResting {
		q.forget()
	}
}

// forget drops the record of the resting client with the lowest tag. The caller holds the lock.
func (q *Queue) forget() {
	c := heap.Pop(&q.resting).(*client)
	delete(q.byName, c.name)
}
