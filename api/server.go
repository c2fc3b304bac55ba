package api

import (
	"cmp"
	"hash/maphash"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/ask"
)

// Server answers requests. It is safe for concurrent use.
type Server struct {
	views     Views
	opts      Options
	handler   http.Handler
	guard     *access.Guard
	metrics   *httpMetrics
	patterns  []string
	body      *atomic.Int64 // maximum bytes of a request's body
	ask       *ask.Service
	drawing   chan struct{} // semaphore for streamed workloads
	counting  chan struct{} // semaphore for reading the ledger
	watchers  *ask.Watchers
	listening chan struct{} // semaphore for clients of GET /v1/changes
	born      atomic.Int64  // makes ETags differ between processes, and before and after Configure
	seed      maphash.Seed  // seed of the ETags' hashes
	closed    chan struct{}
	close     func()
}

// Configure changes Options.StaleAfter and Options.MostBody for the next requests. Streams stay open. Configure
// invalidates the answers that clients have cached, so call it also after the rules of the guard have changed.
func (s *Server) Configure(staleAfter time.Duration, mostBytes int64) {
	s.ask.SetStaleAfter(staleAfter)
	s.body.Store(cmp.Or(mostBytes, mostBody))
	s.born.Store(time.Now().UnixNano())
}

// Patterns returns the patterns that the server handles, in the form of http.ServeMux: a method and a path.
func (s *Server) Patterns() []string { return s.patterns }

// Handler returns the server's HTTP handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends streamed answers (GET /v1/watch and /v1/changes); their clients reconnect. Other requests are answered as
// before.
func (s *Server) Close() { s.close() }

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) //nolint:gosec // plain text; the client may have disconnected
}
