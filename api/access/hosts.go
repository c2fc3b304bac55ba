package access

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/api/wire"
)

// hosts are the names by which clients on this host may address the daemon. A page of another site whose name leads to
// loopback (DNS rebinding) sends the name of that site.
type hosts map[string]bool

// newHosts returns localhost, the names of this host and the configured names.
func newHosts(configured []string) hosts {
	h := hosts{"localhost": true}
	if name, err := os.Hostname(); err == nil {
		h.add(name)
		if table, err := os.ReadFile("/etc/hosts"); err == nil {
			h.aliases(string(table), name)
		}
	}
	for _, name := range configured {
		h.add(name)
	}
	return h
}

func (h hosts) add(name string) { h[strings.ToLower(strings.TrimSuffix(name, "."))] = true }

// aliases adds the names that stand beside the name of this host in /etc/hosts (hosts(5)).
func (h hosts) aliases(table, name string) {
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		names := strings.Fields(line)
		if len(names) > 1 && slices.Contains(names[1:], name) {
			for _, alias := range names[1:] {
				h.add(alias)
			}
		}
	}
}

// knows reports whether a header Host has one of the names, or a literal address.
func (h hosts) knows(host string) bool {
	name := host
	if cut, _, err := net.SplitHostPort(host); err == nil {
		name = cut
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	_, err := netip.ParseAddr(name)
	return err == nil || h[name] || strings.HasSuffix(name, ".localhost")
}

// checkHost returns a problem for a request that came over loopback with the name of another host. Trusted proxies may
// send any name; programs that send none are no browsers.
func (h hosts) checkHost(r *http.Request, proxies []netip.Prefix) *wire.Problem {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() || r.Host == "" || h.knows(r.Host) {
		return nil
	}
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && within(from.Addr().Unmap(), proxies) {
		return nil
	}
	return &wire.Problem{Status: http.StatusMisdirectedRequest,
		Detail: "this daemon is not " + r.Host + ": a page of that site may have sent the request",
		Hint: "ask localhost or an address; access.hosts allows further names, and limits.trusted_proxies the names " +
			"that a proxy sends"}
}
