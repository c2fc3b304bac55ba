package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// reads returns the paths whose answers are computed from a view, in pairs. The two paths of a pair differ in their
// parameters.
func reads() [][2]string {
	return [][2]string{
		{"/v1/wait?queue=work&procs=1", "/v1/wait?queue=work&procs=2"},
		{"/v1/now", "/v1/now?queue=work"},
		{"/v1/jobs", "/v1/jobs?limit=1"},
		{"/v1/accuracy", "/v1/accuracy?since=7d"},
		{"/v1/queues", "/v1/queues?cluster=main"},
		{"/v1/models/work", "/v1/models/work?cluster=main"},
	}
}

// TestEveryReadHasATag proves that all answers that are computed from a view have a tag. The tag is the same for the
// same parameters in another order, and differs for other parameters. Only the caller may cache the answer.
func TestEveryReadHasATag(t *testing.T) {
	f := lively(t)
	seen := map[string]string{}
	for _, pair := range reads() {
		for _, path := range pair {
			a := f.do(http.MethodGet, path, nil)
			tag := a.header.Get("ETag")
			if a.status != http.StatusOK || tag == "" || a.header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("%s: %d, ETag %q, Cache-Control %q: %.200s", path, a.status, tag,
					a.header.Get("Cache-Control"), a.body)
			}
			if other, twice := seen[tag]; twice {
				t.Errorf("%s has the tag of %s", path, other)
			}
			seen[tag] = path
			if again := f.do(http.MethodGet, path, nil).header.Get("ETag"); again != tag {
				t.Errorf("%s: tags %s and %s of the same view", path, tag, again)
			}
			b := f.do(http.MethodGet, path, http.Header{"If-None-Match": {tag}})
			if b.status != http.StatusNotModified || len(b.body) > 0 || b.header.Get("ETag") != tag ||
				b.header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("%s with its tag: %d %v %.100s", path, b.status, b.header, b.body)
			}
			if head := f.do(http.MethodHead, path,
				http.Header{"If-None-Match": {tag}}); head.status != http.StatusNotModified {
				t.Errorf("HEAD %s with its tag: %d", path, head.status)
			}
		}
	}
	one, two := f.do(http.MethodGet, "/v1/wait?queue=work&procs=1", nil),
		f.do(http.MethodGet, "/v1/wait?procs=1&queue=work", nil)
	if one.header.Get("ETag") != two.header.Get("ETag") {
		t.Error("the order of parameters changes the tag")
	}
	f.feed("main", one0("new", f.now).events("main")...)
	for tag, path := range seen {
		if a := f.do(http.MethodGet, path, http.Header{"If-None-Match": {tag}}); a.status != http.StatusOK ||
			a.header.Get("ETag") == tag {
			t.Errorf("%s after an event: %d, ETag %s", path, a.status, a.header.Get("ETag"))
		}
	}
}

// one0 returns a job that is submitted at an instant and then waits.
func one0(id string, at time.Time) one {
	return one{id: id, queue: "work", procs: 2, submit: at.Sub(epoch()).Seconds(), start: -1, end: -1}
}

// TestErrorsHaveNoTag proves that an error never counts as unchanged, and that caches do not keep answers for
// administrators, or random answers.
func TestErrorsHaveNoTag(t *testing.T) {
	f := lively(t)
	for _, path := range []string{
		"/v1/models/no", "/v1/queues?cluster=no", "/v1/wait?queue=no&procs=1", "/v1/jobs/no", "/v1/accuracy?since=no",
	} {
		if a := f.do(http.MethodGet, path, http.Header{"If-None-Match": {"*"}}); a.status < 400 ||
			a.header.Get("ETag") != "" {
			t.Errorf("%s: %d, ETag %q", path, a.status, a.header.Get("ETag"))
		}
	}
	a := f.do(http.MethodGet, "/v1/workload?model=users&queue=work", nil)
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("ETag") != "" {
		t.Errorf("a drawn workload: %v", a.header)
	}
}

