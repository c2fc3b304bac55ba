package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector/source"
)

// TestWatchHears proves that a client gets the present advice at once, and new advice when it changes. While the advice
// stays the same, the client gets only heartbeats.
func TestWatchHears(t *testing.T) {
	watching(t, func(t *testing.T, s *station) {
		e := s.listen(oneOrTwoNodes(), "")
		defer e.cancel()
		if e.status != http.StatusOK || e.header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("status %d, %v, %s", e.status, e.header, e.body)
		}
		first := e.advice(t)
		if first.Advice.Procs != 1 || first.Candidate.Procs != 1 || first.Stale || !first.AsOf.Equal(s.now) {
			t.Errorf("at first: %+v, want 1 node", first)
		}
		s.tickAt(30)
		time.Sleep(31 * time.Second) //nolint:forbidigo // the bubble's clock
		if all := e.events(); len(all) != 1 || e.notes < 2 {
			t.Errorf("nothing changed for 31 s: %d events, %d heartbeats", len(all), e.notes)
		}
		s.flip(0)
		if got := e.advice(t); got.Advice.Procs != 2 || len(e.events()) != 2 || !got.AsOf.Equal(s.now) {
			t.Errorf("both nodes are free: %+v, want 2", got.Advice)
		}
		s.flip(1)
		if got := e.advice(t); got.Advice.Procs != 1 || len(e.events()) != 3 {
			t.Errorf("one is busy again: %+v, want 1", got.Advice)
		}
	})
}

// TestWatchSteady proves that a client does not get new advice whose gain is below the minimum gain in its own request.
func TestWatchSteady(t *testing.T) {
	watching(t, func(t *testing.T, s *station) {
		calm, nervous := oneOrTwoNodes(), oneOrTwoNodes()
		calm.LeastGain = new(.5) // both nodes finish in 35 minutes, one in 60
		a, b := s.listen(calm, ""), s.listen(nervous, "")
		defer a.cancel()
		defer b.cancel()
		synctest.Wait() // otherwise the second event might replace the first
		s.flip(0)
		if len(a.events()) != 1 || a.advice(t).Advice.Procs != 1 || len(b.events()) != 2 {
			t.Errorf("%d events for whom half must be gained, %d for the other; want 1 and 2", len(a.events()),
				len(b.events()))
		}
	})
}

// TestWatchResumes proves that a client that reconnects with the id of the newest event receives nothing until the
// advice changes, even from a restarted daemon. A client that missed a change receives the new advice at once. An
// invalid id does no harm.
func TestWatchResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(twoNodes(t, 5*time.Minute, 3600), 0)
		e := s.listen(oneOrTwoNodes(), "")
		first := e.events()[0]
		e.cancel()
		s.stop()

		s = newStation(twoNodes(t, 5*time.Minute, 3600), 0) // the daemon after a restart
		defer s.stop()
		back := s.listen(oneOrTwoNodes(), first.id)
		defer back.cancel()
		if all := back.events(); back.status != http.StatusOK || len(all) != 0 {
			t.Errorf("nothing is new: status %d, %+v", back.status, all)
		}
		s.flip(0)
		if got := back.advice(t); got.Advice.Procs != 2 {
			t.Errorf("both nodes are free: %+v", got.Advice)
		}
		late := s.listen(oneOrTwoNodes(), first.id)
		defer late.cancel()
		if got := late.advice(t); got.Advice.Procs != 2 {
			t.Errorf("who missed the change hears %+v", got.Advice)
		}
		for _, id := range []string{"x", "1.", ".", "zz.!!", "-1.bWFpbi93b3JrLzE", first.id + "x"} {
			odd := s.listen(oneOrTwoNodes(), id)
			if got := odd.advice(t); got.Advice.Procs != 2 {
				t.Errorf("id %q: %+v", id, got.Advice)
			}
			odd.cancel()
		}
	})
}

