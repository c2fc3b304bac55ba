package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// blocked returns a fixture of 10 processors. A job with 6 processors runs for up to ten hours. A job with 8 processors
// waits for it, and behind that one a job with 4 processors. In another queue a job with 5 processors is held. The
// newest instant has ended.
func blocked(t testing.TB) *fixture { return blockedUnder(t, "") }

// blockedUnder returns the fixture of blocked, but with the given policy in its configuration.
func blockedUnder(t testing.TB, policy string) *fixture {
	cfg := main(10)
	cfg.Policy = policy
	f := serve(t, cfg)
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

// TestWaitsFor proves that the only running job on which every start depends is named, with the share 1, its age and
// its remaining time. It is named for a request and for waiting jobs, but not for a held job, and only if the caller
// requests it. In the strict order of the fixture no later job overtakes, so no start depends on another job.
func TestWaitsFor(t *testing.T) {
	f := blockedUnder(t, "fcfs")
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

// end ends a job.
func (f *fixture) end(id string) {
	f.feed("main", job.Event{Kind: job.End, Cluster: "main", ID: id, Time: f.now})
	f.now = f.now.Add(time.Minute)
}

// limitOf returns the option with a shorter limit, nil if there is none.
func limitOf(options []wire.Sooner) *wire.Sooner {
	for i := range options {
		if options[i].Changes == "time_limit" {
			return &options[i]
		}
	}
	return nil
}

// useful checks that options agree with the wait: the gain is probable and material and agrees with both medians, and
// no quantile is later.
func useful(t *testing.T, beside *wire.Quantiles, options []wire.Sooner) {
	t.Helper()
	for _, o := range options {
		q := &o.WaitSeconds
		if o.GainSeconds == nil || q.P50 == nil {
			t.Fatalf("no number: %+v", o)
		}
		medians := *beside.P50 - *q.P50
		if o.Probability < .9 || o.Probability >= 1 || *o.GainSeconds < medians/2-.1 || *o.GainSeconds > 2*medians+.1 ||
			medians < 60-.1 || medians < .2**beside.P50-.1 || *q.P75 > *beside.P75+.1 || *q.P90 > *beside.P90+.1 {
			t.Errorf("of no use beside %s: %+v, gain %v", show(beside.P50), o, *o.GainSeconds)
		}
	}
}

// TestSooner proves that an option is found whose time limit ends before the reserved start of the job ahead. The
// option has its own forecast, gain and description.
func TestSooner(t *testing.T) {
	f := blocked(t)
	w := f.wait("queue=work&procs=4&time_limit=30:00:00")
	limit := limitOf(w.Sooner)
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
	useful(t, &w.WaitSeconds, w.Sooner)
	var got wire.JobAnswer
	f.get("/v1/jobs/next?keep=0.1", &got)
	if limitOf(got.Sooner) == nil {
		t.Errorf("the job that waits has no shorter limit: %+v", got.Sooner)
	}
	useful(t, &got.Forecast.Now, got.Sooner)
}

// TestSoonerGainsNothing proves that no shorter limit is proposed if it gains nothing. All processors are in use, so
// nothing starts before the running job ends, whatever the limit.
func TestSoonerGainsNothing(t *testing.T) {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	for _, o := range []one{
		{id: "runs", queue: "work", procs: 10, limit: 10 * time.Hour, submit: begin + 1, start: begin + 1, end: -1},
		{id: "first", queue: "work", procs: 3, limit: time.Hour, submit: begin + 10, start: -1, end: -1},
	} {
		f.feed("main", o.events("main")...)
	}
	f.now = at(begin + 40)
	for _, limit := range []string{"4:00:00", "30:00:00"} {
		w := f.wait("queue=work&procs=4&keep=0.01&time_limit=" + limit)
		if *w.WaitSeconds.P50 < 600 {
			t.Fatalf("the median wait is %s: the machine is not busy", show(w.WaitSeconds.P50))
		}
		if o := limitOf(w.Sooner); o != nil {
			t.Errorf("limit %s: %+v is told", limit, o)
		}
	}
}

// TestSoonerElsewhere proves that a free queue of another pool is proposed if the requested queue is busy. A busy
// queue is not proposed.
func TestSoonerElsewhere(t *testing.T) {
	for _, busy := range []int{5, 10} {
		f := serve(t, pipeline.ClusterConfig{Name: "main", Procs: 20, Pools: []cluster.PoolConfig{
			{Name: "day", Queues: []string{"work"}, Has: cluster.Vector{cluster.Procs: 10}},
			{Name: "dark", Queues: []string{"night"}, Has: cluster.Vector{cluster.Procs: 10}},
		}})
		begin := f.history("main", "work")
		for _, o := range []one{
			{id: "day", queue: "work", procs: 10, limit: 10 * time.Hour, submit: begin + 1, start: begin + 1, end: -1},
			{id: "night", queue: "night", procs: busy, limit: 10 * time.Hour, submit: begin + 2, start: begin + 2,
				end: -1},
		} {
			f.feed("main", o.events("main")...)
		}
		f.now = at(begin + 40)
		w := f.wait("queue=work&procs=4&time_limit=2:00:00")
		useful(t, &w.WaitSeconds, w.Sooner)
		told := slices.ContainsFunc(w.Sooner, func(o wire.Sooner) bool {
			return o.Changes == "queue" && o.Queue == "night"
		})
		if told != (busy == 5) {
			t.Errorf("%d of 10 processors are busy there, told %v: %+v", busy, told, w.Sooner)
		}
	}
}

// TestKeep proves that an option keeps at least the requested share of the size and of the time limit. Without a
// request the share is a quarter.
func TestKeep(t *testing.T) {
	f := blocked(t)
	kept := func(query string) (part float64) {
		part = 2
		w := f.wait("queue=work&procs=4&time_limit=48:00:00" + query)
		for _, o := range w.Sooner {
			part = min(part, float64(o.Procs)/4, o.TimeLimitSeconds/(48*3600))
		}
		if o := limitOf(w.Sooner); o != nil {
			part = min(part, o.TimeLimitSeconds/(48*3600))
		}
		return part
	}
	// To end before the running job, the limit would have to be shorter than a quarter of the requested one: 12 h.
	if part := kept(""); part < .25 {
		t.Errorf("by default an option keeps %v", part)
	}
	if part := kept("&keep=0.1"); part >= .25 || part < .1 {
		t.Errorf("an option keeps %v, want a tenth at least, and less than a quarter", part)
	}
	if part := kept("&keep=1"); part < 1 {
		t.Errorf("everything is kept, but an option keeps %v", part)
	}
	for _, path := range []string{"/v1/wait?queue=work&procs=4&keep=0", "/v1/wait?queue=work&procs=4&keep=-1",
		"/v1/wait?queue=work&procs=4&keep=1.01", "/v1/wait?queue=work&procs=4&keep=NaN", "/v1/jobs/next?keep=2"} {
		if a := f.do(http.MethodGet, path, nil); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d, want 422", path, a.status)
		}
	}
}

// TestLimitByJobsAhead proves that a limit can be the cause of a wait even if no job runs yet, because the jobs ahead
// will reach it when they start. For a request to which the limit does not apply, the cause is that other jobs start
// first.
func TestLimitByJobsAhead(t *testing.T) {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	f.feed("main", job.Event{Kind: job.Machine, Cluster: "main", ID: job.MachineID, Time: at(begin), Live: true,
		Facts: &job.Facts{Enforced: job.Enforced{Limits: true}, Limits: []job.Limit{{Account: "lab", Procs: 1}}}})
	first := one{id: "first", queue: "work", procs: 1, limit: 10 * time.Hour, submit: begin + 1, start: -1, end: -1}
	events := first.events("main")
	events[0].User, events[0].Account = secret, "lab"
	f.feed("main", events...)
	f.now = at(begin + 2)
	w := f.wait("queue=work&procs=1&account=lab&time_limit=1h")
	if w.Cause == nil || w.Cause.Class != "limit" || !strings.HasPrefix(w.Cause.Detail, "once the jobs that start") {
		t.Errorf("cause %+v, want the limit", w.Cause)
	}
	if w = f.wait("queue=work&procs=10&time_limit=1h"); w.Cause == nil || w.Cause.Class != "priority" {
		t.Errorf("of a request of another account: cause %+v, want that a job is ahead", w.Cause)
	}
}

// TestLimitInWords checks the answers for a request that a limit blocks, and for a job that squeue shows as blocked by
// it. The answers have the part of the limit that is in use, and the times at which parts of it become free. The job
// that frees a part is named only to callers that may see that job.
func TestLimitInWords(t *testing.T) {
	g := guard(t, false, nil)
	late := g.pipeline.View("main").At.Sub(epoch()).Seconds()
	mine := one{id: "mine", queue: "work", procs: 1, limit: 10 * time.Hour, submit: late, start: late, end: -1}.events(
		"main")
	kept := one{id: "kept", queue: "work", procs: 1, limit: time.Hour, submit: late + 1, start: -1, end: -1}.events(
		"main")
	for i := range mine {
		mine[i].User, mine[i].Account = secret, "lab"
	}
	kept[0].User, kept[0].Account = secret, "lab"
	g.feed("main", job.Event{Kind: job.Machine, Cluster: "main", ID: job.MachineID, Time: at(late), Live: true,
		Facts: &job.Facts{Enforced: job.Enforced{Limits: true}, Limits: []job.Limit{{Account: "lab", Procs: 1}}}})
	g.feed("main", append(mine, kept...)...)
	g.feed("main", job.Event{Kind: job.Hold, Cluster: "main", ID: "kept", Time: at(late + 2), Live: true,
		Attributes: job.Attributes{Reason: "AssocGrpCpuLimit"}})
	g.now = at(late + 3)
	const words = "your account's 1 processor is in use; 1 comes free "
	for _, c := range []struct {
		who, token, id string
	}{{"the user", userToken, "mine"}, {"somebody else", otherToken, ""}, {"a manager", managerToken, "mine"}} {
		ask := question{path: "/v1/wait?queue=work&procs=1&account=lab&time_limit=1h"}
		_, body := g.ask(http.MethodGet, ask, c.token)
		var w wire.Wait
		if err := json.Unmarshal([]byte(body), &w); err != nil || w.Cause == nil || w.Cause.ComesFree == nil {
			t.Fatalf("%s: %v: %s", c.who, err, body)
		}
		f := w.Cause.ComesFree
		if w.Cause.Class != "limit" || !strings.HasPrefix(w.Cause.Detail, words) ||
			!strings.Contains(w.Reason, "a limit keeps it: "+w.Cause.Detail) {
			t.Errorf("%s: cause %+v, want %q; %s", c.who, w.Cause, words, w.Reason)
		}
		if f.Of != "procs" || f.Amount != 1 || f.Jobs != 1 || !(f.Seconds > 0) || f.Seconds > 36000 || f.ID != c.id ||
			strings.Contains(w.Cause.Detail, "job mine") != (c.id != "") {
			t.Errorf("%s: %+v comes free (%s), want 1 processor of job %q within its limit", c.who, f, w.Cause.Detail,
				c.id)
		}
		if strings.Contains(body, secret) {
			t.Errorf("%s: it names who: %s", c.who, body)
		}
	}
	_, body := g.ask(http.MethodGet, question{path: "/v1/jobs/kept"}, userToken)
	var j wire.JobAnswer
	if err := json.Unmarshal([]byte(body), &j); err != nil || !strings.HasPrefix(j.HeldDetail, words) ||
		!strings.HasSuffix(j.HeldDetail, ", when job mine ends") || j.HeldClass != "limit" {
		t.Errorf("%v: %s", err, body)
	}
}
