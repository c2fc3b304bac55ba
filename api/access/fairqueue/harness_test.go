package fairqueue_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/waitcast/waitcast/api/access/fairqueue"
)

// world runs requests whose pieces end when the test wants. No result depends on a clock. Each method returns when all
// requests wait for a slot or for the test.
type world struct {
	t     *testing.T
	queue *fairqueue.Queue

	mu      sync.Mutex // guards what goroutines share; the test reads it while all of them wait
	running []*request // requests with a slot, in the order in which they got it
	begun   []string   // clients whose pieces began, in order
	work    map[string]float64
}

// request is a request of a client. Its pieces have equal costs.
type request struct {
	client string
	cost   float64
	pieces int
	cancel context.CancelFunc
	done   chan struct{} // the test sends here when the piece that has begun is done
	began  int           // number of pieces that have begun
	err    error
	ended  bool
}

func newWorld(t *testing.T, l fairqueue.Limits) *world {
	t.Helper()
	q, err := fairqueue.New(l)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, queue: q, work: map[string]float64{}}
}

// send makes a client send a request.
func (w *world) send(client string, pieces int, cost float64) *request {
	ctx, cancel := context.WithCancel(context.Background())
	r := &request{client: client, cost: cost, pieces: pieces, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer cancel()
		turn, err := w.queue.Enter(ctx, client, cost, cost*float64(pieces))
		for err == nil {
			w.note(r)
			<-r.done
			if r.began == pieces {
				break
			}
			err = turn.Step(ctx, cost)
		}
		if turn != nil {
			turn.End()
		}
		r.err, r.ended = err, true
	}()
	synctest.Wait()
	return r
}

// note records that a piece of a request began.
func (w *world) note(r *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.began++
	w.begun = append(w.begun, r.client)
	w.work[r.client] += r.cost
	w.running = append(w.running, r)
}

func (w *world) drop(r *request) {
	w.running = slices.DeleteFunc(w.running, func(o *request) bool { return o == r })
}

// finish ends the current piece of a request that has a slot.
func (w *world) finish(r *request) {
	w.drop(r) // a request that keeps its slot is added again
	r.done <- struct{}{}
	synctest.Wait()
}

// finishOldest ends n pieces, one after the other: each time the running piece that began first.
func (w *world) finishOldest(n int) {
	for range n {
		w.finish(w.running[0])
	}
}

// leave cancels a request and lets it end.
func (w *world) leave(r *request) {
	r.cancel()
	synctest.Wait()
	if slices.Contains(w.running, r) {
		w.finish(r)
	}
}

// end cancels all requests.
func (w *world) end(all []*request) {
	for _, r := range all {
		r.cancel()
	}
	synctest.Wait()
	for len(w.running) > 0 {
		w.finish(w.running[0])
	}
	if s := w.queue.State(); s.Busy != 0 || s.Waiting != 0 || s.Clients != 0 {
		w.t.Errorf("after all have gone: %+v", s)
	}
}

// count returns the number of pieces in begun that belong to a client.
func count(begun []string, client string) (n int) {
	for _, c := range begun {
		if c == client {
			n++
		}
	}
	return n
}

// has reports whether a request has a slot.
func (w *world) has(r *request) bool { return slices.Contains(w.running, r) }
