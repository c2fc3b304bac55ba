package access_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/api/access"
)

// door is a server behind a limit on connections.
type door struct {
	*testing.T
	connections *access.Connections
	listener    *listener
	bound       net.Listener
	server      http.Server
}

func newDoor(t *testing.T, most, perClient int) *door {
	t.Helper()
	d := &door{T: t, connections: access.NewConnections(most, perClient, nil),
		listener: &listener{conns: make(chan net.Conn, 1)}}
	d.bound = d.connections.Bound(d.listener)
	d.connections.Attach(&d.server)
	return d
}

// knocks opens a connection. It returns the client's side and the server's side. The server's side is nil if the
// limit refused the connection.
func (d *door) knocks(from string) (net.Conn, *peer) {
	d.Helper()
	p := &peer{address: from}
	d.listener.conns <- p
	conn, err := d.bound.Accept()
	if (err == nil) == p.closed {
		d.Fatalf("from %s: %v, closed %v", from, err, p.closed)
	}
	return conn, p
}

// enters opens a connection and sends a request at once. The test fails unless the connection is accepted (want is
// true) or refused.
func (d *door) enters(from string, want bool) net.Conn {
	d.Helper()
	conn, p := d.knocks(from)
	if (conn != nil) != want {
		d.Fatalf("from %s: let in %v, want %v", from, conn != nil, want)
	}
	if conn != nil && !p.closed {
		d.server.ConnState(conn, http.StateActive)
	}
	return conn
}

// metric returns the value of a metric of the limit, summed over its labels.
func (d *door) metric(name string) (sum float64) {
	d.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.connections.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		d.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestConnectionsConfigured proves that a new limit applies to later connections, and that open connections still
// count.
func TestConnectionsConfigured(t *testing.T) {
	d := newDoor(t, 100, 1)
	d.enters(abroad, true)
	d.enters(abroad, false)
	d.connections.Configure(100, 2, nil)
	d.enters(abroad, true)
	d.enters(abroad, false)
	d.connections.Configure(100, 1, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")})
	d.enters(abroad, true)
	d.connections.Configure(3, 0, nil)
	d.enters(abroad, true)
	if n := d.metric("waitcast_http_connections_reserved"); n != 1 {
		t.Errorf("%v on the reserve, want the last", n)
	}
}

// TestConnectionsOfOneClient proves that connections beyond a client's limit are closed, and that each connection that
// ends makes room for another one. Clients on the daemon's host have no such limit.
func TestConnectionsOfOneClient(t *testing.T) {
	d := newDoor(t, 10, 2)
	d.enters("192.0.2.8:1", true)
	d.enters(abroad, true)
	last := d.enters(abroad, true)
	d.enters(abroad, false)
	_, _ = last.Close(), last.Close() // closing twice counts once
	d.enters(abroad, true)
	d.enters(abroad, false)
	for range 5 {
		d.enters(home, true)
	}
}

// TestOldestIdleGoes proves that at the limit a new connection replaces the one that has waited longest for a request,
// whether it has had an answer before or not. A busy connection is never replaced.
func TestOldestIdleGoes(t *testing.T) {
	d := newDoor(t, 4, 0)
	type pair struct {
		conn net.Conn
		peer *peer
	}
	var all []pair
	for range 4 {
		conn, p := d.knocks(home)
		all = append(all, pair{conn, p})
	}
	d.server.ConnState(all[1].conn, http.StateActive) // a request arrives on the second
	d.server.ConnState(all[0].conn, http.StateActive)
	d.server.ConnState(all[0].conn, http.StateIdle) // the first has had its answer
	for step, want := range [][]bool{
		{false, false, true, false}, {false, false, true, true}, {true, false, true, true},
	} {
		if _, p := d.knocks(home); p.closed {
			t.Errorf("step %d: the newcomer is refused", step)
		}
		for i, p := range all {
			if p.peer.closed != want[i] {
				t.Errorf("step %d: connection %d closed: %v", step, i, p.peer.closed)
			}
		}
	}
	_ = all[2].conn.Close() // the server notices this and closes the connection
	if n := d.metric("waitcast_http_connections"); n != 4 {
		t.Errorf("%v are open, want 4", n)
	}
	if n := d.metric("waitcast_http_connections_evicted_total"); n != 3 {
		t.Errorf("%v have made room, want 3", n)
	}
}

// TestSlowGo proves that if no connection is idle, the one whose client has been slow for longest is closed, whether in
// sending the body of a request or in reading an answer. A client that has been slow for less than a second keeps its
// connection.
func TestSlowGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, 2, 0)
		asks := func() (*http.Request, *peer) {
			conn, p := d.knocks(home)
			d.server.ConnState(conn, http.StateActive)
			r := httptest.NewRequestWithContext(d.server.ConnContext(t.Context(), conn), http.MethodPost, "/", nil)
			return r, p
		}
		first, one := asks()
		second, two := asks()
		done := access.AwaitBody(first)
		<-time.After(time.Minute) // on the clock of testing/synctest
		done()                    // the body has arrived
		access.AwaitBody(second)
		_, late := d.knocks(home)
		if one.closed || two.closed || late.closed || d.metric("waitcast_http_connections_reserved") != 1 {
			t.Errorf("closed: %v, %v, %v; want the last on the reserve", one.closed, two.closed, late.closed)
		}
		<-time.After(2 * time.Second)
		if _, p := d.knocks(home); one.closed || !two.closed || p.closed {
			t.Errorf("closed: %v, %v, %v; want the slow one", one.closed, two.closed, p.closed)
		}
	})
}

