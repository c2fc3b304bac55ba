package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

const (
	// importBeat is how often the answer tells how far an import is: also the sign that the daemon lives.
	importBeat = 500 * time.Millisecond
	// importIdle is how long a client may send nothing.
	importIdle = 10 * time.Minute
	// importDrain is how long a client that is still sending may take to read that its log is refused.
	importDrain = 10 * time.Second
	// maxImportName bounds the name of a log.
	maxImportName = 1024
)

// describeImport describes the operation, whose body huma would hold in memory.
func describeImport(doc *huma.OpenAPI) {
	text := &huma.Schema{Type: huma.TypeString}
	query := func(name, doc string, required bool) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Required: required, Schema: text}
	}
	line := doc.Components.Schemas.Schema(reflect.TypeFor[wire.ImportLine](), true, "ImportLine")
	doc.AddOperation(&huma.Operation{
		OperationID: "import-log", Method: http.MethodPost, Path: importPath, Security: adminOnly(),
		Summary: "Take in a log of the past",
		Description: "The body is the log, plain, gzip or zstd. The answer comes while it is read: lines of JSON, " +
			"each an ImportLine, the last one with the report or a problem.",
		Parameters: []*huma.Param{
			query("cluster", "cluster; may be left out where there is only one", false),
			query("format", "format of the log, as the configuration names it", true),
			query("name", "name of the file, for messages and the quarantine", false),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}},
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{ndjsonMedia: {Schema: line}}},
			"default": {Description: "Error",
				Content: map[string]*huma.MediaType{
					"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"}},
				}},
		},
	})
}

// postImport streams a log to the daemon, and the progress back.
func (s *Server) postImport(w http.ResponseWriter, r *http.Request) {
	req, err := importRequest(r)
	if err != nil {
		writeProblem(w, importProblem(err))
		return
	}
	if req.Cluster == "" {
		v, err := s.ask.View("")
		if err != nil {
			writeProblem(w, importProblem(err))
			return
		}
		req.Cluster = v.Cluster
	}
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // HTTP/1 forbids by default to answer while the body is read
	_ = control.SetWriteDeadline(time.Time{})
	body := &idleTimeoutReader{ctx: r.Context(), from: r.Body, control: control}
	req.Body = body
	// wakes up a read that waits
	defer context.AfterFunc(r.Context(), func() { _ = control.SetReadDeadline(time.Now()) })()
	answer := &importAnswer{w: w, control: control}
	stop := answer.beat()
	report, err := s.opts.Admin.Import(r.Context(), req, answer.note)
	stop()
	answer.end(report, err)
	body.drain()
}

func importRequest(r *http.Request) (ImportRequest, error) {
	q := r.URL.Query()
	for name := range q {
		if !slices.Contains([]string{"cluster", "format", "name"}, name) {
			return ImportRequest{}, ask.Invalid(name, "unknown parameter; known are cluster, format, name")
		}
	}
	req := ImportRequest{Cluster: q.Get("cluster"), Format: q.Get("format"), Name: q.Get("name")}
	if req.Name == "" {
		req.Name = "import"
	}
	switch encoding := r.Header.Get("Content-Encoding"); {
	case req.Format == "":
		return req, ask.Invalid("format", "which format has the log?")
	case len(req.Name) > maxImportName:
		return req, ask.Invalid("name", fmt.Sprintf("longer than %d bytes", maxImportName))
	case !slices.Contains([]string{"", "identity", "gzip", "x-gzip", "zstd"}, encoding):
		// which it is the log itself tells
		return req, &Refused{Status: http.StatusUnsupportedMediaType,
			Detail: fmt.Sprintf("Content-Encoding %q is not known", encoding), Hint: "send it plain, gzip or zstd"}
	}
	return req, nil
}

// importProblem makes any error a problem.
func importProblem(err error) *problem {
	if p := problemOf(err); p != nil {
		return p
	}
	return (&Refused{Status: http.StatusInternalServerError, Detail: err.Error()}).problem()
}

// idleTimeoutReader reads a body that may come slowly, beyond the time that the server gives a request, but not one
// that never comes.
type idleTimeoutReader struct {
	ctx     context.Context
	from    io.Reader
	control *http.ResponseController
	begun   bool
}

// Read implements io.Reader.
func (p *idleTimeoutReader) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(importIdle))
	if err := p.ctx.Err(); err != nil { // looked at after the deadline is set: it may just have been taken back
		return 0, err
	}
	p.begun = true
	return p.from.Read(b)
}

// drain lets a client that is still sending read the answer: a connection that is closed before the client is done is
// reset, and what was on its way to it is lost.
func (p *idleTimeoutReader) drain() {
	if !p.begun || p.ctx.Err() != nil {
		return // it waits for leave to send
	}
	_ = p.control.SetReadDeadline(time.Now().Add(importDrain))
	_, _ = io.Copy(io.Discard, p.from) // until the client is gone, which is what is waited for
}

// importAnswer writes the lines of the answer.
type importAnswer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool

	mu     sync.Mutex
	newest wire.ImportProgress
}

func (a *importAnswer) note(p wire.ImportProgress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest = p
}

// beat writes the newest progress every so often, until the function that it returns is called.
func (a *importAnswer) beat() (stop func()) {
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		tick := time.NewTicker(importBeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				a.mu.Lock()
				p := a.newest
				a.mu.Unlock()
				a.line(wire.ImportLine{Progress: &p})
			}
		}
	})
	return func() {
		close(done)
		writer.Wait()
	}
}

func (a *importAnswer) line(l wire.ImportLine) {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", ndjsonMedia)
		a.w.Header().Set("Cache-Control", "no-store")
	}
	_ = json.NewEncoder(a.w).Encode(l) // a client that is gone shows at the body
	_ = a.control.Flush()
}

// end writes the last line: a problem has a status of its own where nothing was written yet.
func (a *importAnswer) end(report *wire.ImportReport, err error) {
	switch {
	case err == nil:
		a.line(wire.ImportLine{Report: report})
	case a.begun:
		p := importProblem(err).Problem
		a.line(wire.ImportLine{Problem: &p})
	default:
		writeProblem(a.w, importProblem(err))
		_ = a.control.Flush()
	}
}
