package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// waitingJobs returns a fixture in which the first of three jobs runs on all processors and two wait, one of them
// submitted at the newest instant.
func waitingJobs(t *testing.T) *fixture {
	f := serve(t, main(10))
	for i, o := range []one{
		{id: "1", queue: "work", procs: 10, submit: 0, start: 5, end: -1},
		{id: "2_[3-4]+x", queue: "work", procs: 4, submit: 10, start: -1, end: -1},
		{id: "3", queue: "other", procs: 2, submit: 20, start: -1, end: -1},
	} {
		events := o.events("main")
		if i == 0 {
			events[0].TimeLimit = 3600e9
		}
		f.feed("main", events...)
	}
	f.now = at(100)
	return f
}

// TestJobs proves that every waiting job is shown with its forecast, in the order of submission and by queue, and that
// the forecast for the newest instant is marked as pending.
func TestJobs(t *testing.T) {
	f := waitingJobs(t)
	var got wire.Jobs
	f.get("/v1/jobs", &got)
	if len(got.Jobs) != 2 || got.Waiting != 2 || got.Jobs[0].Procs != 4 || got.Jobs[1].ID != "3" ||
		!got.AsOf.Equal(at(20)) || got.AgeSeconds != 80 {
		t.Fatalf("jobs %+v", got)
	}
	first, second := got.Jobs[0], got.Jobs[1]
	if first.Forecast == nil || first.WaitedSeconds != 90 || first.NoForecast != "" || first.Moved == "" ||
		!first.Submit.Equal(at(10)) {
		t.Fatalf("the first: %+v", first)
	}
	if first.AheadJobs != 0 || second.AheadJobs != 1 || second.AheadProcs != 4 {
		t.Errorf("ahead: %d; %d with %d processors, want none; 1 with 4", first.AheadJobs, second.AheadJobs,
			second.AheadProcs)
	}
	if second.Forecast != nil || second.NoForecast != "pending" {
		t.Errorf("the second, of the newest instant: %+v", second)
	}
	last := -1.0
	for _, q := range []*float64{
		first.Forecast.Now.P10, first.Forecast.Now.P25, first.Forecast.Now.P50, first.Forecast.Now.P75,
		first.Forecast.Now.P90, first.Forecast.Now.P95,
	} {
		if q == nil || *q < 0 || *q < last {
			t.Fatalf("the rest of the wait: %+v", first.Forecast.Now)
		}
		last = *q
	}
	f.get("/v1/jobs?queue=other", &got)
	if len(got.Jobs) != 1 || got.Jobs[0].ID != "3" || got.Waiting != 1 {
		t.Errorf("of one queue: %+v", got.Jobs)
	}
	f.get("/v1/jobs?limit=1", &got)
	if len(got.Jobs) != 1 || got.Waiting != 2 {
		t.Errorf("at most one: %+v", got.Jobs)
	}
	if p := f.problem("/v1/jobs?queue=nope"); p.Status != http.StatusNotFound || p.Reason != "unknown_queue" {
		t.Errorf("unknown queue: %+v", p)
	}
	if p := serve(t, main(1)).problem("/v1/jobs"); p.Status != http.StatusServiceUnavailable {
		t.Errorf("nothing read: %+v", p)
	}
}

// TestOneJob proves that a job is found by its id, whatever characters the id has. A job that does not wait is not
// found. A hold is shown.
func TestOneJob(t *testing.T) {
	f := waitingJobs(t)
	var got wire.JobAnswer
	f.get("/v1/jobs/"+url.PathEscape("2_[3-4]+x"), &got)
	if got.ID != "2_[3-4]+x" || got.Forecast == nil || got.Cluster != "main" {
		t.Errorf("job %+v", got)
	}
	for _, id := range []string{"1", "4"} {
		if p := f.problem("/v1/jobs/" + id); p.Status != http.StatusNotFound || !strings.Contains(p.Detail, id) {
			t.Errorf("job %s: %+v", id, p)
		}
	}
	for _, id := range []string{"50.a", "60.a", "60.b"} {
		f.feed("main", job.Event{Kind: job.Submit, Cluster: "main", ID: id, Time: at(30), Live: true,
			Attributes: job.Attributes{Queue: "work", Procs: 1}})
	}
	if f.get("/v1/jobs/50", &got); got.ID != "50.a" {
		t.Errorf("job 50: %q, want the only job 50 of a server", got.ID)
	}
	for _, id := range []string{"5", "60"} {
		if p := f.problem("/v1/jobs/" + id); p.Status != http.StatusNotFound {
			t.Errorf("job %s: %+v, want 404: no job or several jobs have that number", id, p)
		}
	}
	f.feed("main", job.Event{Kind: job.Hold, Cluster: "main", ID: "3", Time: at(30),
		Attributes: job.Attributes{Reason: "JobHeldUser"}})
	f.get("/v1/jobs/3", &got)
	if !got.Held || got.HeldReason != "JobHeldUser" || !strings.Contains(got.Moved, "held") ||
		got.Forecast.AheadJobs != 1 {
		t.Errorf("held: %+v", got)
	}
}
