package fairqueue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/api/access/fairqueue"
)

// flood sends a number of large requests of a client.
func (w *world) flood(client string, n int) (all []*request) {
	for range n {
		all = append(all, w.send(client, 1024, 1))
	}
	return all
}

// TestSmallBesideFlood proves that a client's small request gets a slot when the first piece of another client's 64
// large requests ends. From then on it has a slot whenever it wants one or, if there is only one slot, half of the
// time.
func TestSmallBesideFlood(t *testing.T) {
	for _, slots := range []int{1, 2, 16} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, fairqueue.Limits{Slots: slots, PerClient: 100, Waiting: 1000})
			all := w.flood("flood", 64)
			w.finishOldest(500)
			small := w.send("small", 4, 1)
			all = append(all, small)
			if small.began != 0 {
				t.Fatalf("%d slots: it began beside %d others", slots, len(w.running))
			}
			w.finishOldest(1)
			if small.began != 1 {
				t.Errorf("%d slots: the small request waits though a piece of the flood has ended", slots)
			}
			// The small request needs one slot at a time. With a single slot it must get half of the time; with several
			// it must get a whole slot.
			steps := 0
			for ; !small.ended && steps < 1000; steps++ {
				w.finishOldest(1)
			}
			if limit := 4*slots + slots + 4; steps > limit {
				t.Errorf("%d slots: it took %d pieces, want at most %d", slots, steps, limit)
			}
			w.end(all)
		})
	}
}

// TestAloneHasAll proves that a single client gets all slots, that its requests are computed in the order in which they
// came, and that none of them yields to another one of the same size.
func TestAloneHasAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 3, PerClient: 100, Waiting: 1000})
		var all []*request
		for range 9 {
			all = append(all, w.send("alone", 5, 1))
		}
		for i := range 45 {
			if want := min(3, 9-i/5); len(w.running) < want && i < 40 {
				t.Fatalf("%d requests have slots, want %d", len(w.running), want)
			}
			w.finishOldest(1)
		}
		for i, r := range all {
			if !r.ended || r.err != nil || r.began != 5 {
				t.Errorf("request %d: %d pieces, %v", i, r.began, r.err)
			}
		}
		if s := w.queue.State(); s.Yields != 0 || s.Records > 1 {
			t.Errorf("%+v, want no yields", s)
		}
	})
}

// TestIdleTimeIsNotOwed proves that a client that has sent no requests for long has no advantage when it returns, and
// that a client that used the slots while no other client needed them has no disadvantage.
func TestIdleTimeIsNotOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 1, PerClient: 100, Waiting: 1000})
		all := w.flood("busy", 3)
		w.finishOldest(1000)
		all = append(all, w.flood("returned", 3)...)
		from := len(w.begun)
		w.finishOldest(100)
		if n := count(w.begun[from:], "returned"); n < 49 || n > 51 {
			t.Errorf("%d of 100 pieces are the returned client's, want half", n)
		}
		w.end(all)
	})
}

// TestOfOneClient proves that a small request passes large ones of the same client, and that an endless series of small
// requests does not prevent a large one from ending.
func TestOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 1, PerClient: 100, Waiting: 1000})
		all := w.flood("one", 5)
		w.finishOldest(1500) // one request has ended
		small := w.send("one", 2, 1)
		w.finishOldest(3)
		if !small.ended {
			t.Errorf("the small request has begun %d pieces", small.began)
		}
		w.end(append(all, small))

		large := w.send("one", 50, 1)
		all = []*request{large}
		for range 20 {
			all = append(all, w.send("one", 4, 1))
		}
		steps := 0
		for ; !large.ended && steps < 2000; steps++ {
			if steps%4 == 0 {
				all = append(all, w.send("one", 4, 1))
			}
			w.finishOldest(1)
		}
		// There are at most 22 requests. After 46 pieces of each of them, later requests no longer pass the large one.
		// The 21 requests that exist then, with up to 4 pieces each, may still pass it. The large request itself has 50
		// pieces.
		if steps > 22*46+21*4+50 {
			t.Errorf("the large request took %d pieces", steps)
		}
		w.end(all)
	})
}

