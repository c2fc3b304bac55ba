package access

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// reserve is the number of connections that are allowed beyond the bound, for /healthz and administrators only.
	reserve = 32
	// reserveHeader is the time within which the first request on a connection of the reserve must arrive.
	reserveHeader = 2 * time.Second
	// slowAfter is how long the client of a connection may be slow, in sending the body of a request or reading the
	// answer, before the connection may be closed in favour of another one.
	slowAfter = time.Second
)

// Connections bounds the connections of listeners. If the bound is reached, a new connection replaces the one that has
// waited longest for a request, or, if none waits, the one whose client has been slow for longest (at least slowAfter).
// If there is neither, the new connection may use the reserve. The reserve serves /healthz and administrators only, so
// nobody can lock administrators out by holding connections. Connections is safe for concurrent use.
type Connections struct {
	open, reserved prometheus.Gauge
	evicted        *prometheus.CounterVec
	refused        *prometheus.CounterVec

	mu        sync.Mutex
	most      int // maximum for all clients together; 0 for no limit
	perClient int // maximum per address, except this host and proxies; 0 for no limit
	proxies   []netip.Prefix
	peers     map[string]int
	groups    [2]connGroup // connections within the bound, and the reserve
}

// connGroup is a group of connections that share a bound.
type connGroup struct {
	n int
	// idle are the connections that wait for a request. slow are those that wait for the client to send a body or to
	// read an answer. Both are sorted by waiting time, longest first.
	idle, slow list.List
}

// NewConnections returns Connections with a maximum number of all connections and one per address; 0 means no limit.
// Connections from this host and from proxies count only towards the total.
func NewConnections(most, perClient int, proxies []netip.Prefix) *Connections {
	c := &Connections{
		most: most, perClient: perClient, proxies: proxies, peers: map[string]int{},
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: "waitcast_http_connections",
			Help: "Open connections of the HTTP interface."}),
		reserved: prometheus.NewGauge(prometheus.GaugeOpts{Name: "waitcast_http_connections_reserved",
			Help: "Open connections beyond limits.connections, which serve only /healthz and " +
				"administrators."}),
		evicted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_connections_evicted_total",
			Help: "Connections closed at the limit to make room, by reason: idle (no request under way), " +
				"slow (the client did not send a body or take an answer).",
		}, []string{"reason"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_connections_refused_total",
			Help: "Connections closed at once, by reason: client (too many of one address), all (too many " +
				"in total).",
		}, []string{"reason"}),
	}
	for _, reason := range []string{"client", "all"} {
		c.refused.WithLabelValues(reason)
	}
	for _, reason := range []string{"idle", "slow"} {
		c.evicted.WithLabelValues(reason)
	}
	return c
}

// Configure changes the bounds for new connections. Open ones stay.
func (c *Connections) Configure(most, perClient int, proxies []netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most, c.perClient, c.proxies = most, perClient, proxies
}

// Collectors returns the metrics of the connections.
func (c *Connections) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.open, c.reserved, c.evicted, c.refused}
}

// Attach makes a server report the states of its connections, and puts the connection into the context of its requests.
// Its listeners must come from Bound.
func (c *Connections) Attach(s *http.Server) {
	s.ConnState = c.note
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if b := boundOf(conn); b != nil {
			return context.WithValue(ctx, connKey{}, b)
		}
		return ctx
	}
}

// connKey is the context key of a request's connection.
type connKey struct{}

// boundOf returns the boundConn below a server's connection, nil if there is none.
func boundOf(conn net.Conn) *boundConn {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok { // a TLS connection
		conn = over.NetConn()
	}
	b, _ := conn.(*boundConn)
	return b
}

// onReserve reports whether a request came on a connection of the reserve.
func onReserve(ctx context.Context) bool {
	b, _ := ctx.Value(connKey{}).(*boundConn)
	return b != nil && b.group == 1
}

