package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// cannedJobs returns the fixed answer of the fake server, with invented numbers.
func cannedJobs() wire.Jobs {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	return wire.Jobs{
		Cluster: "main", AsOf: at, Waiting: 5, NextOffset: ptr(3), Jobs: []wire.Job{
			{ID: "4711", Queue: "batch", Procs: 16, TimeLimitSeconds: 3600, Submit: at.Add(-time.Hour),
				WaitedSeconds: 3600, AheadJobs: 2, AheadProcs: 48,
				Moved: "it has waited about 1 h, and 9 jobs were ahead of it at its submission, 2 now",
				Forecast: &wire.JobForecast{
					AtSubmit: wire.Quantiles{P10: ptr(60.), P50: ptr(7200.), P90: ptr(86400.)},
					Now: wire.Quantiles{P10: ptr(30.), P25: ptr(600.), P50: ptr(1800.), P75: ptr(5400.),
						P90: ptr(40000.)},
					Start: wire.Instants{P50: ptr(at.Add(30 * time.Minute))}, AheadJobs: 9,
					Methods: []wire.Method{{Name: "qbets", MedianSeconds: ptr(300.)}, {Name: "limits"}},
				}},
			{ID: "4712\x1b[31m", Queue: "batch", Procs: 1, Held: true, HeldReason: "Dependency",
				NoForecast: "not_fitted"},
			{ID: "4713", DetailsPending: true, NoForecast: "unknown"},
		},
	}
}

// TestJobsShowsAll proves that every job has a line with its obstacle and the reason for a missing forecast, and that
// no id can control the terminal.
func TestJobsShowsAll(t *testing.T) {
	r := runWith(serve(t, 200, cannedJobs()), "jobs", "-q", "batch")
	for _, want := range []string{
		"5 jobs wait", "4711", "1 h", "2 h", "10 min to 1 h 30 min", "Mon 13:30", "held Dependency", "none",
		"too few jobs ended", "details not known yet",
		"4713", "details pending", "3 of 5 jobs are shown: --offset 3 shows the next ones",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if r.code != exitDone || r.stderr != "" || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("exit %d, %s\n%q", r.code, r.stderr, r.stdout)
	}
	raw := runWith(serve(t, 200, cannedJobs()), "jobs", "--json")
	if raw.code != exitDone || !strings.HasPrefix(raw.stdout, `{"cluster":"main"`) {
		t.Errorf("exit %d: %s", raw.code, raw.stdout)
	}
}

// TestOneJob checks the text about one job and about a job that does not wait, and proves that the id is sent to the
// daemon unchanged.
func TestOneJob(t *testing.T) {
	var asked string
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath()
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no job ` +
			`\"9/1\" waits in cluster main"}`))
	}))
	t.Cleanup(server.Close)
	if r := runWith(server.URL, "jobs", "9/1"); r.code == exitDone || asked != "/v1/jobs/9%2F1" ||
		!strings.Contains(r.stderr, "waits in cluster main") {
		t.Errorf("asked %q, exit %d: %s", asked, r.code, r.stderr)
	}
	all := cannedJobs()
	one := wire.JobAnswer{Cluster: "main", Job: all.Jobs[0], AsOf: all.AsOf, Stale: true, AgeSeconds: 900}
	r := runWith(serve(t, 200, one), "jobs", "4711")
	for _, want := range []string{
		"4711, queue batch of cluster main, 16 processors", "median wait 2 h", "median rest 30 min", "qbets",
		"median wait 5 min", noEnd, "2 jobs with 48 processors", "9 jobs were",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, r.stdout)
		}
	}
	one.Job = all.Jobs[2]
	if r := runWith(serve(t, 200, one), "jobs", "4713"); !strings.Contains(r.stdout,
		"4713, cluster main, details pending") || strings.Contains(r.stdout, "0 processors\n") &&
		!strings.Contains(r.stdout, "0 jobs with 0 processors") {
		t.Errorf("a job without details:\n%s", r.stdout)
	}
	if r.code != exitStale {
		t.Errorf("stale: exit %d", r.code)
	}
	for _, args := range [][]string{{"jobs", "1", "2"}, {"jobs", "--limit", "0"}, {"jobs", ""}} {
		if r := runWith(server.URL, args...); r.code != exitUsage {
			t.Errorf("%q: exit %d", args, r.code)
		}
	}
}