// TestGone proves that a request whose client has disconnected leaves the queue or, if it has a slot, gives up the slot
// at its next piece, and that Enter gives a free slot even to a request whose client has disconnected.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 1, PerClient: 100, Waiting: 1000})
		first, second := w.send("a", 10, 1), w.send("b", 10, 1)
		w.leave(second)
		if !errors.Is(second.err, context.Canceled) || w.queue.State().Waiting != 0 {
			t.Errorf("one that waited: %v, %+v", second.err, w.queue.State())
		}
		third := w.send("b", 10, 1)
		w.finishOldest(1) // the request yields to the third
		w.leave(first)
		if !errors.Is(first.err, context.Canceled) || first.began != 1 {
			t.Errorf("one that had yielded: %v after %d pieces", first.err, first.began)
		}
		fourth := w.send("c", 1, 1)
		w.leave(third)
		if !errors.Is(third.err, context.Canceled) || fourth.began != 1 {
			t.Errorf("one that had the slot: %v, after it %d", third.err, fourth.began)
		}
		w.finishOldest(1)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		turn, err := w.queue.Enter(gone, "d", 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		turn.End()
		turn.End() // a second call does nothing
		if s := w.queue.State(); s.Busy != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestBounds proves how many requests may wait, for each client and in total. If the total is reached, a new request
// replaces the last request of the client with the most waiting requests, unless its own client has as many or only one
// less; then the new request is refused.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 1, PerClient: 4, Waiting: 6})
		all := w.flood("many", 6) // one has the slot, and four wait
		if !errors.Is(all[5].err, fairqueue.ErrClientFull) || all[4].err != nil {
			t.Errorf("of one client: %v, %v", all[4].err, all[5].err)
		}
		few := w.flood("few", 2) // now six wait
		other := w.send("other", 1, 1)
		if !errors.Is(all[4].err, fairqueue.ErrFull) || all[3].err != nil || other.err != nil {
			t.Errorf("the last of many: %v, the one before: %v, the newcomer: %v", all[4].err, all[3].err, other.err)
		}
		late := w.send("few", 1, 1) // few and many have about the same number
		if !errors.Is(late.err, fairqueue.ErrFull) {
			t.Errorf("a newcomer of one that has as many: %v", late.err)
		}
		if s := w.queue.State(); s.Waiting != 6 || s.Clients != 3 {
			t.Errorf("%+v", s)
		}
		w.end(append(append(all, few...), other, late))
	})
	for _, l := range []fairqueue.Limits{{Slots: 0, PerClient: 1, Waiting: 1}, {Slots: 1, PerClient: 0, Waiting: 1},
		{Slots: 1, PerClient: 1, Waiting: 0}} {
		if _, err := fairqueue.New(l); err == nil {
			t.Errorf("%+v: want an error", l)
		}
	}
}

// TestConfigure proves that additional slots are given at once, and that a reduction takes effect with the next pieces.
func TestConfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 1, PerClient: 10, Waiting: 10})
		all := w.flood("a", 5)
		for _, slots := range []int{3, 2, 4} {
			if err := w.queue.Configure(fairqueue.Limits{Slots: slots, PerClient: 10, Waiting: 10}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			w.finishOldest(3)
			if n := len(w.running); n != slots {
				t.Errorf("%d have slots, want %d", n, slots)
			}
		}
		if err := w.queue.Configure(fairqueue.Limits{}); err == nil {
			t.Error("no slots: want an error")
		}
		w.end(all)
	})
}

// TestRecords proves that records of clients without requests are dropped.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fairqueue.Limits{Slots: 2, PerClient: 10, Waiting: 10})
		for i := range 10_000 {
			w.send(fmt.Sprint(i), 1, 1)
			w.finishOldest(1)
		}
		if s := w.queue.State(); s.Records > 4097 {
			t.Errorf("%d clients are remembered", s.Records)
		}
	})
}