// AwaitBody marks the connection of a request as waiting for a body from the client, until the returned function is
// called. A connection of HTTP/2 is not marked, because it may have several requests at a time.
func AwaitBody(r *http.Request) (done func()) {
	b, _ := r.Context().Value(connKey{}).(*boundConn)
	if b == nil || r.ProtoMajor != 1 {
		return func() {}
	}
	b.block(1)
	return func() { b.block(-1) }
}

// answered marks the connection of an answered request as idle (HTTP/1 only). Without the mark the connection would
// seem busy while the server waits for the rest of a body that no handler reads.
func answered(r *http.Request) {
	b, _ := r.Context().Value(connKey{}).(*boundConn)
	if b == nil || r.ProtoMajor != 1 {
		return
	}
	b.bound.mu.Lock()
	defer b.bound.mu.Unlock()
	b.idle = true
	b.bound.place(b)
}

// Bound returns a listener that accepts connections within the bound.
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
		if in := b.bound.enter(conn); in != nil {
			return in, nil
		}
		_ = conn.Close() // closing refuses the connection
	}
}

// peer returns the address to which a connection is charged, empty if it counts only towards the total. The caller
// holds the lock.
func (c *Connections) peer(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return "" // a Unix socket
	}
	at := address(host)
	if !at.IsValid() || at.IsLoopback() || within(at, c.proxies) {
		return ""
	}
	return clientName(at)
}

// enter counts a connection and returns it, nil if it is refused: if its address has too many, or if the reserve is
// full and no connection may be replaced. If the bound is reached, enter closes another connection in favour of the new
// one, or puts the new one into the reserve.
func (c *Connections) enter(conn net.Conn) *boundConn {
	c.mu.Lock()
	b := &boundConn{Conn: conn, bound: c, peer: c.peer(conn), idle: true}
	if b.peer != "" && c.perClient > 0 && c.peers[b.peer] >= c.perClient {
		c.refused.WithLabelValues("client").Inc()
		c.mu.Unlock()
		return nil
	}
	var evicted *boundConn
	if c.most > 0 && c.groups[0].n >= c.most {
		if evicted = c.evict(&c.groups[0]); evicted == nil {
			b.group, b.until = 1, time.Now().Add(reserveHeader)
			if c.groups[1].n >= reserve {
				if evicted = c.evict(&c.groups[1]); evicted == nil {
					c.refused.WithLabelValues("all").Inc()
					c.mu.Unlock()
					return nil
				}
			}
		}
	}
	c.groups[b.group].n++
	if b.peer != "" {
		c.peers[b.peer]++
	}
	c.place(b)
	c.count()
	c.mu.Unlock()
	if evicted != nil {
		_ = evicted.Conn.Close() // its server notices
	}
	if b.group == 1 {
		_ = conn.SetDeadline(b.until) // the server sets other deadlines, which apply once there is a request
	}
	return b
}

// evict removes the connection of a group that is to be replaced first, counts the eviction and returns the connection;
// nil if none may be replaced. The caller holds the lock, and closes the connection after releasing the lock.
func (c *Connections) evict(g *connGroup) *boundConn {
	reason, first := "idle", g.idle.Front()
	if first == nil {
		reason, first = "slow", g.slow.Front()
		if first == nil || time.Since(first.Value.(*boundConn).since) < slowAfter {
			return nil
		}
	}
	c.evicted.WithLabelValues(reason).Inc()
	b := first.Value.(*boundConn)
	c.leave(b)
	return b
}

// place puts a connection into the right list for its state. The caller holds the lock.
func (c *Connections) place(b *boundConn) {
	g := &c.groups[b.group]
	if b.in != nil {
		b.in.Remove(b.element)
		b.in, b.element = nil, nil
	}
	switch {
	case b.closed:
	case b.idle:
		b.in = &g.idle
	case b.blocked > 0:
		b.in = &g.slow
	}
	if b.in != nil {
		b.since = time.Now()
		b.element = b.in.PushBack(b)
	}
}

