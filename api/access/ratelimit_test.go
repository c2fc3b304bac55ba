package access_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/access"
)

// TestRateLimit uses a clock that the test sets. It proves that each client has its own number of permitted requests,
// and that this number grows again with time. Scrapes of metrics are counted separately. It also proves which callers
// have no limit.
func TestRateLimit(t *testing.T) {
	c := newClock()
	proxies, err := access.ParseProxies([]string{"10.0.0.0/8", "127.0.0.1", "fd00::1"})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, access.Options{AdminToken: "the-admin-token", Now: c.Now,
		Limits: access.Limits{PerSecond: 2, Burst: 5, Proxies: proxies}})
	asks := func(n int, address string, changes ...func(*http.Request)) (ok int) {
		t.Helper()
		for range n {
			switch w := g.from(address, changes...); w.Code {
			case 200:
				ok++
			case 429:
				g.want(w, 429, "too much")
				if w.Header().Get("Retry-After") != "1" {
					t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
				}
			default:
				t.Errorf("%d", w.Code)
			}
		}
		return ok
	}
	for _, step := range []struct {
		what, address string
		changes       []func(*http.Request)
		want          int
	}{
		{"the burst", abroad, nil, 5}, {"another port", "192.0.2.7:99", nil, 0},
		{"another address", "192.0.2.8:1", nil, 5},
		{"a scrape beside", abroad, []func(*http.Request){path("/metrics")}, 5},
		{"an IPv6 network", "[2001:db8::1]:1", nil, 5}, {"its neighbor", "[2001:db8::2]:1", nil, 0},
		{"another network", "[2001:db8:0:1::1]:1", nil, 5}, {"IPv4 in IPv6", "[::ffff:192.0.2.7]:1", nil, 0},
		{"this host", home, nil, 20}, {"this host, IPv6", "[::1]:1", nil, 20},
		{"a credential", home, []func(*http.Request){bearer("the-admin-token")}, 5},
		{"the same from elsewhere", abroad, []func(*http.Request){bearer("the-admin-token")}, 0},
		{"through a proxy", "10.1.1.1:1", []func(*http.Request){header("X-Forwarded-For", "198.51.100.1")}, 5},
		{"through two", home, []func(*http.Request){header("X-Forwarded-For", "198.51.100.1, 10.2.2.2")}, 0},
		{"in two headers", home, []func(*http.Request){header("X-Forwarded-For", "198.51.100.1"),
			header("X-Forwarded-For", "10.2.2.2")}, 0},
		{"who invents addresses", home, []func(*http.Request){header("X-Forwarded-For", "203.0.113.9, 198.51.100.1")},
			0},
		{"nobody's proxy", "192.0.2.8:1", []func(*http.Request){header("X-Forwarded-For", "203.0.113.10")}, 0},
		{"nonsense from a proxy", "10.1.1.1:1", []func(*http.Request){header("X-Forwarded-For", "nonsense")}, 5},
	} {
		if got := asks(20, step.address, step.changes...); got != step.want {
			t.Errorf("%s: %d of 20 were answered, want %d", step.what, got, step.want)
		}
	}
	c.pass(time.Second)
	if got := asks(20, abroad); got != 2 {
		t.Errorf("a second later: %d, want 2", got)
	}
	c.pass(time.Hour)
	if got := asks(20, abroad); got != 5 {
		t.Errorf("an hour later: %d, want 5", got)
	}
	g.want(g.from(home, path("/healthz")), 200, "")
}

// TestRateLimitMemory proves that requests from very many addresses do not make the daemon remember all of them: the
// addresses beyond a maximum share one limit.
func TestRateLimitMemory(t *testing.T) {
	c := newClock()
	g := newGate(t, access.Options{Now: c.Now, Limits: access.Limits{PerSecond: 1, Burst: 1}})
	answered := 0
	for i := range 21_000 {
		if g.from(fmt.Sprintf("[2001:db8:%x::1]:1", i)).Code == 200 {
			answered++
		}
	}
	if answered != 20_001 { // the last answer is for all other addresses together
		t.Errorf("%d were answered", answered)
	}
	c.pass(time.Minute)
	g.want(g.from(abroad), 200, "")
}

// TestGlobalRateLimit proves that the limit of the web-config file applies.
func TestGlobalRateLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	write(t, file, "rate_limit: {burst: 2, interval: 24h}\nhttp_server_config: {headers: {X-Frame-Options: deny, "+
		"Content-Security-Policy: default-src 'self'}}\n")
	g := newGate(t, access.Options{WebConfigFile: file})
	for _, want := range []int{200, 200, 429} {
		w := g.from(home)
		g.want(w, want, "")
		if w.Header().Get("X-Frame-Options") != "deny" ||
			w.Header().Get("Content-Security-Policy") != "default-src 'self'" {
			t.Errorf("headers %v", w.Header())
		}
	}
}
