package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
)

// The paths that are not like the others: the body of the first is read while it comes, the others answer for as long
// as the client likes.
const (
	importPath  = "/v1/import"
	watchPath   = "/v1/watch"
	changesPath = "/v1/changes"
)

// ndjsonMedia is the type of lines of JSON.
const ndjsonMedia = "application/x-ndjson"

// mostBody is how many bytes a question may have unless the options say otherwise.
const mostBody = 1 << 20

// bodyPatience is how long the body of a question may take to come.
const bodyPatience = 5 * time.Second

// routes is a mux that knows what it serves, and answers with problems where nothing does. A question's body is read
// here, whole: what is wrong with it is the client's fault.
type routes struct {
	*http.ServeMux
	patterns []string
	body     atomic.Int64 // bytes that a body may have
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
	if (r.Method == http.MethodPost || r.Method == http.MethodPut) && r.URL.Path != importPath {
		if p := m.read(w, r); p != nil {
			access.WriteProblem(w, p)
			return
		}
	}
	m.ServeMux.ServeHTTP(w, r) // again: it sets the values of the pattern
}

// read takes in a body.
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
	// the server's own holds where this cannot
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyPatience))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var long *http.MaxBytesError
	var slow net.Error
	switch {
	case err == nil:
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return nil
	case errors.As(err, &long):
		return tooLong
	case errors.As(err, &slow) && slow.Timeout():
		return &wire.Problem{Status: http.StatusRequestTimeout, Detail: "the body did not come in time"}
	}
	return &wire.Problem{Status: http.StatusBadRequest, Detail: "the body cannot be read: " + err.Error()}
}

// nothing answers where no handler is: the mux's own handler knows the status, and what is allowed.
func (m *routes) nothing(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	mute := &discardWriter{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(mute, r)
	if mute.status < http.StatusBadRequest { // a redirection to the path's clean form
		mute.status = http.StatusNotFound
	}
	p := &wire.Problem{Status: mute.status, Detail: "there is nothing at this path",
		Hint: "GET /openapi.json tells what there is"}
	if allow := mute.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		p.Detail = "this path takes " + strings.ReplaceAll(allow, ",", " or") + " only"
	}
	access.WriteProblem(w, p)
}

// discardWriter discards a response but for its header and status.
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
