package access_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/waitcast/waitcast/api/access"
)

// TestConnectionsConfigured proves that other bounds hold for connections to come, and that open ones are still
// counted.
func TestConnectionsConfigured(t *testing.T) {
	l := &listener{conns: make(chan net.Conn, 10)}
	connections := access.NewConnections(10, 1, nil)
	bound := connections.Bound(l)
	enters := func(want bool) {
		t.Helper()
		conn := &peer{address: abroad}
		l.conns <- conn
		if _, err := bound.Accept(); (err == nil) != want || conn.closed == want {
			t.Errorf("let in: %v, want %v", err == nil, want)
		}
	}
	enters(true)
	enters(false)
	connections.Configure(10, 2, nil)
	enters(true)
	enters(false)
	connections.Configure(10, 1, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")})
	enters(true)
	connections.Configure(3, 0, nil)
	enters(false)
}

// TestConnections proves that connections beyond the bound are closed, that those that end make room, and that this
// host has no bound of its own.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		name            string
		most, perClient int
		addresses       []string
		want            []bool
	}{
		{"of one client", 10, 2, []string{"192.0.2.8:1", abroad, abroad, abroad}, []bool{true, true, true, false}},
		{"of all", 2, 10, []string{abroad, home, "192.0.2.8:1"}, []bool{true, true, false}},
		{"this host", 10, 1, []string{home, home, home}, []bool{true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &listener{conns: make(chan net.Conn, 10)}
			bound := access.NewConnections(c.most, c.perClient, nil).Bound(l)
			var last net.Conn
			for i, a := range c.addresses {
				conn := &peer{address: a}
				l.conns <- conn
				got, err := bound.Accept()
				if (err == nil) != c.want[i] || conn.closed == c.want[i] {
					t.Fatalf("connection %d: %v, closed %v; want it let in: %v", i, err, conn.closed, c.want[i])
				}
				if err == nil {
					last = got
					continue
				}
				_, _ = last.Close(), last.Close() // twice is once
				again := &peer{address: a}
				l.conns <- again
				if _, err = bound.Accept(); err != nil || again.closed {
					t.Fatalf("after another has ended: %v, closed %v", err, again.closed)
				}
				refused := &peer{address: a}
				l.conns <- refused
				if _, err := bound.Accept(); err == nil || !refused.closed {
					t.Fatalf("one was closed twice, and two were let in")
				}
				break
			}
		})
	}
}

// listener hands out connections.
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
	address string
	closed  bool
}

func (p *peer) RemoteAddr() net.Addr { return address(p.address) }

func (p *peer) Close() error { p.closed = true; return nil }

type address string

func (a address) Network() string { return "tcp" }

func (a address) String() string { return string(a) }
