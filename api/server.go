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
	metrics   *metrics
	patterns  []string
	body      *atomic.Int64 // bytes that the body of a question may have
	ask       *ask.Service
	drawing   chan struct{} // a place for each workload that is streamed
	counting  chan struct{} // a place for the one who reads the ledger
	watchers  *ask.Watchers
	listening chan struct{} // a place for each client of GET /v1/changes
	born      atomic.Int64  // tells apart the ETags of two processes, and those before and after Configure
	seed      maphash.Seed  // of their hashes
	closed    chan struct{}
	close     func()
}

// Configure changes Options.StaleAfter and Options.MostBody for the next requests. Streams stay open. Answers that
// clients have kept do not hold any more: call it after other rules of the guard have come into force, too.
func (s *Server) Configure(staleAfter time.Duration, mostBytes int64) {
	s.ask.SetStaleAfter(staleAfter)
	s.body.Store(cmp.Or(mostBytes, mostBody))
	s.born.Store(time.Now().UnixNano())
}

// Patterns returns what the server answers to, as http.ServeMux writes it: a method and a path.
func (s *Server) Patterns() []string { return s.patterns }

// Handler returns the server's HTTP handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the answers that go on and on (GET /v1/watch); their clients come back. Others are given as before.
func (s *Server) Close() { s.close() }

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
