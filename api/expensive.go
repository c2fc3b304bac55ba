package api

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/api/access"
)

// These are the paths of requests with many candidates. Each candidate needs a forecast.
const (
	waitsPath = "/v1/wait"
	sizePath  = "/v1/size"
)

// bytesPerForecast is the number of bytes whose decoding takes about as long as a forecast of a small cluster.
const bytesPerForecast = 4096

// isExpensive reports whether a request has many candidates, or needs simulated futures.
func isExpensive(r *http.Request) bool {
	if r.URL.Path == whenPath {
		return r.Method == http.MethodGet
	}
	return r.Method == http.MethodPost && (r.URL.Path == waitsPath || r.URL.Path == sizePath)
}

// slotKey is the context key of a request's slot.
type slotKey struct{}

// serveExpensive decodes and answers an expensive request while the request holds one of the slots for expensive
// requests. The body has been read before, and the slot is released before the answer is sent, so that no slot waits
// for a client.
func (s *Server) serveExpensive(w http.ResponseWriter, r *http.Request, next http.Handler) {
	caller := access.Of(r.Context())
	decoding := 1 + float64(max(0, r.ContentLength))/bytesPerForecast
	slot, p, retry := s.guard.Enter(r.Context(), caller, decoding, decoding)
	if p != nil {
		w.Header().Set("Retry-After", retryAfter(retry))
		access.WriteProblem(w, p)
		return
	}
	defer slot.End()
	next.ServeHTTP(&slotWriter{w, slot}, r.WithContext(context.WithValue(r.Context(), slotKey{}, slot)))
}

// slotWriter releases the slot of a request when its answer begins.
type slotWriter struct {
	http.ResponseWriter
	slot *access.Slot
}

// WriteHeader implements http.ResponseWriter.
func (w *slotWriter) WriteHeader(status int) {
	w.slot.End()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *slotWriter) Write(data []byte) (int, error) {
	w.slot.End()
	return w.ResponseWriter.Write(data)
}

// Unwrap implements the interface that http.ResponseController uses.
func (w *slotWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// pace implements ask.Pace with the slot of a request.
type pace struct {
	ctx    context.Context
	server *Server
	slot   *access.Slot
}

// paceOf returns the pace of the request that a context belongs to.
func (s *Server) paceOf(ctx context.Context) *pace {
	slot, _ := ctx.Value(slotKey{}).(*access.Slot)
	return &pace{ctx, s, slot}
}

// Expect implements ask.Pace.
func (p *pace) Expect(forecasts int) { p.slot.Expect(float64(forecasts)) }

// Next implements ask.Pace.
func (p *pace) Next() error {
	runtime.Gosched() // let network goroutines run first: a forecast takes milliseconds on a large cluster
	if problem, retry := p.slot.Step(p.ctx, access.Of(p.ctx), 1); problem != nil {
		return p.server.refusal(problem, retry)
	}
	return nil
}

// retryAfter formats a duration for the header Retry-After: in whole seconds, rounded up, at least 1.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}
