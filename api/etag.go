package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/page"
	"github.com/waitcast/waitcast/api/reference"
	"github.com/waitcast/waitcast/api/reference/render"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// reads is the Cache-Control header of answers to GET. Only the client itself may cache an answer, and it must
// revalidate it each time. A proxy must not pass the answer to another client, which may lack the rights.
const reads = "private, no-cache"

// requestKey is the context key of the path and the parameters of a request.
type requestKey struct{}

// readable sets the Cache-Control header of answers to GET. It also stores the path and the parameters of the request
// in the context, because the tag of the answer depends on them.
func readable(ctx huma.Context, next func(huma.Context)) {
	if m := ctx.Method(); m == http.MethodGet || m == http.MethodHead {
		ctx.SetHeader("Cache-Control", reads) // answers that must not be cached overwrite it
		u := ctx.URL()
		// Encode sorts the parameters by name.
		ctx = huma.WithValue(ctx, requestKey{}, hashed{u.Path, u.Query().Encode()})
	}
	next(ctx)
}

// hashed has the parts of a request that its tag depends on: the path, and the parameters as text.
type hashed struct{ path, query string }

// tag returns the ETag (RFC 9110, section 8.8.3) of an answer that is made from views. The tag is weak, because
// age_seconds changes with every request. It depends on this process, the request and its caller, the events behind the
// views, the number of trainings, and whether the views are stale. If clock is true, it also depends on the present
// second, as a forecast does.
func (s *Server) tag(ctx context.Context, clock bool, views ...*readmodel.View) string {
	var room [128]byte
	asked, _ := ctx.Value(requestKey{}).(hashed)
	caller := access.Of(ctx)
	b := append(room[:0], `W/"`...)
	b = append(strconv.AppendInt(b, s.born.Load(), 16), '-')
	b = append(strconv.AppendUint(b, maphash.Comparable(s.seed, asked), 16), '-')
	b = append(strconv.AppendInt(b, int64(caller.Role), 10), '.')
	b = strconv.AppendUint(b, maphash.String(s.seed, caller.User), 16)
	for _, v := range views {
		_, _, stale := s.ask.AsOf(v)
		b = strconv.AppendInt(append(b, '-'), v.Seq, 10)
		b = strconv.AppendInt(append(b, '.'), int64(v.Learning.Trainings), 10)
		if stale {
			b = append(b, 's')
		}
	}
	if clock {
		b = strconv.AppendInt(append(b, '-'), s.opts.Now().Unix(), 10)
	}
	return string(append(b, '"'))
}

// loadTag returns the tag of an answer that is made from a view and a load forecast. number is the number of that
// forecast.
func (s *Server) loadTag(ctx context.Context, v *readmodel.View, number int64) string {
	return strings.TrimSuffix(s.tag(ctx, false, v), `"`) + fmt.Sprintf(`-f%d"`, number)
}

// matches reports whether a header If-None-Match (RFC 9110, section 13.1.2) contains the tag, by weak comparison, or
// "*".
func matches(ifNoneMatch, tag string) bool {
	if ifNoneMatch == "" {
		return false
	}
	for have := range strings.SplitSeq(ifNoneMatch, ",") {
		have = strings.TrimSpace(have)
		if have == "*" || strings.TrimPrefix(have, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// unchanged returns the error that makes huma answer 304 if the request's If-None-Match has the tag.
func unchanged(ifNoneMatch, tag string) error {
	if !matches(ifNoneMatch, tag) {
		return nil
	}
	return huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"ETag": {tag}})
}

// fixed serves an answer that does not change while the process runs, such as the description of the interface. Its tag
// is strong: the hash of its bytes. body is called for each request, and must return the same bytes each time.
func (s *Server) fixed(body func() ([]byte, error), contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := body()
		if err != nil { // cannot happen: the bytes depend only on the program
			s.opts.Log.Error("describing the interface", zap.Error(err))
			writeProblem(w,
				(&Refused{Status: http.StatusInternalServerError,
					Detail: "the description of the interface cannot be written"}).problem())
			return
		}
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", reads)
		if matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(content) // the client may have disconnected
	}
}

// describe adds the paths of the OpenAPI description, and of the reference that is made of it, to mux. It replaces
// huma's own handlers, which compute the description at the first request without a lock, and set no ETag.
func (s *Server) describe(mux *routes, doc *huma.OpenAPI) {
	for ending, of := range map[string]struct {
		body        func() ([]byte, error)
		contentType string
	}{
		".json":     {doc.MarshalJSON, "application/openapi+json"},
		".yaml":     {doc.YAML, "application/openapi+yaml"},
		"-3.0.json": {doc.Downgrade, "application/openapi+json"},
		"-3.0.yaml": {doc.DowngradeYAML, "application/openapi+yaml"},
	} {
		mux.HandleFunc("GET /openapi"+ending, s.fixed(sync.OnceValues(of.body), of.contentType))
	}
	readable := s.fixed(sync.OnceValues(func() ([]byte, error) {
		text, err := doc.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return render.HTML(text, page.Style)
	}), "text/html; charset=utf-8")
	mux.HandleFunc("GET "+reference.Path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", page.Policy(s.guard.Ancestors()))
		readable(w, r)
	})
}
