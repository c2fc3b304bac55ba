package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/terminal"
)

// The deadlines and bounds of one request.
const (
	headerTimeout = 5 * time.Second  // until its headers are there, and for a TLS handshake
	readTimeout   = 30 * time.Second // until its body is there; an import sets its own
	idleTimeout   = 2 * time.Minute  // until the next one on the connection
	writeTimeout  = time.Minute      // until its answer is sent, unless the configuration says otherwise
	headerBytes   = 64 << 10         // a watcher's question stands in its URL
	complaints    = 5                // lines of the log per second that clients can cause
)

// newServer returns the server of the HTTP interface: it speaks TLS where the guard has it. Requests end with its shutdown.
func newServer(handler http.Handler, cfg *config.Config, guard *access.Guard, to *zap.Logger) *http.Server {
	requests, end := context.WithCancelCause(context.Background())
	s := &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler:     handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		WriteTimeout:   cmp.Or(cfg.Limits.WriteTimeout, writeTimeout),
		MaxHeaderBytes: headerBytes, TLSConfig: guard.TLS(),
		ErrorLog: log.New(&rateLimitedWriter{to: to, limit: rate.NewLimiter(complaints, complaints)}, "", 0),
	}
	if !guard.HTTP2() {
		s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	s.RegisterOnShutdown(func() { end(errStopping) })
	return s
}

// newConnections bounds the connections as configured.
func newConnections(cfg *config.Config) (*access.Connections, error) {
	proxies, err := access.ParseProxies(cfg.Limits.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("limits.trusted_proxies: %w", err)
	}
	return access.NewConnections(cfg.Limits.Connections, cfg.Limits.ConnectionsPerClient, proxies), nil
}

// rateLimitedWriter writes the server's complaints to the log, up to a rate: clients cause them.
type rateLimitedWriter struct {
	to    *zap.Logger
	limit *rate.Limiter
}

// Write implements io.Writer.
func (r *rateLimitedWriter) Write(line []byte) (int, error) {
	switch text := strings.TrimSpace(string(line)); {
	case strings.Contains(text, "panic serving"): // a fault of ours
		r.to.Error(text)
	case r.limit.Allow():
		r.to.Info(terminal.Line(text))
	}
	return len(line), nil
}