// TestReserve proves how many connections beyond the limit are accepted while all are busy. An idle one of these is
// closed when another connection comes, and its deadline is short until a request arrives.
func TestReserve(t *testing.T) {
	const reserve = 32
	d := newDoor(t, 2, 0)
	d.enters(home, true)
	d.enters(home, true)
	var first *peer
	for i := range reserve {
		_, p := d.knocks(home)
		if i == 0 {
			first = p
		}
	}
	if _, p := d.knocks(home); p.closed || !first.closed {
		t.Errorf("newcomer closed: %v, the oldest idle one of the reserve: %v", p.closed, first.closed)
	}
	soon, later := time.Now().Add(10*time.Second), time.Now().Add(time.Hour)
	conn, p := d.knocks(home)
	if p.read.After(soon) || p.read.IsZero() {
		t.Errorf("the deadline of the first request is %s", p.read)
	}
	_, _ = conn.SetReadDeadline(later), conn.SetWriteDeadline(later) // as a server does
	if p.read.After(soon) || p.write.After(soon) {
		t.Errorf("without a request: %s, %s", p.read, p.write)
	}
	d.server.ConnState(conn, http.StateActive)
	if !p.read.Equal(later) || !p.write.Equal(later) {
		t.Errorf("with a request: %s, %s; want the server's %s", p.read, p.write, later)
	}
	_ = conn.Close()
	for range reserve { // all of them become busy
		d.enters(home, true)
	}
	d.enters(home, false)
}

// listener is a net.Listener whose connections come from a channel.
type listener struct {
	net.Listener
	conns chan net.Conn
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	default:
		return nil, net.ErrClosed
	}
}

// peer is a connection from an address.
type peer struct {
	net.Conn
	address     string
	closed      bool
	read, write time.Time // deadlines
}

func (p *peer) SetReadDeadline(t time.Time) error { p.read = t; return nil }

func (p *peer) SetWriteDeadline(t time.Time) error { p.write = t; return nil }

func (p *peer) SetDeadline(t time.Time) error { p.read, p.write = t, t; return nil }

func (p *peer) RemoteAddr() net.Addr { return address(p.address) }

func (p *peer) Close() error { p.closed = true; return nil }

type address string

func (a address) Network() string { return "tcp" }

func (a address) String() string { return string(a) }
