package access

import (
	"net"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Connections bounds the connections of listeners: those beyond are closed as they come, so that a client that holds
// many open blocks others only until its idle timeout. It is safe for concurrent use.
type Connections struct {
	open    prometheus.Gauge
	refused *prometheus.CounterVec

	mu        sync.Mutex
	most      int // of all clients together; 0 for any number
	perClient int // of one address, but for this host and the proxies; 0 for any number
	proxies   []netip.Prefix
	all       int
	peers     map[string]int
}

// NewConnections returns a bound of connections: how many there may be, and how many from one address; 0 for any
// number. Connections of this host and of proxies count among all only.
func NewConnections(most, perClient int, proxies []netip.Prefix) *Connections {
	c := &Connections{
		most: most, perClient: perClient, proxies: proxies, peers: map[string]int{},
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "waitcast_http_connections",
			Help: "Connections of the HTTP interface that are open."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_connections_refused_total",
			Help: "Connections closed at once: client (too many of one address), all (too many at all).",
		}, []string{"reason"}),
	}
	c.refused.WithLabelValues("client")
	c.refused.WithLabelValues("all")
	return c
}

// Configure changes the bounds for connections that come from now on. Open ones stay.
func (c *Connections) Configure(most, perClient int, proxies []netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most, c.perClient, c.proxies = most, perClient, proxies
}

// Collectors are the bound's metrics.
func (c *Connections) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.open, c.refused}
}

// Bound returns a listener of the connections that the bound lets in.
func (c *Connections) Bound(l net.Listener) net.Listener { return &bounded{l, c} }

type bounded struct {
	net.Listener
	bound *Connections
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := b.bound.peer(conn)
		if b.bound.enter(peer) {
			return &countedConn{Conn: conn, leave: sync.OnceFunc(func() { b.bound.leave(peer) })}, nil
		}
		_ = conn.Close() // it is refused
	}
}

// peer names who a connection counts for; empty for one that only counts among all.
func (c *Connections) peer(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return "" // a Unix socket
	}
	at := address(host)
	if !at.IsValid() || at.IsLoopback() || within(at, c.trusted()) {
		return ""
	}
	return clientName(at)
}

func (c *Connections) trusted() []netip.Prefix {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proxies
}

func (c *Connections) enter(peer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.most > 0 && c.all >= c.most:
		c.refused.WithLabelValues("all").Inc()
		return false
	case peer != "" && c.perClient > 0 && c.peers[peer] >= c.perClient:
		c.refused.WithLabelValues("client").Inc()
		return false
	}
	c.all++
	if peer != "" {
		c.peers[peer]++
	}
	c.open.Set(float64(c.all))
	return true
}

func (c *Connections) leave(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if peer != "" {
		if c.peers[peer]--; c.peers[peer] == 0 {
			delete(c.peers, peer)
		}
	}
	c.open.Set(float64(c.all))
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
