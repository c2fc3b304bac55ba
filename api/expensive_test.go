package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
)

// sharing returns a server whose expensive requests share the given slots.
func sharing(t *testing.T, limits access.Limits) *fixture {
	t.Helper()
	f := crowded(t, 300, 100)
	g, err := access.New(access.Options{Policy: access.Default(), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	f.registry = prometheus.NewRegistry()
	f.server = api.New(f.pipeline, api.Options{Version: "test", StaleAfter: staleAfter, Now: f.clock,
		Registry: f.registry, Log: zap.NewNop(), Guard: g})
	return f
}

// postFrom returns the answer to a request from an address.
func (f *fixture) postFrom(address, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(f.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(w, r)
	return w
}

// manySizes returns a request with a number of sizes and 4 time limits.
func manySizes(t testing.TB, sizes int) string {
	q := wire.WaitsRequest{TimeLimits: []string{"1h", "2h", "4h", "8h"}}
	for i := range sizes {
		q.Procs = append(q.Procs, i+1)
	}
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSmallQuestionPasses proves, by the order of the answers, that with one slot a small request of one client is
// computed before earlier large requests of another client, because these yield between candidates.
func TestSmallQuestionPasses(t *testing.T) {
	f := sharing(t, access.Limits{Expensive: 1, ExpensiveWaiting: 100})
	const floods = 12
	large := manySizes(t, 256)
	var done, asking atomic.Int64
	var clients sync.WaitGroup
	for range floods {
		clients.Go(func() {
			asking.Add(1)
			if w := f.postFrom("192.0.2.1:1", "/v1/wait", large); w.Code != http.StatusOK {
				t.Errorf("a large question: %d %s", w.Code, w.Body)
			}
			done.Add(1)
		})
	}
	for asking.Load() < floods || done.Load() == 0 { // wait until the slot is in use and others wait
		w := f.postFrom("192.0.2.1:1", "/v1/size", "{}") // a request of the same client, which wakes the queue
		if w.Code == http.StatusOK {
			t.Fatal("a question without runtimes was answered")
		}
	}
	before := done.Load()
	w := f.postFrom("192.0.2.2:1", "/v1/wait", manySizes(t, 1))
	after := done.Load()
	clients.Wait()
	if w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// On a busy machine some large requests may end before the small request is decoded.
	if before > floods/2 || after-before > floods/2 {
		t.Errorf("%d of %d large questions had their answer before, %d while the small one waited", before, floods,
			after-before)
	}
}

// TestTooManyQuestions proves that a client with too many waiting requests is refused at once, with the time after
// which it may retry, for requests as for watching. Another client is not refused.
func TestTooManyQuestions(t *testing.T) {
	f := sharing(t, access.Limits{Expensive: 1, ExpensiveWaiting: 1})
	large := manySizes(t, 256)
	refused := make(chan *httptest.ResponseRecorder, 100)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 3 {
				if w := f.postFrom("192.0.2.1:1", "/v1/wait", large); w.Code != http.StatusOK {
					refused <- w
				}
			}
		})
	}
	if w := f.postFrom("192.0.2.2:1", "/v1/wait", manySizes(t, 1)); w.Code != http.StatusOK {
		t.Errorf("another client: %d %s", w.Code, w.Body)
	}
	clients.Wait()
	close(refused)
	if len(refused) == 0 {
		t.Fatal("8 clients at a time were all answered; one request is computed and one may wait")
	}
	for w := range refused {
		var p wire.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != http.StatusTooManyRequests ||
			w.Code != p.Status || w.Header().Get("Retry-After") == "" ||
			!strings.Contains(p.Hint, "expensive_waiting") {
			t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
}

// deadlineRecorder is a ResponseWriter that records the newest deadline for reading from the client.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	set  bool
	read time.Time
}

// SetReadDeadline implements the interface that http.ResponseController uses.
func (w *deadlineRecorder) SetReadDeadline(at time.Time) error {
	w.set, w.read = true, at
	return nil
}

// TestLongQuestionIsNotCancelled proves that there is no deadline for reading once the body of a request has arrived.
// If such a deadline passed, net/http would cancel the request and all later ones on the connection.
func TestLongQuestionIsNotCancelled(t *testing.T) {
	f := sharing(t, access.Limits{Expensive: 1, ExpensiveWaiting: 1})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/wait", strings.NewReader(manySizes(t, 1)))
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = "192.0.2.1:1"
	w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
	f.server.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK || !w.set || !w.read.IsZero() {
		t.Errorf("%d, a deadline was set: %v, it stands at %s", w.Code, w.set, w.read)
	}
}