// TestNotModifiedReadsNoLedger proves that the ledger is not read for a client that already has the answer.
func TestNotModifiedReadsNoLedger(t *testing.T) {
	f := lively(t)
	asked := 0
	s := api.New(f.pipeline, api.Options{
		StaleAfter: staleAfter, Now: func() time.Time { return f.now }, Registry: prometheus.NewRegistry(),
		Log: zap.NewNop(), Accuracy: func(_ context.Context, q api.AccuracyQuery) (*accuracy.Summary, error) {
			asked++
			return accuracy.NewSummary(q.Bounds), nil
		},
	})
	get := func(have string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/accuracy", nil)
		req.Header.Set("If-None-Match", have)
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, req)
		return rec
	}
	first := get("")
	for range 3 {
		if rec := get(first.Header().Get("ETag")); rec.Code != http.StatusNotModified {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	if asked != 1 {
		t.Errorf("the ledger was read %d times, want once", asked)
	}
	if get(`"x", W/"y"`); asked != 2 {
		t.Errorf("with foreign tags the ledger was read %d times, want twice", asked)
	}
}

// TestConfigure proves that new limits of staleness and of bodies apply from the next request on, and that answers that
// clients have cached become invalid.
func TestConfigure(t *testing.T) {
	f := lively(t)
	s := api.New(f.pipeline, api.Options{
		StaleAfter: 2 * staleAfter, Now: func() time.Time { return f.now }, Registry: prometheus.NewRegistry(),
		Log: zap.NewNop(),
	})
	ask := func(method, path, have, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		req.Header.Set("If-None-Match", have)
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, req)
		return rec
	}
	f.now = f.pipeline.Views()[0].At.Add(staleAfter + time.Second)
	first := ask(http.MethodGet, "/v1/queues", "", "")
	tag := first.Header().Get("ETag")
	if first.Code != http.StatusOK || !strings.Contains(first.Body.String(), `"stale":false`) {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	if again := ask(http.MethodGet, "/v1/queues", tag, ""); again.Code != http.StatusNotModified {
		t.Errorf("asked again: %d", again.Code)
	}
	long := `{"queue": "work", "candidates": [{"procs": 1}], "account": "` + strings.Repeat("x", 2000) + `"}`
	if w := ask(http.MethodPost, "/v1/wait", "", long); w.Code == http.StatusRequestEntityTooLarge {
		t.Errorf("a body of %d bytes is too long by default", len(long))
	}
	s.Configure(staleAfter, 1024)
	if w := ask(http.MethodGet, "/v1/queues", tag, ""); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), `"stale":true`) {
		t.Errorf("with another limit: %d %s", w.Code, w.Body)
	}
	if w := ask(http.MethodPost, "/v1/wait", "", long); w.Code != http.StatusRequestEntityTooLarge ||
		!strings.Contains(w.Body.String(), "1024") {
		t.Errorf("a body of %d bytes: %d %s", len(long), w.Code, w.Body)
	}
}

// TestDescriptionHasAStrongTag proves that the OpenAPI description has a strong tag, which is the same for every
// process of a build.
func TestDescriptionHasAStrongTag(t *testing.T) {
	f, g := lively(t), lively(t)
	for _, path := range []string{"/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/openapi-3.0.yaml"} {
		a := f.do(http.MethodGet, path, nil)
		tag := a.header.Get("ETag")
		if a.status != http.StatusOK || len(tag) < 10 || tag[0] != '"' || len(a.body) == 0 {
			t.Fatalf("%s: %d, ETag %q", path, a.status, tag)
		}
		for _, have := range []string{tag, "W/" + tag, "*", `"a", ` + tag} {
			if b := f.do(http.MethodGet, path,
				http.Header{"If-None-Match": {have}}); b.status != http.StatusNotModified || len(b.body) > 0 {
				t.Errorf("%s with %s: %d", path, have, b.status)
			}
		}
		if other := g.do(http.MethodGet, path, nil).header.Get("ETag"); other != tag {
			t.Errorf("%s: tags %s and %s of two processes", path, tag, other)
		}
		if head := f.do(http.MethodHead, path, nil); head.header.Get("ETag") != tag || head.status != http.StatusOK {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
}
