package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
)

const (
	// importBeat is the interval at which the answer reports the progress of an import, also as a sign of life.
	importBeat = 500 * time.Millisecond
	// importIdle is how long a client may pause while sending.
	importIdle = 10 * time.Minute
	// importDrain is how long a client that is still sending may take to read the refusal of its log.
	importDrain = 10 * time.Second
)

// describeImport adds the operation to the OpenAPI description. The mux calls postImport itself, because a handler of
// huma would hold the whole body in memory.
func describeImport(doc *huma.OpenAPI) {
	text := &huma.Schema{Type: huma.TypeString}
	query := func(name, doc string, schema *huma.Schema) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Schema: schema}
	}
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	line := doc.Components.Schemas.Schema(reflect.TypeFor[wire.ImportLine](), true, "ImportLine")
	doc.AddOperation(&huma.Operation{
		OperationID: "import-log", Method: http.MethodPost, Path: importPath, Security: adminOnly(),
		Summary: "Learn from old logs",
		Parameters: []*huma.Param{
			query("cluster", "cluster; may be left out where there is only one", text),
			query("format", "format of all files, as the configuration names it; by default the content of each "+
				"shows it", text),
			query("columns", "columns of a dump of sacct without a header, separated by commas", text),
			query("mode", "how the history is replayed: exact, fast, or auto, which is fast above 100,000 jobs",
				&huma.Schema{Type: huma.TypeString, Enum: []any{"auto", "exact", "fast"}, Default: "auto"}),
			query("name", "name of the file, for messages and the quarantine; files of a form have their own", text),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: binary},
			formMedia: {Schema: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
				filePart: {Type: huma.TypeArray, Items: binary}}}},
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

// postImport passes the uploaded logs to the daemon, and sends the progress to the client.
func (s *Server) postImport(w http.ResponseWriter, r *http.Request) {
	req, err := s.importRequest(r)
	if err != nil {
		writeProblem(w, importProblem(err))
		return
	}
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // by default HTTP/1 allows no answer while the body is read
	_ = control.SetWriteDeadline(time.Time{})
	body := &idleTimeoutReader{ctx: r.Context(), from: r.Body, control: control,
		begun: r.Header.Get("Expect") == ""}
	if req.Files, err = newUpload(r, body); err != nil {
		writeProblem(w, importProblem(err))
		return
	}
	defer context.AfterFunc(r.Context(), body.abort)() // wakes up a read that waits
	answer := &importAnswer{w: w, control: control}
	stop := answer.beat()
	defer stop() // nobody may write to an answer after its end
	report, err := s.opts.Admin.Import(r.Context(), req, answer.note)
	stop()
	answer.end(report, err)
	body.drain()
}

// importRequest parses the query.
func (s *Server) importRequest(r *http.Request) (ImportRequest, error) {
	q := r.URL.Query()
	known := []string{"cluster", "columns", "format", "mode", "name"}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return ImportRequest{}, ask.Invalid(name, "unknown parameter; known are "+strings.Join(known, ", "))
		}
		switch {
		case len(values) > 1:
			return ImportRequest{}, ask.Invalid(name, givenTwice)
		case len(values[0]) > maxText:
			return ImportRequest{}, ask.Invalid(name, fmt.Sprintf("longer than %d bytes", maxText))
		}
	}
	req := ImportRequest{Cluster: q.Get("cluster"), Format: q.Get("format"), Columns: q.Get("columns"),
		Mode: q.Get("mode")}
	if req.Mode == "auto" {
		req.Mode = ""
	}
	if !slices.Contains([]string{"", "exact", "fast"}, req.Mode) {
		return req, ask.Invalid("mode", fmt.Sprintf("%q is none of auto, exact, fast", req.Mode))
	}
	if req.Cluster == "" {
		v, err := s.ask.View("")
		if err != nil {
			return req, err
		}
		req.Cluster = v.Cluster
	}
	return req, nil
}

// importProblem converts any error to a problem.
func importProblem(err error) *problem {
	if p := problemOf(err); p != nil {
		return p
	}
	return (&Refused{Status: http.StatusInternalServerError, Detail: err.Error()}).problem()
}

// idleTimeoutReader reads a body that may take longer than the server's timeout for requests, but fails if nothing
// arrives for a while.
type idleTimeoutReader struct {
	ctx     context.Context
	from    io.Reader
	control *http.ResponseController
	begun   bool // reading has begun, or the client sends the body without waiting for "100 Continue"
	aborted atomic.Bool
	bytes   atomic.Int64
	failed  error // error of a read, other than the end of the body
}

// errAborted is the error of reads after abort.
var errAborted = errors.New("the import was ended")

// Read implements io.Reader.
func (p *idleTimeoutReader) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(importIdle))
	// checked after setting the deadline, because abort may have just reset it
	if err := p.ctx.Err(); err != nil {
		p.failed = err
		return 0, err
	}
	if p.aborted.Load() {
		p.failed = errAborted
		return 0, errAborted
	}
	p.begun = true
	n, err := p.from.Read(b)
	p.bytes.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		p.failed = err
	}
	return n, err
}

// abort ends a blocked read, and makes all later ones fail.
func (p *idleTimeoutReader) abort() {
	p.aborted.Store(true)
	_ = p.control.SetReadDeadline(time.Now())
}

// drain lets a client that is still sending read the answer. If the connection were closed before the client has sent
// everything, the connection would be reset, and the client would lose the answer.
func (p *idleTimeoutReader) drain() {
	if !p.begun || p.ctx.Err() != nil {
		return // the client still waits for "100 Continue", or is gone
	}
	_ = p.control.SetReadDeadline(time.Now().Add(importDrain))
	_, _ = io.Copy(io.Discard, p.from) // ends also at the deadline
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

// beat writes the newest progress at every importBeat, until the returned function is called.
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
	return sync.OnceFunc(func() {
		close(done)
		writer.Wait()
	})
}

func (a *importAnswer) line(l wire.ImportLine) {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", ndjsonMedia)
		a.w.Header().Set("Cache-Control", "no-store")
	}
	_ = json.NewEncoder(a.w).Encode(l) // ignored: reading the body shows whether the client has disconnected
	_ = a.control.Flush()
}

// end writes the last line. If nothing was written yet, a problem sets the HTTP status.
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
