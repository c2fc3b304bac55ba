package daemon

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/internal/terminal"
)

// The deadlines and bounds of one request.
const (
	headerTimeout = 5 * time.Second  // until its headers are there, and for a TLS handshake
	readTimeout   = 30 * time.Second // until its body is there; an import sets its own
	idleTimeout   = 2 * time.Minute  // until the next one on the connection
	writeTimeout  = time.Minute      // until its answer is sent, unless limits.write_timeout says otherwise
	maxWrite      = time.Hour        // the maximum of limits.write_timeout: the deadline of answers outside of handlers
	headerBytes   = 64 << 10         // a watcher's question stands in its URL
	complaints    = 5                // lines of the log per second that clients can cause
)

// newServer returns the server of the HTTP interface: it speaks TLS if the guard does. The handler sets the deadline of
// its answers. Requests end with the server's shutdown.
func newServer(handler http.Handler, guard *access.Guard, to *zap.Logger) *http.Server {
	requests, end := context.WithCancelCause(context.Background())
	s := &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler:     handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		WriteTimeout:   maxWrite,
		MaxHeaderBytes: headerBytes, TLSConfig: guard.TLS(),
		ErrorLog: log.New(&rateLimitedWriter{to: to, limit: rate.NewLimiter(complaints, complaints)}, "", 0),
	}
	if !guard.HTTP2() {
		s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	s.RegisterOnShutdown(func() { end(errStopping) })
	return s
}

// rateLimitedWriter writes the server's messages to the log, up to a rate: clients cause them.
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
