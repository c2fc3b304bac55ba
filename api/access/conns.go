package access

import (
	"net"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Connections bounds the connections of a listener: those beyond are closed as they come, so that a client that holds many open
// keeps nobody else out for longer than it may be silent.
type Connections struct {
	// Most is how many there may be, PerClient how many from one address; 0 for any number. This host's and the proxies' have no bound but Most.
	Most, PerClient int
	Proxies         []netip.Prefix

	open    prometheus.Gauge
	refused *prometheus.CounterVec

	mu    sync.Mutex
	all   int
	peers map[string]int
}

// NewConnections returns a bound of the connections of one listener.
func NewConnections(most, perClient int, proxies []netip.Prefix) *Connections {
	c := &Connections{
		Most: most, PerClient: perClient, Proxies: proxies, peers: map[string]int{},
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "waitcast_http_connections", Help: "Connections of the HTTP interface that are open."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_connections_refused_total", Help: "Connections closed at once: client (too many of one address), all (too many at all).",
		}, []string{"reason"}),
	}
	c.refused.WithLabelValues("client")
	c.refused.WithLabelValues("all")
	return c
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
	if !at.IsValid() || at.IsLoopback() || within(at, c.Proxies) {
		return ""
	}
	return clientName(at)
}

func (c *Connections) enter(peer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.Most > 0 && c.all >= c.Most:
		c.refused.WithLabelValues("all").Inc()
		return false
	case peer != "" && c.PerClient > 0 && c.peers[peer] >= c.PerClient:
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
