package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/api/access"
)

// httpFrontend receives the requests. It stays when the core is replaced, unless keys of config.EffectListener change.
// Even then the socket is kept if the address is the same.
type httpFrontend struct {
	socket *net.TCPListener
	bound  *access.Connections
	server *http.Server
	// scheme is the scheme of the URLs. The server's field TLSConfig does not show whether TLS is used, because the
	// server sets that field itself.
	scheme  string
	serving sync.WaitGroup
}

// newSocket opens a socket at the configured address.
func newSocket(ctx context.Context, address string) (*net.TCPListener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address with listen, WAITCAST_LISTEN or --listen", err)
	}
	return l.(*net.TCPListener), nil
}

func (f *httpFrontend) serve(failed func(error)) {
	f.serving.Go(func() {
		if err := f.answer(f.bound.Bound(&sharedListener{TCPListener: f.socket})); !errors.Is(err,
			http.ErrServerClosed) {
			failed(fmt.Errorf("serving HTTP: %w", err))
		}
	})
}

// answer answers requests on a listener until the server is shut down.
func (f *httpFrontend) answer(l net.Listener) error {
	if f.scheme == "https" {
		return f.server.ServeTLS(l, "", "")
	}
	return f.server.Serve(l)
}

// stop stops serving. Requests under way may take up to stopGrace. The socket stays open. A second call has no
// effect.
func (f *httpFrontend) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := f.server.Shutdown(ctx)
	f.serving.Wait()
	return err
}

// url returns the URL of the daemon.
func (f *httpFrontend) url() string { return f.scheme + "://" + f.socket.Addr().String() }

// sharedListener is a listener whose Close leaves the socket open for the next server.
type sharedListener struct {
	*net.TCPListener
	closed atomic.Bool
}

// Accept implements net.Listener.
func (l *sharedListener) Accept() (net.Conn, error) {
	for {
		if l.closed.Load() {
			return nil, net.ErrClosed
		}
		if err := l.SetDeadline(time.Time{}); err != nil {
			return nil, err
		}
		if l.closed.Load() { // closed between the two calls
			return nil, net.ErrClosed
		}
		conn, err := l.TCPListener.Accept()
		var timeout net.Error
		if err != nil && errors.As(err, &timeout) && timeout.Timeout() && !l.closed.Load() {
			continue // another frontend was closed
		}
		return conn, err
	}
}

// Close implements net.Listener.
func (l *sharedListener) Close() error {
	l.closed.Store(true)
	if err := l.SetDeadline(time.Unix(1, 0)); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
