package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

func (f *fixture) nowIn(queue string) wire.NowQueue {
	f.Helper()
	var out wire.Now
	f.get("/v1/now?queue="+queue, &out)
	if len(out.Queues) != 1 || out.Queues[0].Queue != queue {
		f.Fatalf("%+v, want queue %s alone", out, queue)
	}
	return out.Queues[0]
}

// TestNowHoles checks the jobs that would start at once. Behind a job that waits for all processors, the free
// processors can be used until the time limit of the running job. If no job waits, all free processors can be used for
// any time. The probability equals that of GET /v1/wait.
func TestNowHoles(t *testing.T) {
	f := holes(t)
	q := f.nowIn("work")
	if len(q.Openings) != 1 || q.Openings[0].Procs != 4 || q.Openings[0].TimeLimitSeconds == nil ||
		*q.Openings[0].TimeLimitSeconds != 5*hour-600 {
		t.Fatalf("openings %+v, want 4 processors for 4 h 50 min", q.Openings)
	}
	if q.Free != 4 || q.Procs != 10 || q.QueuedJobs != 1 || q.PlanAge == nil || *q.PlanAge != 0 || q.Binds != "procs" {
		t.Errorf("%+v, want 4 of 10 free, 1 job that waits, a plan of now", q)
	}
	o := q.Openings[0]
	w := f.wait(fmt.Sprintf("queue=work&procs=4&time_limit=%.0f", *o.TimeLimitSeconds))
	if o.Probability != rounded6(w.StartWithin.Minute) {
		t.Errorf("probability %v, GET /v1/wait says %v", o.Probability, w.StartWithin.Minute)
	}
	if o.LikelyProcs > 4 || o.LikelyProcs == 4 != (o.Probability >= .9) {
		t.Errorf("likely %d processors at a probability of %v", o.LikelyProcs, o.Probability)
	}
	if !strings.Contains(q.Reason, "up to 4 processors for up to 4 h 50 min start at once with a probability of") {
		t.Errorf("reason %q", q.Reason)
	}
	spare := f.nowIn("spare")
	if len(spare.Openings) != 1 || spare.Openings[0].Procs != 4 || spare.Openings[0].TimeLimitSeconds != nil ||
		spare.Openings[0].Probability < .8 {
		t.Errorf("an empty pool: %+v, want all 4 for any time", spare.Openings)
	}
}

func rounded6(x float64) float64 {
	var out float64
	_, _ = fmt.Sscan(fmt.Sprintf("%.6g", x), &out)
	return out
}

// TestNowFrontier proves that fewer processors can be used for longer if the remaining ones suffice for the waiting
// job.
func TestNowFrontier(t *testing.T) {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	f.feed("main", one{id: "r", queue: "work", procs: 4, limit: 2 * time.Hour, submit: begin, start: begin,
		end: -1}.events("main")...)
	f.feed("main", one{id: "w", queue: "work", procs: 7, limit: time.Hour, submit: begin + 10, start: -1,
		end: -1}.events("main")...)
	f.tick("main", "work", begin+600)
	q := f.nowIn("work")
	if len(q.Openings) != 2 || q.Openings[0].Procs != 6 || *q.Openings[0].TimeLimitSeconds != 2*hour-600 ||
		q.Openings[1].Procs != 3 || q.Openings[1].TimeLimitSeconds != nil {
		t.Errorf("openings %+v, want 6 for 1 h 50 min, and 3, which the job of 7 does not need, for any time",
			q.Openings)
	}
	f.feed("main", one{id: "x", queue: "work", procs: 6, limit: time.Hour, submit: begin + 700, start: begin + 700,
		end: -1}.events("main")...)
	f.tick("main", "work", begin+800)
	if q := f.nowIn("work"); len(q.Openings) != 0 || q.Free != 0 ||
		!strings.Contains(q.Reason, "no processor is free") {
		t.Errorf("a full machine: %+v", q)
	}
}

// TestNowRefuses proves that unknown queues and clusters, and clusters without records, are refused.
func TestNowRefuses(t *testing.T) {
	f := holes(t)
	for path, status := range map[string]int{
		"/v1/now?queue=elsewhere": http.StatusNotFound, "/v1/now?cluster=mian": http.StatusNotFound,
		"/v1/now?qeue=work": http.StatusUnprocessableEntity,
	} {
		if p := f.problem(path); p.Status != status {
			t.Errorf("%s: %+v, want %d", path, p, status)
		}
	}
	if p := serve(t, main(4, "work")).problem("/v1/now"); p.Status != http.StatusServiceUnavailable ||
		p.Reason != "nothing_read" {
		t.Errorf("nothing read: %+v", p)
	}
	a := f.do(http.MethodGet, "/v1/now", nil)
	if b := f.do(http.MethodGet, "/v1/now",
		http.Header{"If-None-Match": {a.header.Get("ETag")}}); b.status != http.StatusNotModified {
		t.Errorf("the same ETag: status %d", b.status)
	}
}

// BenchmarkNow measures GET /v1/now in a pool whose requests are simulated, for a view that has answered requests
// before.
func BenchmarkNow(b *testing.B) {
	f := holes(b)
	for b.Loop() {
		f.nowIn("work")
	}
}
