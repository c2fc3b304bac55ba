package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/swf"
)

// worked returns a server that has seen 100 days of ten jobs a day, all submitted in working hours.
func worked(t testing.TB) *fixture {
	t.Helper()
	f := lively(t)
	var events []job.Event
	begin := 30. * 86400
	for day := range 100 {
		for i := range 10 {
			submit := begin + float64(day)*86400 + 9*3600 + float64(i)*(2000+float64(day%7)*40)
			events = append(events, one{
				id: fmt.Sprint("w", day, "-", i), queue: "busy", procs: 1 + i%4, submit: submit, start: submit + 5,
				end: submit + 100 + float64(day*i),
			}.events("main")...)
		}
	}
	f.feed("main", events...)
	return f
}

// TestWorkload proves that every model streams the requested number of jobs, as SWF and as JSON lines. The same seed
// gives the same jobs, and no job has a name.
func TestWorkload(t *testing.T) {
	f := worked(t)
	for _, model := range []string{"lublin", "markov", "uniform_log", "users"} {
		path := "/v1/workload?queue=busy&jobs=300&model=" + model
		a, b := f.do(http.MethodGet, path+"&seed=7", nil), f.do(http.MethodGet, path+"&seed=7", nil)
		other := f.do(http.MethodGet, path+"&seed=8", nil)
		if a.status != http.StatusOK || !bytes.Equal(a.body, b.body) || a.header.Get("Waitcast-Seed") != "7" {
			t.Fatalf("%s: status %d, seed %q, twice the same: %v: %s", model, a.status, a.header.Get("Waitcast-Seed"),
				bytes.Equal(a.body, b.body), a.body)
		}
		if records(t, a.body) == nil || bytes.Equal(a.body, other.body) {
			t.Errorf("%s: another seed draws the same", model)
		}
		if n := len(records(t, a.body)); n != 300 {
			t.Errorf("%s: %d jobs, want 300", model, n)
		}
		lines := f.do(http.MethodGet, path+"&seed=7&format=jsonl", nil)
		rows := bytes.Split(bytes.TrimSpace(lines.body), []byte("\n"))
		if lines.header.Get("Content-Type") != "application/x-ndjson" || len(rows) != 300 {
			t.Fatalf("%s: %d lines of %s", model, len(rows), lines.header.Get("Content-Type"))
		}
		for i, r := range records(t, a.body) {
			var j wire.SyntheticJob
			if err := json.Unmarshal(rows[i], &j); err != nil {
				t.Fatal(err)
			}
			if j.ID != r.ID || int64(j.SubmitSeconds) != r.Submit || int64(j.Procs) != r.Allocated ||
				model == "users" && j.Queue != "busy" {
				t.Fatalf("%s: line %+v, record %+v", model, j, r)
			}
		}
		if bytes.Contains(a.body, []byte(secret)) || bytes.Contains(lines.body, []byte(secret)) {
			t.Errorf("%s names a user", model)
		}
	}
}

// records reads a workload file.
func records(t *testing.T, body []byte) []swf.Record {
	t.Helper()
	r := swf.NewReader(bytes.NewReader(body))
	var out []swf.Record
	for {
		var rec swf.Record
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
}

// TestWorkloadHours proves that the parameter hours ends a workload, and that the parameter jobs can end it earlier.
func TestWorkloadHours(t *testing.T) {
	f := worked(t)
	day := records(t, f.do(http.MethodGet, "/v1/workload?queue=busy&hours=48&seed=1", nil).body)
	if len(day) < 4 || day[len(day)-1].Submit >= 48*3600 {
		t.Errorf("%d jobs within two days of ten each", len(day))
	}
	if n := len(records(t, f.do(http.MethodGet, "/v1/workload?queue=busy&hours=48&jobs=3&seed=1", nil).body)); n != 3 {
		t.Errorf("%d jobs, want 3", n)
	}
}

// TestWorkloadRefused proves that a refusal has the mistake in the request, or the data that the model lacks.
func TestWorkloadRefused(t *testing.T) {
	f := lively(t)
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"queue=nowhere":              {http.StatusNotFound, "nowhere"},
		"cluster=nowhere":            {http.StatusNotFound, "nowhere"},
		"queue=work&model=lublin":    {http.StatusServiceUnavailable, "at least 50 needed"},
		"queue=declared&model=users": {http.StatusServiceUnavailable, "no job"},
	} {
		if p := f.problem("/v1/workload?" + query); p.Status != want.status || !strings.Contains(p.Detail, want.text) {
			t.Errorf("%s: %+v, want %d %q", query, p, want.status, want.text)
		}
	}
	for _, query := range []string{
		"model=other", "format=xml", "jobs=10000001", "jobs=-1", "hours=1e9", "seed=x",
		"seed=12345678901234567890", "queu=work",
	} {
		if p := f.problem("/v1/workload?" + query); p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %+v", query, p)
		}
	}
}

