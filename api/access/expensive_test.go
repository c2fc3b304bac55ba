package access_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
)

// TestExpensiveQuestions proves that the number of expensive requests computed at a time is limited, that others wait
// up to 5 s for a slot, and that the number of waiting requests of one client is limited. It also checks the answer to
// a request that gets no slot.
func TestExpensiveQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, access.Options{Limits: access.Limits{Expensive: 1, ExpensiveWaiting: 2}})
		type outcome struct {
			slot  *access.Slot
			p     *wire.Problem
			retry time.Duration
			after time.Duration
		}
		// enter returns a function that returns the outcome, or an empty one as long as there is none.
		enter := func(ctx context.Context, client string) func() outcome {
			var mu sync.Mutex
			var o outcome
			began := time.Now()
			go func() {
				slot, p, retry := g.Enter(ctx, access.Caller{Client: client}, 1, 10)
				mu.Lock()
				defer mu.Unlock()
				o = outcome{slot, p, retry, time.Since(began)}
			}()
			return func() outcome {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				return o
			}
		}
		first := enter(t.Context(), "a")()
		if first.slot == nil {
			t.Fatalf("%+v", first.p)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if o := enter(gone, "a")(); o.p == nil || o.p.Status != http.StatusServiceUnavailable || o.after != 0 {
			t.Errorf("one whose client is gone: %+v", o)
		}
		waits := []func() outcome{enter(t.Context(), "a"), enter(t.Context(), "a")}
		synctest.Wait()
		if o := enter(t.Context(), "a")(); o.p == nil || o.p.Status != http.StatusTooManyRequests ||
			o.retry < time.Second {
			t.Errorf("one too many of a client: %+v", o)
		}
		waits = append(waits, enter(t.Context(), "b"))
		synctest.Wait()
		first.slot.End()
		got := 0
		for _, o := range waits {
			if o().slot != nil {
				got++
			}
		}
		if got != 1 {
			t.Errorf("%d got the slot that came free", got)
		}
		<-time.After(6 * time.Second) // on the clock of testing/synctest
		for _, wait := range waits {
			o := wait()
			if o.slot == nil && (o.p == nil || o.p.Status != http.StatusServiceUnavailable ||
				o.after != 5*time.Second) {
				t.Errorf("one that waited too long: %+v", o)
			}
		}
		const name = "waitcast_http_refused_total"
		want := "# HELP " + name + " HTTP requests refused for the caller's credential or load, by reason: " +
			"credential (wrong), missing (no credential), role, cross_origin, host (of another site), rate, " +
			"connections (on the reserve), queue (too many of the client wait for a slot), busy (no slot in time).\n" +
			"# TYPE " + name + " counter\n"
		for _, line := range []string{`busy"} 3`, `connections"} 0`, `credential"} 0`,
			`cross_origin"} 0`, `host"} 0`, `missing"} 0`, `queue"} 1`,
			`rate"} 0`, `role"} 0`} {
			want += name + `{reason="` + line + "\n"
		}
		if err := testutil.GatherAndCompare(g.registry, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	})
}

// TestClientOfShares proves which callers share slots: those with the same credential or, without one, with the same
// address as reported by trusted proxies. Of an IPv6 address the first 64 bits count.
func TestClientOfShares(t *testing.T) {
	proxies, err := access.ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, access.Options{AdminToken: "the-admin-token", Policy: access.Default(),
		Limits: access.Limits{Proxies: proxies}})
	for _, c := range []struct {
		address string
		changes []func(*http.Request)
		want    string
	}{
		{abroad, nil, "192.0.2.7"}, {home, nil, "127.0.0.1"}, {"[2001:db8::1]:1", nil, "2001:db8::/64"},
		{abroad, []func(*http.Request){bearer("the-admin-token")}, "admin token"},
		{"10.1.1.1:1", []func(*http.Request){header("X-Forwarded-For", "198.51.100.1")}, "198.51.100.1"},
		{abroad, []func(*http.Request){header("X-Forwarded-For", "198.51.100.1")}, "192.0.2.7"}, // no trusted proxy
		{"@", nil, ""}, // a caller on a Unix socket
	} {
		if w := g.from(c.address, c.changes...); w.Code != http.StatusOK || w.Header().Get("Client") != c.want {
			t.Errorf("from %s: %d, client %q, want %q", c.address, w.Code, w.Header().Get("Client"), c.want)
		}
	}
}
