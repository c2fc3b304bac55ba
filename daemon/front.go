package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
)

// front is where requests come in. It stays while the core behind it is replaced.
type front struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// newFront takes the address; nothing is answered before serve.
func newFront(ctx context.Context, cfg *config.Config, d *Daemon) (*front, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w; choose another address with listen, WAITCAST_LISTEN or --listen", err)
	}
	requests, end := context.WithCancelCause(context.Background())
	f := &front{listener: listener, server: &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.core.Load().handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: zap.NewStdLog(d.opts.Log),
	}}
	f.server.RegisterOnShutdown(func() { end(errStopping) })
	return f, nil
}

func (f *front) serve(failed func(error)) {
	f.serving.Go(func() {
		if err := f.server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serving HTTP: %w", err))
		}
	})
}

// stop ends serving, requests under way within stopGrace. A second call does nothing.
func (f *front) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := f.server.Shutdown(ctx)
	f.serving.Wait()
	return err
}

// url returns where to ask.
func (f *front) url() string { return "http://" + f.listener.Addr().String() }