// TestWatchSlow proves that a client that does not read is disconnected after its time limit and counted. Other clients
// still get their events.
func TestWatchSlow(t *testing.T) {
	watching(t, func(t *testing.T, s *station) {
		body, err := json.Marshal(oneOrTwoNodes())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.pipes.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // the test is over
		if _, err := fmt.Fprintf(conn, "GET /v1/watch?request=%s HTTP/1.1\r\nHost: memory\r\n\r\n",
			url.QueryEscape(string(body))); err != nil {
			t.Fatal(err)
		}
		e := s.listen(oneOrTwoNodes(), "")
		defer e.cancel()
		synctest.Wait()
		if n := s.metric("waitcast_watch_subscribers"); n != 2 {
			t.Errorf("%v subscribers, want 2", n)
		}
		time.Sleep(9 * time.Second) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		if n := s.metric("waitcast_watch_dropped_total"); n != 0 {
			t.Errorf("dropped after 9 s")
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		if n, dropped := s.metric("waitcast_watch_subscribers"), s.metric("waitcast_watch_dropped_total"); n != 1 ||
			dropped != 1 {
			t.Errorf("after 11 s: %v subscribers, %v dropped; want 1 and 1", n, dropped)
		}
		s.flip(0)
		if got := e.advice(t); got.Advice.Procs != 2 {
			t.Errorf("the other one hears %+v", got.Advice)
		}
	})
}

// TestWatchSharesWork proves that clients with the same request share one evaluation per view, and that a view without
// changes needs no evaluation.
func TestWatchSharesWork(t *testing.T) {
	watching(t, func(t *testing.T, s *station) {
		var all []*ear
		for i := range 40 {
			q := oneOrTwoNodes()
			if i%2 == 1 {
				q.User = "other"
			}
			all = append(all, s.listen(q, ""))
			defer all[i].cancel()
		}
		synctest.Wait()
		if n := s.metric("waitcast_watch_evaluations_total"); n != 2 {
			t.Errorf("%v evaluations for 2 questions of 40 clients", n)
		}
		s.flip(0)
		if n := s.metric("waitcast_watch_evaluations_total"); n != 4 {
			t.Errorf("%v evaluations after another view, want 4", n)
		}
		// Publishes a view again without a change.
		s.deliver(&source.Delivery{Source: s.sources["main"], CaughtUp: true})
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		if n := s.metric("waitcast_watch_evaluations_total"); n != 4 {
			t.Errorf("%v evaluations after a view without news, want 4", n)
		}
	})
}

// TestWatchBounded proves that a client beyond the maximum is refused. When a client disconnects, another one is
// accepted. A client that is refused because of its request does not count.
func TestWatchBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation(twoNodes(t, 5*time.Minute, 3600), 2)
		defer s.stop()
		bad := oneOrTwoNodes()
		bad.Sizes = []int{3}
		for range 3 {
			if e := s.listen(bad, ""); e.status != http.StatusUnprocessableEntity {
				t.Errorf("3 nodes: status %d, %s", e.status, e.body)
			}
		}
		a, b := s.listen(oneOrTwoNodes(), ""), s.listen(oneOrTwoNodes(), "")
		defer b.cancel()
		if c := s.listen(oneOrTwoNodes(), ""); c.status != http.StatusServiceUnavailable ||
			!strings.Contains(string(c.body), "2 clients watch already") {
			t.Errorf("the third: status %d, %s", c.status, c.body)
		}
		a.cancel()
		synctest.Wait()
		c := s.listen(oneOrTwoNodes(), "")
		defer c.cancel()
		if c.status != http.StatusOK {
			t.Errorf("after one has gone: status %d, %s", c.status, c.body)
		}
	})
}

// TestWatchTellsProblems proves that a client gets the reason when its request can no longer be answered, and advice
// again when it can.
func TestWatchTellsProblems(t *testing.T) {
	watching(t, func(t *testing.T, s *station) {
		q := oneOrTwoNodes()
		q.Places, q.TimeLimit, q.Running = nil, "", &wire.SizeRunning{JobID: "runs"}
		e := s.listen(q, "")
		defer e.cancel()
		if got := e.advice(t); got.Advice.Action != "expand" {
			t.Errorf("one node is free: %+v", got.Advice)
		}
		s.flip(0)
		all := e.events()
		if last := all[len(all)-1]; last.name != "problem" || last.id != "" ||
			!strings.Contains(last.data, `no job \"runs\" runs`) {
			t.Errorf("the job has ended: %+v", last)
		}
	})
}

// TestWatchStale proves that a client gets an event when the data become stale, even without a new view.
func TestWatchStale(t *testing.T) {
	watching(t, func(t *testing.T, s *station) {
		e := s.listen(oneOrTwoNodes(), "")
		defer e.cancel()
		synctest.Wait()
		s.set(s.now.Add(staleAfter + time.Second))
		time.Sleep(heartbeats) //nolint:forbidigo // the bubble's clock
		if got := e.advice(t); !got.Stale || len(e.events()) != 2 {
			t.Errorf("%d events, the newest %+v; want that it is stale", len(e.events()), got)
		}
	})
}

