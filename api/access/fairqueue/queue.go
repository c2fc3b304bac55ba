// Package fairqueue shares a number of slots between clients. Expensive requests are computed in the slots.
//
// A request takes a slot (Queue.Enter), reports each piece of its work before the piece begins (Request.Step), and
// gives the slot back (Request.End). While slots are free nobody waits and nobody yields. Otherwise the order is that
// of start-time fair queueing: each client has a tag that grows by the cost of each piece that the client begins, the
// client with the lowest tag goes first, and a client that was idle starts at the tag of the piece that was begun last.
// A request yields its slot between two pieces if another one goes first by that rule. While two clients both want more
// than they get, the costs that are served for them differ by at most (slots + 1) times the sum of their largest
// pieces, however many and however large their requests are.
//
// Among the requests of one client, the one that would end first under equal shares goes first, so that small ones pass
// large ones.
//
// Sources: P. Goyal, H. Vin and H. Cheng, "Start-time Fair Queuing: A Scheduling Algorithm for Integrated Services
// Packet Switching Networks", SIGCOMM 1996; for several slots W. Jin, J. Chase and J. Kaur, "Interposed Proportional
// Sharing for a Storage Service Utility", SIGMETRICS 2004 (SFQ(D) and its bound, theorem 1).
package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits bound a queue.
type Limits struct {
	// Slots is the maximum number of requests that have a slot at a time, at least 1.
	Slots int
	// PerClient is the maximum number of waiting requests of one client, Waiting that of all clients together; both at
	// least 1.
	PerClient, Waiting int
}

func (l Limits) check() error {
	if l.Slots < 1 || l.PerClient < 1 || l.Waiting < 1 {
		return fmt.Errorf("%d slots, %d requests that wait, %d of one client: want at least 1 of each", l.Slots,
			l.Waiting, l.PerClient)
	}
	return nil
}

// The reasons why a request does not get a slot, other than the end of its context.
var (
	// ErrClientFull means that the maximum number of requests of this client is waiting.
	ErrClientFull = errors.New("too many requests of this client wait for a slot")
	// ErrFull means that the maximum number of requests is waiting. Then a new request is refused, unless another
	// client has at least two more waiting requests than the client of the new one. In that case one of the other
	// client's requests is removed from the queue, and gets this error.
	ErrFull = errors.New("too many requests wait for a slot")
)

// maxResting is the maximum number of idle clients that are remembered, at about 100 bytes each. For a forgotten
// client, the cost of its last pieces is forgotten too, so its next piece may begin too early by that cost.
const maxResting = 4096

// Queue gives slots to requests. It is safe for concurrent use.
type Queue struct {
	mu       sync.Mutex
	limits   Limits
	busy     int     // slots that are taken
	waiting  int     // requests that wait
	virtual  float64 // the start tag of the piece of work that began last
	arrivals uint64
	byName   map[string]*client
	clients  ordered[*client] // clients with a waiting request
	resting  ordered[*client] // clients without a request whose tag is ahead of the virtual time
	rate     rate
	yields   uint64
}

// New returns a queue.
func New(l Limits) (*Queue, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return &Queue{limits: l, byName: map[string]*client{}}, nil
}

