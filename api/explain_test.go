package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// blocked returns a fixture in which a job of 6 of 10 processors runs for up to ten hours, one of 8 waits behind it,
// and one of 2 waits behind that; the newest instant is over.
func blocked(t testing.TB) *fixture {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	for i, o := range []one{
		{id: "runs", queue: "work", procs: 6, limit: 10 * time.Hour, submit: begin + 1, start: begin + 1, end: -1},
		{id: "first", queue: "work", procs: 8, limit: time.Hour, submit: begin + 10, start: -1, end: -1},
		{id: "next", queue: "work", procs: 4, limit: 40 * time.Hour, submit: begin + 20, start: -1, end: -1},
		{id: "last", queue: "other", procs: 5, limit: 48 * time.Hour, submit: begin + 30, start: -1, end: -1},
	} {
		f.feed("main", o.events("main")...)
		f.now = at(begin + 40 + float64(i))
	}
	f.feed("main", job.Event{Kind: job.Hold, Cluster: "main", ID: "last", Time: at(begin + 40),
		Attributes: job.Attributes{Reason: "JobHeldUser"}})
	return f
}

func only(t *testing.T, what string, got []wire.Pivot, id string, procs int) {
	t.Helper()
	if len(got) != 1 || got[0].ID != id || got[0].Procs != procs || got[0].Share != 1 || got[0].RemainingP50 == nil ||
		got[0].RemainingP90 == nil ||
		*got[0].RemainingP50 <= 0 || *got[0].RemainingP90 < *got[0].RemainingP50 {
		t.Errorf("%s waits for %+v, want job %s alone", what, got, id)
	}
}

// TestWaitsFor proves that the one running job on which every start hangs is named with the share 1, how long it runs
// and how much longer, to a request and to the jobs that wait, not to one that is held, and only where it is asked for.
func TestWaitsFor(t *testing.T) {
	f := blocked(t)
	w := f.wait("queue=work&procs=5&time_limit=30:00:00")
	only(t, "a request", w.WaitsFor, "runs", 6)
	if w.WaitsFor[0].AgeSeconds != 39 {
		t.Errorf("age %v s, want 39: it runs since 1 s after the begin, the view is of 40 s after",
			w.WaitsFor[0].AgeSeconds)
	}
	if w := f.wait("queue=work&procs=5&time_limit=30:00:00&explain=false"); w.WaitsFor != nil || w.Sooner != nil {
		t.Errorf("not asked for: %+v, %+v", w.WaitsFor, w.Sooner)
	}
	for _, id := range []string{"first", "next"} {
		var got wire.JobAnswer
		f.get("/v1/jobs/"+id, &got)
		only(t, "job "+id, got.WaitsFor, "runs", 6)
	}
	var got wire.JobAnswer
	f.get("/v1/jobs/last", &got)
	if got.WaitsFor != nil || got.Sooner != nil || got.MovedBy != "held" {
		t.Errorf("held: %+v, %+v, %q", got.WaitsFor, got.Sooner, got.MovedBy)
	}
	f.end("runs")
	if w := f.wait("queue=work&procs=1&time_limit=1:00:00"); len(w.WaitsFor) > 0 {
		t.Errorf("after its end: %+v", w.WaitsFor)
	}
}

// end lets a job end.
func (f *fixture) end(id string) {
	f.feed("main", job.Event{Kind: job.End, Cluster: "main", ID: id, Time: f.now})
	f.now = f.now.Add(time.Minute)
}

// TestSooner proves that a time limit short enough to end before the reservation of the job ahead is found, with its
// own forecast and gain, and what that takes in words.
func TestSooner(t *testing.T) {
	f := blocked(t)
	w := f.wait("queue=work&procs=4&time_limit=30:00:00")
	var limit *wire.Sooner
	for i := range w.Sooner {
		if w.Sooner[i].Changes == "time_limit" {
			limit = &w.Sooner[i]
		}
	}
	if limit == nil {
		t.Fatalf("no shorter limit in %+v beside %s", w.Sooner, show(w.WaitSeconds.P50))
	}
	if limit.TimeLimitSeconds > 10*3600 || limit.Procs != 4 || limit.Queue != "work" ||
		!strings.HasPrefix(limit.If, "if it can end within ") {
		t.Errorf("sooner %+v, want a limit below that of the job that runs", limit)
	}
	again := f.wait("queue=work&procs=4&time_limit=" + (time.Duration(limit.TimeLimitSeconds) * time.Second).String())
	if *again.WaitSeconds.P50 != *limit.WaitSeconds.P50 || *again.WaitSeconds.P90 != *limit.WaitSeconds.P90 {
		t.Errorf("the option says %+v, asked for it is %+v", limit.WaitSeconds, again.WaitSeconds)
	}
	if gain := *w.WaitSeconds.P50 - *limit.WaitSeconds.P50; !near(limit.GainSeconds, gain) || gain < 60 ||
		gain < .2**w.WaitSeconds.P50 {
		t.Errorf("gain %v, the medians differ by %v", show(limit.GainSeconds), gain)
	}
	var got wire.JobAnswer
	f.get("/v1/jobs/next", &got)
	for _, s := range append(got.Sooner, w.Sooner...) {
		if s.GainSeconds == nil || *s.GainSeconds < 60 || s.WaitSeconds.P50 == nil {
			t.Errorf("of no use: %+v", s)
		}
	}
}

// TestExplanationsNameNobody proves that no explanation tells whose a job is.
func TestExplanationsNameNobody(t *testing.T) {
	f := blocked(t)
	for _, path := range []string{
		"/v1/wait?queue=work&procs=5&time_limit=30:00:00&user=" + secret, "/v1/jobs/first", "/v1/jobs/next", "/v1/jobs",
		"/v1/queues", "/metrics",
	} {
		a := f.do(http.MethodGet, path, nil)
		if a.status != http.StatusOK || strings.Contains(string(a.body), secret) {
			t.Errorf("GET %s: %d, names a user: %v", path, a.status, strings.Contains(string(a.body), secret))
		}
	}
}
