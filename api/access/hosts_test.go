package access_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/access"
)

// TestHosts proves that a request over loopback must name this host, an address or a configured name, unless it comes
// from a trusted proxy, and that requests over other interfaces may have any name.
func TestHosts(t *testing.T) {
	policy := access.Default()
	policy.Hosts = []string{"Head.example.org"}
	g := newGate(t, access.Options{Policy: policy})
	proxied := newGate(t, access.Options{Policy: policy,
		Limits: access.Limits{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}})
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(g *gate, local, host string) int {
		r := httptest.NewRequest(http.MethodGet, "/v1/queues", nil)
		r.Host, r.RemoteAddr = host, "127.0.0.1:4000"
		at := &net.TCPAddr{IP: net.ParseIP(local), Port: 9817}
		w := httptest.NewRecorder()
		g.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at)))
		if w.Code == http.StatusMisdirectedRequest && !strings.Contains(w.Body.String(), "access.hosts") {
			t.Errorf("the refusal of %s does not name the key: %s", host, w.Body)
		}
		return w.Code
	}
	for _, host := range []string{"localhost:9817", "LOCALHOST", "a.localhost", "127.0.0.1:9817", "[::1]:9817", "::1",
		"10.1.2.3", "head.example.org.:9817", own, ""} {
		if status := ask(g, "127.0.0.1", host); status == http.StatusMisdirectedRequest {
			t.Errorf("%s is refused", host)
		}
	}
	for _, host := range []string{"evil.example.org", "evil.example.org:9817", "localhost.evil.org"} {
		for _, local := range []string{"127.0.0.1", "::1"} {
			if status := ask(g, local, host); status != http.StatusMisdirectedRequest {
				t.Errorf("%q over %s: %d", host, local, status)
			}
		}
		if ask(g, "10.0.0.7", host) == http.StatusMisdirectedRequest ||
			ask(proxied, "127.0.0.1", host) == http.StatusMisdirectedRequest {
			t.Errorf("%q is refused over another interface, or from a proxy", host)
		}
	}
}