// Configure changes the limits. Additional slots go to waiting requests at once. If there are fewer slots than before,
// requests give up the surplus ones when their next pieces of work begin. Requests that wait keep their places.
func (q *Queue) Configure(l Limits) error {
	if err := l.check(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = l
	q.fill()
	return nil
}

// Request is a request that has a slot, or that waits for one again. It is not safe for concurrent use.
type Request struct {
	queue    *Queue
	client   *client
	piece    float64 // cost of the current piece, or of the one that it waits for
	expected float64 // cost of the work that has not begun yet
	order    float64 // under equal shares, the request ends when progress of its client has this value
	arrival  uint64
	ready    chan error // receives nil with a slot, or the reason why it gets none
	index    int        // in its client's heap
	held     bool       // it has a slot; used by its own goroutine only
	began    time.Time  // when the piece began
}

// Enter waits for a slot. The costs are estimates, in any unit that is the same for all requests: piece for the first
// piece, expected for the whole request. Enter returns ErrClientFull, ErrFull, or the cause of the context's end. If a
// slot is free, Enter takes it even if the context has ended.
func (q *Queue) Enter(ctx context.Context, name string, piece, expected float64) (*Request, error) {
	q.mu.Lock()
	c := q.of(name)
	expected = max(piece, expected)
	t := &Request{queue: q, client: c, piece: piece, expected: expected, order: c.progress + expected,
		arrival: q.arrivals, ready: make(chan error, 1), index: nowhere}
	q.arrivals++
	if q.busy < q.limits.Slots { // if there are free slots, nobody waits
		q.enqueue(t)
		q.next()
		q.mu.Unlock()
		t.take()
		return t, nil
	}
	if err := q.makeRoom(c); err != nil {
		q.rest(c)
		q.mu.Unlock()
		return nil, err
	}
	q.enqueue(t)
	q.mu.Unlock()
	if err := t.wait(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// makeRoom returns nil if another request of a client may wait, otherwise the reason why not. If too many wait in all,
// it removes one request of the client with the most waiting requests, the one that would be served last. It does so
// only if that client has at least two more waiting requests than c. The caller holds the lock.
func (q *Queue) makeRoom(c *client) error {
	if len(c.waiting) >= q.limits.PerClient {
		return ErrClientFull
	}
	if q.waiting < q.limits.Waiting {
		return nil
	}
	most := c
	for _, other := range q.clients {
		if len(other.waiting) > len(most.waiting) {
			most = other
		}
	}
	if most == c || len(most.waiting) <= len(c.waiting)+1 {
		return ErrFull
	}
	last := most.waiting[0]
	for _, t := range most.waiting {
		if last.before(t) {
			last = t
		}
	}
	q.dequeue(last)
	last.ready <- ErrFull
	q.rest(most)
	return nil
}

// Expect announces further work of the given cost.
func (t *Request) Expect(cost float64) {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.expected += cost
	t.order += cost
}

// Step reports that a piece of the work is done and that the next one, with the given cost, begins. If another request
// goes first, this one yields the slot and waits for its next turn. After an error (of the context, or ErrFull) the
// work must be stopped and End called, because the slot may be gone.
func (t *Request) Step(ctx context.Context, cost float64) error {
	q := t.queue
	now := time.Now()
	q.mu.Lock()
	q.rate.add(t.piece, now.Sub(t.began))
	t.piece = cost
	if len(q.clients) == 0 && q.busy <= q.limits.Slots {
		q.begin(t)
		q.mu.Unlock()
		t.began = now
		return nil
	}
	q.leave(t)
	q.enqueue(t)
	q.fill()
	yields := t.index != nowhere
	if yields {
		q.yields++
	}
	q.mu.Unlock()
	t.held = false
	return t.wait(ctx)
}

// End gives the slot back. A second call does nothing.
func (t *Request) End() {
	if !t.held {
		return
	}
	t.held = false
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rate.add(t.piece, time.Since(t.began))
	q.leave(t)
	q.fill()
	q.rest(t.client)
}

// leave takes the slot from a request. The caller holds the lock.
func (q *Queue) leave(t *Request) {
	q.busy--
	t.client.held--
}

// fill gives the free slots to waiting requests. The caller holds the lock.
func (q *Queue) fill() {
	for q.busy < q.limits.Slots && len(q.clients) > 0 {
		q.next().ready <- nil
	}
}

// take notes that the request has a slot.
func (t *Request) take() { t.held, t.began = true, time.Now() }

// wait waits until the request has a slot. Without a slot it returns the reason, ErrFull or the cause of the context's
// end, and the request is no longer in the queue.
func (t *Request) wait(ctx context.Context) error {
	select {
	case err := <-t.ready:
		return t.granted(err)
	case <-ctx.Done():
	}
	q := t.queue
	q.mu.Lock()
	if t.index != nowhere {
		q.dequeue(t)
		q.rest(t.client)
		q.mu.Unlock()
		return context.Cause(ctx)
	}
	q.mu.Unlock()
	return t.granted(<-t.ready) // the slot came at the same time
}

func (t *Request) granted(err error) error {
	if err == nil {
		t.take()
	}
	return err
}

// rate has sums of the costs and of the seconds of the newest pieces of work. Their quotient is the time per unit of
// cost.
type rate struct{ cost, seconds float64 }

// rateMemory is the approximate cost over which the average is taken.
const rateMemory = 1000

func (r *rate) add(cost float64, took time.Duration) {
	keep := max(0, 1-cost/rateMemory)
	r.cost, r.seconds = r.cost*keep+cost, r.seconds*keep+took.Seconds()
}

// State is the load of a queue at an instant.
type State struct {
	// Busy is the number of taken slots, Waiting the number of waiting requests, Clients the number of their clients.
	Busy, Waiting, Clients int
	// Yields counts how often a request yielded its slot to another one.
	Yields uint64
	// Records is the number of clients that are remembered.
	Records int
}

// State returns the present load of the queue.
func (q *Queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return State{Busy: q.busy, Waiting: q.waiting, Clients: len(q.clients), Yields: q.yields, Records: len(q.byName)}
}

// Delay estimates the time until one more request of a client would get a slot: the time that the client's waiting
// requests take at its share of the slots. It is 0 if no request of the client waits, or if no work has been measured
// yet.
func (q *Queue) Delay(name string) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.byName[name]
	if c == nil || q.rate.cost == 0 {
		return 0
	}
	unit := q.rate.seconds / q.rate.cost
	share := float64(q.limits.Slots) / float64(max(1, len(q.clients)))
	return time.Duration(c.expected() * unit / share * float64(time.Second))
}
