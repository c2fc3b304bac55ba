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

// These are the deadlines and limits of one request.
const (
	headerTimeout = 5 * time.Second  // for receiving the headers of a request, and for a TLS handshake
	readTimeout   = 30 * time.Second // for receiving the body of a request; an import sets its own deadline
	idleTimeout   = 2 * time.Minute  // for waiting for the next request on the same connection
	writeTimeout  = time.Minute      // for sending an answer, unless limits.write_timeout is set
	// The maximum of limits.write_timeout, and the deadline of answers that no handler sends.
	maxWrite    = time.Hour
	headerBytes = 64 << 10 // large, because the URL contains a watcher's question
	complaints  = 5        // maximum number of lines per second in the log that clients can cause
)

// newServer returns the server of the HTTP interface. It uses TLS if the guard has a certificate. The handler sets
// the write deadline of each answer. A shutdown of the server cancels the contexts of its requests.
func newServer(handler http.Handler, guard *access.Guard, to *zap.Logger) (*http.Server, error) {
	requests, end := context.WithCancelCause(context.Background())
	s := &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler:     handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		WriteTimeout:   maxWrite,
		MaxHeaderBytes: headerBytes, TLSConfig: guard.TLS(),
		ErrorLog: log.New(&rateLimitedWriter{to: to, limit: rate.NewLimiter(complaints, complaints)}, "", 0),
	}
	s.RegisterOnShutdown(func() { end(errStopping) })
	if guard.HTTP2() && s.TLSConfig != nil {
		return s, limitHTTP2(s)
	}
	s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	return s, nil
}

// rateLimitedWriter writes the server's messages to the log. It limits their rate, because clients cause them.
type rateLimitedWriter struct {
	to    *zap.Logger
	limit *rate.Limiter
}

// Write implements io.Writer.
func (r *rateLimitedWriter) Write(line []byte) (int, error) {
	switch text := strings.TrimSpace(string(line)); {
	case strings.Contains(text, "panic serving"): // a bug in waitcast
		r.to.Error(text)
	case r.limit.Allow():
		r.to.Info(terminal.Line(text))
	}
	return len(line), nil
}