// leave ends the count of a connection. The caller holds the lock.
func (c *Connections) leave(b *boundConn) {
	if b.closed {
		return
	}
	b.closed = true
	c.place(b)
	c.groups[b.group].n--
	if b.peer != "" {
		if c.peers[b.peer]--; c.peers[b.peer] == 0 {
			delete(c.peers, b.peer)
		}
	}
	c.count()
}

// count sets the metrics of open connections. The caller holds the lock.
func (c *Connections) count() {
	c.open.Set(float64(c.groups[0].n + c.groups[1].n))
	c.reserved.Set(float64(c.groups[1].n))
}

// note stores the state of a connection, as its server reports it. At the first request on a connection of the reserve,
// note sets the deadlines that the server has asked for. A connection becomes active when the header of a request has
// arrived (HTTP/1) or a stream begins (HTTP/2).
func (c *Connections) note(conn net.Conn, state http.ConnState) {
	b := boundOf(conn)
	if b == nil || state != http.StateActive && state != http.StateIdle {
		return
	}
	c.mu.Lock()
	first := !b.requested && state == http.StateActive
	b.requested = b.requested || first
	b.idle = state == http.StateIdle
	c.place(b)
	read, write := b.read, b.write
	c.mu.Unlock()
	if first && b.group == 1 { // the server's own deadlines apply from now on
		_ = b.Conn.SetReadDeadline(read)
		_ = b.Conn.SetWriteDeadline(write)
	}
}

// boundConn is a connection that is counted until it is closed. The lock of Connections guards its fields, except the
// first four and until.
type boundConn struct {
	net.Conn
	bound *Connections
	peer  string
	group int       // 0, or 1 for the reserve
	until time.Time // in the reserve: deadline of the first request

	read      time.Time // deadlines set by the server
	write     time.Time
	requested bool // a request has come
	idle      bool // the connection waits for a request
	blocked   int  // reads of a body and writes in progress
	closed    bool
	since     time.Time // time at which the connection was put into the list in
	in        *list.List
	element   *list.Element
}

// block changes the number of operations that wait for the client.
func (b *boundConn) block(by int) {
	c := b.bound
	c.mu.Lock()
	defer c.mu.Unlock()
	was := b.blocked > 0
	b.blocked += by
	if was != (b.blocked > 0) && !b.idle {
		c.place(b)
	}
}

// Write implements net.Conn.
func (b *boundConn) Write(data []byte) (int, error) {
	b.block(1)
	defer b.block(-1)
	return b.Conn.Write(data)
}

// SetReadDeadline implements net.Conn.
func (b *boundConn) SetReadDeadline(t time.Time) error {
	return b.Conn.SetReadDeadline(b.deadline(t, &b.read))
}

// SetWriteDeadline implements net.Conn.
func (b *boundConn) SetWriteDeadline(t time.Time) error {
	return b.Conn.SetWriteDeadline(b.deadline(t, &b.write))
}

// SetDeadline implements net.Conn.
func (b *boundConn) SetDeadline(t time.Time) error {
	return errors.Join(b.SetReadDeadline(t), b.SetWriteDeadline(t))
}

// deadline returns the deadline to set: the deadline of the reserve if that comes first and there was no request yet,
// otherwise t. In the first case t is kept and applied at the first request.
func (b *boundConn) deadline(t time.Time, kept *time.Time) time.Time {
	if b.group == 0 {
		return t
	}
	b.bound.mu.Lock()
	defer b.bound.mu.Unlock()
	*kept = t
	if b.requested || !t.IsZero() && t.Before(b.until) {
		return t
	}
	return b.until
}

// Close implements net.Conn.
func (b *boundConn) Close() error {
	b.bound.mu.Lock()
	b.bound.leave(b)
	b.bound.mu.Unlock()
	return b.Conn.Close()
}
