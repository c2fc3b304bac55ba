package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// These paths have special handling: the body of the first is read while it arrives, and the others stream answers
// until the client disconnects.
const (
	importPath  = "/v1/import"
	watchPath   = "/v1/watch"
	changesPath = "/v1/changes"
)

// ndjsonMedia is the type of lines of JSON.
const ndjsonMedia = "application/x-ndjson"

// mostBody is the default of Options.MostBody.
const mostBody = 1 << 20

// bodyPatience is the maximum time for receiving the body of a request.
const bodyPatience = 5 * time.Second

// routes is a mux that records its patterns, and answers requests to unknown paths with problems. Before the handler is
// called, it reads the whole body of a POST or PUT request (except an import), so that errors in reading become answers
// to the client.
type routes struct {
	*http.ServeMux
	patterns []string
	body     atomic.Int64 // maximum bytes of a body
	// expensive serves the requests for which isExpensive is true.
	expensive func(w http.ResponseWriter, r *http.Request, next http.Handler)
	restoring func() *readmodel.Condition // see Options.Restoring
}

// HandleFunc implements humago.Mux.
func (m *routes) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// Handle registers a handler, as http.ServeMux does.
func (m *routes) Handle(pattern string, handler http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, handler)
}

// ServeHTTP implements http.Handler.
func (m *routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler, pattern := m.Handler(r)
	if pattern == "" {
		m.nothing(w, r, handler)
		return
	}
	if needsState(r.URL.Path) {
		if c := m.restoring(); c != nil {
			refuseRestoring(w, c)
			return
		}
	}
	if (r.Method == http.MethodPost || r.Method == http.MethodPut) && r.URL.Path != importPath {
		if p := m.read(w, r); p != nil {
			access.WriteProblem(w, p)
			return
		}
	}
	if isExpensive(r) {
		m.expensive(w, r, m.ServeMux)
		return
	}
	m.ServeMux.ServeHTTP(w, r) // the mux itself sets the values of the pattern
}

// needsState reports whether the answers at a path depend on the state of the clusters.
func needsState(path string) bool {
	switch path {
	case healthPath, logLevelPath, goroutinesPath:
		return false
	}
	return strings.HasPrefix(path, "/v1/")
}

// restoringRetry is the time, in seconds, after which a client may repeat a question that came before the state was
// restored.
const restoringRetry = 10

// refuseRestoring answers a question that came before the state is restored.
func refuseRestoring(w http.ResponseWriter, c *readmodel.Condition) {
	w.Header().Set("Retry-After", strconv.Itoa(restoringRetry))
	w.Header().Set("Cache-Control", "no-store")
	access.WriteProblem(w, &wire.Problem{
		Type: wire.ProblemNoForecast, Title: noForecastTitle, Status: http.StatusServiceUnavailable,
		Detail: c.String(), Reason: string(c.Name),
		Hint: "ask again later: the daemon answers once its state is restored",
	})
}

// read replaces the body of a request by its content, which it reads as a whole. It returns a problem if the body is
// too long, arrives too slowly, cannot be read, or has a member twice in one object; otherwise nil.
func (m *routes) read(w http.ResponseWriter, r *http.Request) *wire.Problem {
	limit := m.body.Load()
	tooLong := &wire.Problem{
		Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body has more than %d bytes", limit),
		Hint: "ask in several questions; limits.body bounds them",
	}
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return tooLong
	}
	// If this deadline cannot be set, the server's own deadline applies.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyPatience))
	done := access.AwaitBody(r)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	done()
	var long *http.MaxBytesError
	var slow net.Error
	switch {
	case err == nil:
		// The server keeps reading to notice a disconnect. If the deadline passed during that, the server would
		// consider the client disconnected, and cancel later requests on the connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if name := duplicateMember(body); name != "" { // with two values it would be unclear which one counts
			return &wire.Problem{Type: wire.ProblemParameter, Status: http.StatusUnprocessableEntity,
				Detail: name + ": " + givenTwice, Parameter: name}
		}
		return nil
	case errors.As(err, &long):
		return tooLong
	case errors.As(err, &slow) && slow.Timeout():
		return &wire.Problem{Status: http.StatusRequestTimeout, Detail: "the body did not come in time"}
	}
	return &wire.Problem{Status: http.StatusBadRequest, Detail: "the body cannot be read: " + err.Error()}
}

// nothing answers requests without a handler: the mux's own handler determines the status, and the allowed methods.
func (m *routes) nothing(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	mute := &discardWriter{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(mute, r)
	if mute.status < http.StatusBadRequest { // a redirection to the path's clean form
		mute.status = http.StatusNotFound
	}
	p := &wire.Problem{Status: mute.status, Detail: "there is nothing at this path",
		Hint: "GET /docs shows what there is, /openapi.json to programs"}
	if allow := mute.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		p.Detail = "this path takes " + strings.ReplaceAll(allow, ",", " or") + " only"
	}
	access.WriteProblem(w, p)
}

// discardWriter discards the body of a response and keeps header and status.
type discardWriter struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (m *discardWriter) Header() http.Header { return m.header }

// Write implements http.ResponseWriter.
func (m *discardWriter) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (m *discardWriter) WriteHeader(status int) { m.status = status }