// leaver is a client that disconnects after a given number of bytes.
type leaver struct {
	*httptest.ResponseRecorder
	left  int
	leave context.CancelFunc
}

// Write implements io.Writer.
func (l *leaver) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		l.leave()
	}
	return len(b), nil
}

// TestWorkloadEndsWithTheClient proves that the server stops drawing a workload of ten million jobs when its client has
// disconnected, and that another client can then be served in its place.
func TestWorkloadEndsWithTheClient(t *testing.T) {
	f := worked(t)
	for range 5 { // more than the server draws at once
		ctx, cancel := context.WithCancel(t.Context())
		w := &leaver{httptest.NewRecorder(), 20_000, cancel}
		f.server.Handler().ServeHTTP(w,
			httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/workload?queue=busy&jobs=10000000", nil))
		cancel()
		if w.Code != http.StatusOK || w.left > 0 || w.left < -1_000_000 {
			t.Fatalf("status %d, %d bytes were written after the client had gone", w.Code, -w.left)
		}
	}
}

// TestModelsOfABusyQueue proves that GET /v1/models gives the figures of every model, and the reason for each figure
// that is missing.
func TestModelsOfABusyQueue(t *testing.T) {
	f := worked(t)
	var m wire.Models
	f.get("/v1/models/busy", &m)
	law := m.Laws[1]
	if law.Jobs != 700 || law.Chosen == "" || law.Reason != "" || law.Law == nil || law.Params == nil ||
		len(law.Scores) != 4 || law.Scores[0].LogScore == nil {
		t.Errorf("laws %+v", law)
	}
	if last := law.Scores[3]; last.Law != "uniform_log_at_limit" || last.LogScore != nil ||
		last.Reason != "no job has told a time limit" {
		t.Errorf("the law that cannot be fitted: %+v", last)
	}
	if m.Laws[0].Class != "sequential" || m.Laws[0].Jobs != 300 {
		t.Errorf("laws %+v", m.Laws[0])
	}
	l := m.Lublin
	if l.Size.Reason+l.Runtime.Reason+l.Arrival.Reason != "" || l.Size.Serial < .29 || l.Size.Serial > .31 ||
		l.Size.Jobs != 1000 || l.Runtime.KS <= 0 || len(l.Arrival.HalfHours) != 48 {
		t.Errorf("lublin %+v", l)
	}
	if u := m.Users; u.Reason != "" || u.Jobs != 1000 || u.LongTerm != 1 || u.Sessions < 100 || u.Flurries != 0 ||
		u.Saturated {
		t.Errorf("users %+v", u)
	}
	var few wire.Models
	f.get("/v1/models/work", &few)
	if r := few.Laws[1].Reason; !strings.Contains(r, "from 256 lifetimes on, there are 200") ||
		few.Laws[1].Chosen != "uniform_log" {
		t.Errorf("a queue with too few lifetimes for a choice: %+v", few.Laws[1])
	}
	if few.Lublin.Arrival.Reason == "" || few.Lublin.Runtime.Reason != "" {
		t.Errorf("a queue with too few gaps: %+v", few.Lublin)
	}
}
