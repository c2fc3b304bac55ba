package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostClients is the maximum number of clients that are counted separately. Each takes about 100 bytes.
const mostClients = 20_000

// limiter limits the requests of each client separately.
type limiter struct {
	every rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	clients map[string]*rate.Limiter
	swept   time.Time
}

// newLimiter returns a limiter with a rate of perSecond and a burst. If perSecond is 0 it returns nil, which limits
// nothing.
func newLimiter(perSecond float64, burst int, now func() time.Time) *limiter {
	if perSecond <= 0 {
		return nil
	}
	return &limiter{every: rate.Limit(perSecond), burst: max(1, burst), now: now, clients: map[string]*rate.Limiter{}}
}

// allow counts one request of a client and returns true. If the limit is reached, it does not count the request, and
// returns false and the time until the next request is allowed.
func (l *limiter) allow(client string) (ok bool, retry time.Duration) {
	if l == nil {
		return true, 0
	}
	now := l.now()
	r := l.of(client, now).ReserveN(now, 1)
	if retry = r.DelayFrom(now); retry == 0 {
		return true, 0
	}
	r.CancelAt(now)
	return false, retry
}

// exhausted returns the time until a client may send a request, 0 if it may now. It does not count a request.
func (l *limiter) exhausted(client string) time.Duration {
	if l == nil {
		return 0
	}
	now := l.now()
	c := l.of(client, now)
	if left := c.TokensAt(now); left < 1 {
		return time.Duration((1 - left) / float64(l.every) * float64(time.Second))
	}
	return 0
}

func (l *limiter) of(client string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.clients[client]; c != nil {
		return c
	}
	// Sweep at most once per second, so that a flood of clients costs little.
	if len(l.clients) >= mostClients && now.Sub(l.swept) >= time.Second {
		l.swept = now
		for name, c := range l.clients {
			if c.TokensAt(now) >= float64(l.burst) { // a client with a full bucket can be forgotten
				delete(l.clients, name)
			}
		}
	}
	if len(l.clients) >= mostClients {
		client = "" // all further clients share one bucket
	}
	c := l.clients[client]
	if c == nil {
		c = rate.NewLimiter(l.every, l.burst)
		l.clients[client] = c
	}
	return c
}

// clientOf returns the address that a request came from. If that is a trusted proxy, clientOf returns the address that
// the proxy reports (X-Forwarded-For), and so on along a chain of trusted proxies.
func clientOf(r *http.Request, trusted []netip.Prefix) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	at := address(host)
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(chain) - 1; i >= 0 && within(at, trusted); i-- {
		before := address(strings.TrimSpace(chain[i]))
		if !before.IsValid() {
			break
		}
		at = before
	}
	return at
}

// address reads an IP address and drops its zone. It returns the zero Addr for anything else.
func address(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// clientName returns the name under which requests from an address are counted: the address, or for IPv6 the network of
// its first 64 bits, because one host may have all addresses in that network.
func clientName(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// ParseProxies reads addresses and networks, such as 10.0.0.7 and 10.1.0.0/16.
func ParseProxies(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(text); err != nil {
				return nil, err
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}
