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

// httpFrontend receives the requests. It stays while the core behind it is replaced, unless keys of
// config.EffectListener change; even then the socket stays if the address does.
type httpFrontend struct {
	socket  *net.TCPListener
	bound   *access.Connections
	server  *http.Server
	scheme  string // of its URLs; the server fills in its TLSConfig by itself, so that is not a sign of TLS
	serving sync.WaitGroup
}

// newSocket opens the configured address.
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

// answer answers on a listener until the server is shut down.
func (f *httpFrontend) answer(l net.Listener) error {
	if f.scheme == "https" {
		return f.server.ServeTLS(l, "", "")
	}
	return f.server.Serve(l)
}

// stop ends serving, requests under way within stopGrace; the socket stays open. A second call does nothing.
func (f *httpFrontend) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := f.server.Shutdown(ctx)
	f.serving.Wait()
	return err
}

// url returns where to ask.
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
		if l.closed.Load() { // between the two
			return nil, net.ErrClosed
		}
		conn, err := l.TCPListener.Accept()
		var timeout net.Error
		if err != nil && errors.As(err, &timeout) && timeout.Timeout() && !l.closed.Load() {
			continue // the close of another frontend
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