// TestProperties uses random requests of random costs. It proves that no slot is idle while a request waits, that
// limits are kept, and that the amounts that two clients with waiting requests get differ at most by the bound of
// SFQ(D): (D+1) times the sum of their largest costs (Jin et al. 2004, theorem 1).
func TestProperties(t *testing.T) {
	const largest = 5
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			slots := rapid.IntRange(1, 4).Draw(r, "slots")
			w := newWorld(t, fairqueue.Limits{Slots: slots, PerClient: 8, Waiting: 20})
			clients := []string{"a", "b", "c"}
			since := map[[2]string][2]float64{} // the amounts that two clients had got when both began to wait
			var all []*request
			for range rapid.IntRange(1, 150).Draw(r, "operations") {
				switch op := rapid.IntRange(0, 9).Draw(r, "operation"); {
				case op < 4 || len(w.running) == 0:
					all = append(all, w.send(rapid.SampledFrom(clients).Draw(r, "client"),
						rapid.IntRange(1, 20).Draw(r, "pieces"), float64(rapid.IntRange(1, largest).Draw(r, "cost"))))
				case op == 4:
					w.leave(rapid.SampledFrom(all).Draw(r, "gone"))
				default:
					w.finish(rapid.SampledFrom(w.running).Draw(r, "finished"))
				}
				w.checkBounds(slots, 20)
				w.checkShares(all, clients, since, float64(slots+1)*2*largest)
			}
			w.end(all)
		})
	})
}

func (w *world) checkBounds(slots, waiting int) {
	w.t.Helper()
	s := w.queue.State()
	if s.Busy != len(w.running) || s.Busy > slots || s.Waiting > 0 && s.Busy < slots ||
		s.Waiting > waiting+slots || s.Records > 3 {
		w.t.Fatalf("%+v with %d slots, %d of them in use", s, slots, len(w.running))
	}
}

// checkShares compares the amounts that two clients got while both had waiting requests.
func (w *world) checkShares(all []*request, clients []string, since map[[2]string][2]float64, bound float64) {
	w.t.Helper()
	waits := map[string]bool{}
	for _, r := range all {
		if !r.ended && !w.has(r) {
			waits[r.client] = true
		}
	}
	for i, a := range clients {
		for _, b := range clients[i+1:] {
			pair := [2]string{a, b}
			if !waits[a] || !waits[b] {
				delete(since, pair)
				continue
			}
			from, ok := since[pair]
			if !ok {
				since[pair] = [2]float64{w.work[a], w.work[b]}
				continue
			}
			if d := math.Abs(w.work[a] - from[0] - (w.work[b] - from[1])); d > bound {
				w.t.Fatalf("%s and %s, who both wait, differ by %g, want at most %g", a, b, d, bound)
			}
		}
	}
}

// TestConcurrent lets many goroutines use one queue, for the race detector.
func TestConcurrent(t *testing.T) {
	q, err := fairqueue.New(fairqueue.Limits{Slots: 3, PerClient: 50, Waiting: 60})
	if err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	var mu sync.Mutex
	held, most := 0, 0
	for i := range 100 {
		working.Go(func() {
			for k := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				turn, err := q.Enter(ctx, fmt.Sprint(i%7), 1, 5)
				if err != nil {
					cancel()
					continue
				}
				mu.Lock()
				held++
				most = max(most, held)
				held--
				mu.Unlock()
				for range 5 {
					if k == i%20 {
						cancel()
					}
					if turn.Step(ctx, 1) != nil {
						break
					}
				}
				turn.End()
				cancel()
			}
		})
	}
	working.Wait()
	if s := q.State(); s.Busy != 0 || s.Waiting != 0 || s.Clients != 0 {
		t.Errorf("%+v", s)
	}
}