// heartbeats is a time that contains at least two heartbeats.
const heartbeats = 40 * time.Second

// TestWatchRefuses proves that a request that cannot be watched is refused before the stream begins.
func TestWatchRefuses(t *testing.T) {
	f := twoNodes(t, 5*time.Minute, 3600)
	for query, want := range map[string]string{
		"": "query.request", "?request=": "request", "?request={": "request: ", "?request={}": "runtime: ",
		"?request=" + url.QueryEscape(`{"colour":1}`): "colour", "?request=" +
			url.QueryEscape(
				`{"runtime":{"amdahl":{"serial":0,"t1_seconds":5}},"places":[{"queue":"elsewhere"}]}`): "unknown_queue",
		"?request=" +
			url.QueryEscape(
				`{"runtime":{"table":[{"procs":1,"seconds":5}]},"places":[{"queue":"work"}]}`): "runtime.table: ",
		"?request=" +
			url.QueryEscape(
				`{"runtime":{"amdahl":{"serial":0,"t1_seconds":5}},"places":[{"queue":"work"}]}`+
					" {}"): "request: something",
	} {
		a := f.do(http.MethodGet, "/v1/watch"+query, nil)
		if a.status < 400 || a.status > 499 || a.header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(string(a.body), want) {
			t.Errorf("%q: status %d, %s; want %q", query, a.status, a.body, want)
		}
	}
	if n := f.metric("waitcast_watch_subscribers"); n != 0 {
		t.Errorf("%v subscribers are left", n)
	}
}

// TestWatchMany proves that the memory for 1,000 clients does not grow under steady load: a view every second, and new
// advice for all of them every ten seconds, for one minute of the bubble's clock. With WAITCAST_LONG the test runs for
// five minutes of that clock.
func TestWatchMany(t *testing.T) {
	seconds := 60
	if long() {
		seconds = 300
	}
	watching(t, func(_ *testing.T, s *station) { s.crowd(1000, seconds) })
}

// crowd lets a number of clients watch for a number of seconds.
func (s *station) crowd(clients, seconds int) {
	s.Helper()
	ears := make([]*ear, clients)
	for i := range ears {
		ears[i] = s.listen(oneOrTwoNodes(), "")
		defer ears[i].cancel()
		ears[i].mu.Lock()
		ears[i].brief = true
		ears[i].mu.Unlock()
	}
	s.rest() // otherwise the second event might replace the first
	flips := 0
	var early uint64
	for second := range seconds {
		if second%10 == 0 {
			s.flip(flips)
			flips++
		} else {
			s.tickAt(1)
		}
		if second == seconds/5 {
			early = heap()
		}
	}
	if late := heap(); late > early+early/4+4<<20 {
		s.Errorf("%d bytes after a fifth of the time, %d at the end", early, late)
	}
	s.Logf("%d clients, %d s: %d MB after a fifth of the time, %d at the end", clients, seconds, early>>20, heap()>>20)
	for _, e := range ears {
		e.mu.Lock()
		got, ended := len(e.heard), e.ended
		e.mu.Unlock()
		if got != 1+flips || ended {
			s.Fatalf("a client heard %d events, want %d", got, 1+flips)
		}
	}
	if n := s.metric("waitcast_watch_evaluations_total"); n > float64(1+seconds) {
		s.Errorf("%v evaluations for %d views", n, seconds)
	}
}

// TestWatchLoopback does the same as TestWatchMany for five minutes over real connections and with a real clock.
func TestWatchLoopback(t *testing.T) {
	if !long() {
		t.Skip("five minutes of 1,000 connections: only with WAITCAST_LONG=1")
	}
	s := newStation(twoNodes(t, 5*time.Minute, 3600), 0)
	defer s.stop()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.server.Serve(listener) }() // returns when the station stops
	s.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		}, DisableKeepAlives: true,
	}}
	s.rest = func() {
		timer := time.NewTimer(time.Second)
		<-timer.C
	}
	s.crowd(1000, 300)
}

func long() bool { return os.Getenv("WAITCAST_LONG") != "" }

// heap returns the bytes of the heap in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
