package api_test

import (
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

func main(procs int, queues ...string) pipeline.ClusterConfig {
	return pipeline.ClusterConfig{Name: "main", Procs: procs, Queues: queues}
}

// near reports whether two numbers agree within 0.51 s plus 0.0011 of the wanted value: answers are rounded to 0.1 s,
// and headqueue's values are accurate to 0.001.
func near(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= .51+.0011*want
}

// TestWaitNow proves that if the last job that fitted did not wait, the next one that fits is expected to start at
// once. Even so, while only one wait is known, the forecast is not a single value. The answer has the number of waits
// on which it is based.
func TestWaitNow(t *testing.T) {
	f := serve(t, main(10))
	f.feed("main", one{id: "1", queue: "work", procs: 4, submit: 5, start: 5, end: -1}.events("main")...)
	f.now = at(25)
	w := f.wait("queue=work&procs=6&time_limit=1:30:00")
	q := w.WaitSeconds
	if q.P10 == nil || *q.P10 != 0 || q.P50 == nil || *q.P50 > 60 || q.P95 == nil || *q.P95 < 600 {
		t.Errorf("wait %+v, want 0 s at .1, less than a minute at .5, and minutes at .95", q)
	}
	for start, wait := range map[*time.Time]*float64{w.Start.P10: q.P10, w.Start.P50: q.P50, w.Start.P95: q.P95} {
		if want := time.Duration(*wait * float64(time.Second)); start == nil ||
			start.Sub(f.now).Round(100*time.Millisecond) != want.Round(100*time.Millisecond) {
			t.Errorf("start %v, want %v after %s", start, want, f.now)
		}
	}
	if in := w.StartWithin; in.Minute < .5 || in.TenMinutes < in.Minute || in.Hour < in.TenMinutes ||
		in.FourHours < in.Hour || in.Day < in.FourHours || in.Day > 1 || in.Day < .95 {
		t.Errorf("start within %+v, want it to rise from above one half", in)
	}
	if w.Method != "waitcast" ||
		!strings.Contains(w.Reason, "starts at once if it fits: 6 of 10 processors are free and nobody is ahead; "+
			"little is known yet: 1 wait learnt") {
		t.Errorf("method %q, reason %q", w.Method, w.Reason)
	}
	if w.Basis.Learnt != 1 || w.Basis.RestsOn == "" {
		t.Errorf("basis %+v, want that of 1 wait", w.Basis)
	}
	want := wire.ClusterState{Binds: "procs", Capacity: 10, CapacitySource: "configured", Size: 6, Free: 6,
		RunningJobs: 1}
	if w.State != want {
		t.Errorf("state %+v, want %+v", w.State, want)
	}
	if w.Cluster != "main" || w.Queue != "work" || w.Procs != 6 || w.TimeLimitSeconds != 5400 {
		t.Errorf("the request comes back as %q %q %d %v", w.Cluster, w.Queue, w.Procs, w.TimeLimitSeconds)
	}
	if !w.AsOf.Equal(at(5)) || w.AgeSeconds != 20 || w.Stale {
		t.Errorf("as of %s, age %v, stale %v, want %s, 20, false", w.AsOf, w.AgeSeconds, w.Stale, at(5))
	}
	if w.Model.N != 0 {
		t.Errorf("model %+v, want none: nothing has ended", w.Model)
	}
}

// TestWaitOneRunningJob checks the explanation of a forecast behind one running job of age a with a known law: the
// model, the state of the pool, and Downey's answer, whose median is sqrt(tmax a) - a by eq. 4 of Downey 1996. The
// forecast itself rises, is never negative, and has probabilities that agree with its quantiles.
func TestWaitOneRunningJob(t *testing.T) {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	f.feed("main",
		one{id: "1", queue: "work", procs: 8, submit: begin + 1, start: begin + 1, end: -1}.events("main")...)
	const age = 400
	f.now = at(begin + 1 + age)
	w := f.wait("queue=work&procs=10")
	m := w.Model
	if m.Queue != "work" || m.Class != "parallel" || m.N != lawJobs || m.FittedAt == nil || m.KS != nil {
		t.Errorf("model %+v, want that of queue work over %d parallel jobs", m, lawJobs)
	}
	if b1 := 1 / math.Log(lawMax/lawMin); math.Abs(m.B1/b1-1) > .02 || math.Abs(m.B0+b1*math.Log(lawMin)) > .02 ||
		m.R2 < .999 {
		t.Errorf("model b0 %v, b1 %v, R2 %v; the law is b0 %v, b1 %v", m.B0, m.B1, m.R2, -b1*math.Log(lawMin), b1)
	}
	if tmax := math.Exp((1 - m.B0) / m.B1); math.Abs(m.TMaxSeconds/tmax-1) > 1e-9 ||
		math.Abs(m.TMinSeconds/math.Exp(-m.B0/m.B1)-1) > 1e-9 {
		t.Errorf("tmin %v, tmax %v do not follow from b0 and b1", m.TMinSeconds, m.TMaxSeconds)
	}
	checkDistribution(t, f.now, &w)
	want := wire.ClusterState{Binds: "procs", Capacity: 10, CapacitySource: "configured", Size: 10, Free: 2,
		RunningJobs: 1, Needed: 8}
	if w.Method != "waitcast" || w.State != want {
		t.Errorf("method %q, state %+v, want waitcast, %+v", w.Method, w.State, want)
	}
	if !strings.Contains(w.Reason,
		"next in line: 2 of 10 processors are free, 8 more must be freed by the job that runs") {
		t.Errorf("reason %q", w.Reason)
	}
	var names []string
	for _, m := range w.Methods {
		names = append(names, m.Name)
	}
	played := []string{"downey_a", "downey_b", "downey_combined", "exact"}
	others := slices.DeleteFunc(ensemble.Names(), func(name string) bool { return slices.Contains(played, name) })
	if !slices.Equal(names, append(played, others...)) {
		t.Errorf("methods %q, want %q and then %q", names, played, others)
	}
	if a := w.Methods[0]; !near(a.MedianSeconds, math.Sqrt(m.TMaxSeconds*age)-age) || a.CannotSay != nil {
		t.Errorf("predictor A %v, want the same: the one job frees all that is needed", show(a.MedianSeconds))
	}
}

// TestReasonOfLearntWaits proves that the sentence about the reason does not contradict the numbers. Processors are
// free and no job is ahead, but every job of the queue has waited for ten minutes.
func TestReasonOfLearntWaits(t *testing.T) {
	f := serve(t, main(10))
	now := 0.
	for i := range 400 {
		f.feed("main", one{id: fmt.Sprint(i), queue: "slow", procs: 2, limit: time.Hour, submit: now, start: now + 600,
			end: now + 700}.events("main")...)
		now += 1000
	}
	f.now = at(now)
	f.feed("main", one{id: "last", queue: "slow", procs: 1, submit: now, start: now, end: now}.events("main")...)
	w := f.wait("queue=slow&procs=2&time_limit=1h")
	if median := *w.WaitSeconds.P50; median < 300 || w.State.Needed != 0 || w.State.QueuedAheadJobs != 0 {
		t.Fatalf("median %v s, state %+v: want 10 min learnt beside free processors", median, w.State)
	}
	if want := "10 of 10 processors are free and nobody is ahead, but such jobs have lately started later than free " +
		"processors suggest: half of them start within "; !strings.HasPrefix(w.Reason, want) ||
		!strings.Contains(w.Reason, "(why is not known here)") {
		t.Errorf("reason %q, want %q", w.Reason, want)
	}
}

// TestStartBy proves that the probability of a start by an instant comes from the same distribution as start_within, in
// GET and POST. The levels bound the probability. The instant may also be given as a duration from now.
func TestStartBy(t *testing.T) {
	f := lively(t)
	const ask = "queue=work&procs=4&time_limit=2h"
	w := f.wait(ask + "&curve=true")
	if w.StartBy != nil || len(w.Curve) < 100 {
		t.Fatalf("start_by %+v, %d points", w.StartBy, len(w.Curve))
	}
	last := 0.
	for _, p := range w.Curve {
		if p.Probability < last || p.Probability > 1 {
			t.Errorf("the curve falls at %v s", p.Seconds)
		}
		last = p.Probability
	}
	for by, want := range map[string]float64{"1m": w.StartWithin.Minute, "600": w.StartWithin.TenMinutes,
		"1h": w.StartWithin.Hour, "4:00:00": -1, "1-0": w.StartWithin.Day,
		f.now.Add(4 * time.Hour).Format(time.RFC3339Nano): w.StartWithin.FourHours} {
		path := "/v1/wait?" + ask + "&by=" + url.QueryEscape(by)
		if want < 0 {
			if p := f.problem(path); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Detail, "zone") {
				t.Errorf("by %s: %+v, want it refused for its zone", by, p)
			}
			continue
		}
		var got wire.Wait
		f.get(path, &got)
		b := got.StartBy
		if b == nil || b.Probability != want || b.AtLeast > want || b.AtMost < want ||
			got.StartWithin != w.StartWithin {
			t.Errorf("by %s: %+v, want %v", by, b, want)
		}
		posted := f.waits(&wire.WaitsRequest{Places: []wire.Place{{Queue: "work"}}, Procs: []int{4},
			TimeLimits: []string{"2h"}, By: by})
		if p := posted.Candidates[0].StartBy; p == nil || *p != *b {
			t.Errorf("by %s: POST says %+v, GET %+v", by, p, b)
		}
	}
	median := f.now.Add(time.Duration(*w.WaitSeconds.P50*float64(time.Second)) + time.Second)
	var got wire.Wait
	f.get("/v1/wait?"+ask+"&by="+url.QueryEscape(median.Format(time.RFC3339Nano)), &got)
	if b := got.StartBy; b.AtLeast != .5 || b.AtMost != .75 || b.Probability < .5 ||
		!b.At.Equal(median.Truncate(time.Millisecond)) {
		t.Errorf("just after the median: %+v", b)
	}
	for _, bad := range []string{"soon", "-2h", f.now.Format(time.RFC3339), "9:30", "09:30:15"} {
		p := f.problem("/v1/wait?" + ask + "&by=" + url.QueryEscape(bad))
		if p.Status != http.StatusUnprocessableEntity || !strings.HasPrefix(p.Detail, "by: ") {
			t.Errorf("by %s: %+v", bad, p)
		}
	}
}

// checkDistribution checks the properties that every forecast must have.
func checkDistribution(t *testing.T, from time.Time, w *wire.Wait) {
	t.Helper()
	q, s, last := w.WaitSeconds, w.Start, 0.0
	for _, c := range []struct {
		level float64
		got   *float64
		at    *time.Time
	}{
		{.1, q.P10, s.P10}, {.25, q.P25, s.P25}, {.5, q.P50, s.P50}, {.75, q.P75, s.P75}, {.9, q.P90, s.P90},
		{.95, q.P95, s.P95},
	} {
		if c.got == nil || *c.got < last || c.at == nil || math.Abs(c.at.Sub(from).Seconds()-*c.got) > .06 {
			t.Errorf("level %v: %v s, starts at %v; want at least %v s after %s", c.level, show(c.got),
				c.at, last, from)
			continue
		}
		last = *c.got
	}
	within := []float64{w.StartWithin.Minute, w.StartWithin.TenMinutes, w.StartWithin.Hour, w.StartWithin.FourHours,
		w.StartWithin.Day}
	for i, x := range []float64{60, 600, 3600, 14400, 86400} {
		if p := within[i]; p < 0 || p > 1 || i > 0 && p < within[i-1] ||
			(*q.P50 < x) != (p > .5) && math.Abs(*q.P50-x) > 1 {
			t.Errorf("start within %v s: %v beside a median of %v s, after %v", x, p, *q.P50, within[:i])
		}
	}
}

func show(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprint(*x)
}

// TestWaitBehindQueue proves that the answer counts the jobs ahead except held ones. A job that could start if it were
// alone waits for the jobs ahead.
func TestWaitBehindQueue(t *testing.T) {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	for i, procs := range []int{7, 6, 5} {
		start := -1.0
		if i == 0 {
			start = begin + 1
		}
		f.feed("main", one{id: fmt.Sprint(i), queue: "work", procs: procs, submit: begin + 1, start: start,
			end: -1}.events("main")...)
	}
	f.now = at(begin + 100)
	w := f.wait("queue=work&procs=2")
	checkDistribution(t, f.now, &w)
	want := wire.ClusterState{
		Binds: "procs", Capacity: 10, CapacitySource: "configured", Size: 2, Free: 3, RunningJobs: 1,
		QueuedAheadJobs: 2, QueuedAhead: 11, Needed: 10,
	}
	if w.State != want {
		t.Errorf("state %+v, want %+v", w.State, want)
	}
	if !strings.HasPrefix(w.Reason,
		"2 jobs with 11 processors ahead, 3 of 10 processors are free: 10 must be freed first") {
		t.Errorf("reason %q", w.Reason)
	}
}

// TestWaitErrors proves that a request without an answer gets a problem with a status. If no forecast is possible, the
// problem also has a machine-readable reason and a hint.
func TestWaitErrors(t *testing.T) {
	busy := func(f *fixture) {
		f.feed("main", one{id: "1", queue: "work", procs: 10, submit: 0, start: 1, end: -1}.events("main")...)
		f.feed("main", one{id: "2", queue: "other", procs: 1, submit: 2, start: -1, end: -1}.events("main")...)
		f.now = at(10)
	}
	idle := func(*fixture) {}
	for _, c := range []struct {
		name    string
		procs   int
		prepare func(*fixture)
		query   string
		status  int
		reason  string
		words   []string // each word must be in detail or hint
	}{
		{"larger than the machine", 10, busy, "queue=work&procs=11", 422, "larger_than_machine", []string{"11", "10"}},
		{"unknown queue", 10, busy, "queue=werk&procs=1", 404, "unknown_queue",
			[]string{`"werk"`, "known queues: other, work"}},
		{"nothing read", 10, idle, "queue=work&procs=1", 503, "nothing_read", []string{"/readyz"}},
		{"nothing read, nothing configured", 0, idle, "procs=1", 503, "nothing_read", nil},
		{"capacity unknown", 0, func(f *fixture) {
			f.feed("main", one{id: "2", queue: "work", procs: 1, submit: 2, start: -1, end: -1}.events("main")...)
		}, "queue=work&procs=1", 503, "unknown_capacity", []string{"procs of the cluster"}},
		{"no procs", 10, busy, "queue=work", 422, "", []string{"procs", "at least 1"}},
		{"procs 0", 10, busy, "queue=work&procs=0", 422, "", []string{"procs"}},
		{"procs negative", 10, busy, "queue=work&procs=-4", 422, "", nil},
		{"procs NaN", 10, busy, "queue=work&procs=NaN", 422, "", nil},
		{"procs 1e3", 10, busy, "queue=work&procs=1e3", 422, "", nil},
		{"procs beyond any number", 10, busy, "queue=work&procs=99999999999999999999", 422, "", nil},
		{"nodes negative", 10, busy, "queue=work&nodes=-1", 422, "", nil},
		{"time limit", 10, busy, "queue=work&procs=1&time_limit=soon", 422, "", []string{"time_limit", "soon"}},
		{"time limit negative", 10, busy, "queue=work&procs=1&time_limit=-5m", 422, "", []string{"time_limit"}},
		{"unknown parameter", 10, busy, "queue=work&procs=1&timelimit=5m", 422, "", nil},
		{"which queue", 10, busy, "procs=1", 422, "", []string{"queue", "other, work"}},
		{"unknown cluster", 10, busy, "queue=work&procs=1&cluster=moon", 404, "", []string{"moon", "main"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := serve(t, main(c.procs))
			c.prepare(f)
			p := f.problem("/v1/wait?" + c.query)
			if p.Status != c.status || p.Reason != c.reason {
				t.Errorf("status %d, reason %q, want %d, %q: %+v", p.Status, p.Reason, c.status, c.reason, p)
			}
			for _, w := range c.words {
				if !strings.Contains(p.Detail+" "+p.Hint, w) {
					t.Errorf("detail %q, hint %q: want %q there", p.Detail, p.Hint, w)
				}
			}
			if (c.reason != "") != (p.Type == wire.ProblemNoForecast) || (c.reason != "") != (p.Hint != "") {
				t.Errorf("type %q, hint %q with reason %q: type %s and a hint go with every reason", p.Type, p.Hint,
					c.reason, wire.ProblemNoForecast)
			}
		})
	}
}

// TestWaitNames proves which parameters may be left out: the queue or the cluster if there is only one, and procs if
// nodes are given.
func TestWaitNames(t *testing.T) {
	f := serve(t, main(10))
	f.feed("main", one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("main")...)
	f.now = at(2)
	if w := f.wait("nodes=3"); w.Cluster != "main" || w.Queue != "work" || w.Procs != 3 || w.Nodes != 3 {
		t.Errorf("nodes=3: %q %q, %d processors, %d nodes", w.Cluster, w.Queue, w.Procs, w.Nodes)
	}
	if w := f.wait("nodes=3&procs=6"); w.Procs != 6 || w.Nodes != 3 {
		t.Errorf("nodes=3&procs=6: %d processors, %d nodes", w.Procs, w.Nodes)
	}
	for text, seconds := range map[string]float64{"90m": 5400, "2:00:00": 7200, "1-12:00": 129600, "45": 45} {
		if w := f.wait("procs=1&time_limit=" + url.QueryEscape(text)); w.TimeLimitSeconds != seconds {
			t.Errorf("time_limit=%s: %v s, want %v", text, w.TimeLimitSeconds, seconds)
		}
	}
}

// TestWaitClusters proves that clusters are separate, and that a request must name one if there are several.
func TestWaitClusters(t *testing.T) {
	f := serve(t, pipeline.ClusterConfig{Name: "small", Procs: 4}, pipeline.ClusterConfig{Name: "large"})
	f.feed("small", one{id: "1", queue: "work", procs: 1, submit: 0, start: 1, end: -1}.events("small")...)
	f.feed("large", one{id: "1", queue: "work", procs: 90, submit: 0, start: 1, end: -1}.events("large")...)
	f.feed("large", one{id: "2", queue: "work", procs: 30, submit: 0, start: 1, end: 2}.events("large")...)
	f.now = at(3)
	if w := f.wait("cluster=small&procs=1"); w.State.Capacity != 4 || w.State.CapacitySource != "configured" {
		t.Errorf("small: %+v", w.State)
	}
	if w := f.wait("cluster=large&procs=30"); w.State.Capacity != 120 || w.State.CapacitySource != "highest_use" ||
		w.State.Free != 30 {
		t.Errorf("large: %+v, want the highest use, 120, with 30 free", w.State)
	}
	if p := f.problem("/v1/wait?queue=work&procs=1"); p.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Detail, "large, small") {
		t.Errorf("no cluster: %+v", p)
	}
}

// TestWaitStale proves that an answer has its age. If the age exceeds the limit, the answer is marked as stale and is
// computed as of the newest record. With a record from the future the age is 0.
func TestWaitStale(t *testing.T) {
	f := serve(t, main(10))
	begin := f.history("main", "work")
	f.feed("main",
		one{id: "1", queue: "work", procs: 10, submit: begin + 1, start: begin + 1, end: -1}.events("main")...)
	f.feed("main", one{id: "2", queue: "work", procs: 2, submit: begin + 300, start: -1, end: -1}.events("main")...)
	newest := at(begin + 300)
	for _, c := range []struct {
		name  string
		after time.Duration
		age   float64
		stale bool
	}{
		{"fresh", time.Minute, 60, false}, {"at the limit", staleAfter, 600, false},
		{"past it", staleAfter + time.Second, 601, true}, {"ahead of the clock", -time.Hour, 0, false},
	} {
		f.now = newest.Add(c.after)
		w := f.wait("queue=work&procs=1")
		asOf := newest
		if f.now.Before(asOf) {
			asOf = f.now // no answer is for an instant in the future
		}
		if !w.AsOf.Equal(asOf) || w.AgeSeconds != c.age || w.Stale != c.stale {
			t.Errorf("%s: as of %s, age %v, stale %v, want %s, %v, %v", c.name, w.AsOf, w.AgeSeconds, w.Stale, asOf,
				c.age, c.stale)
		}
		if strings.Contains(w.Reason, "STALE") != c.stale {
			t.Errorf("%s: reason %q", c.name, w.Reason)
		}
		from := f.now // instant from which the quantiles count
		if c.stale || c.after < 0 {
			from = newest
		}
		if got := w.Start.P50.Sub(from).Seconds(); math.Abs(got-*w.WaitSeconds.P50) > .06 {
			t.Errorf("%s: the median start is %v s after %s, want %v", c.name, got, from, *w.WaitSeconds.P50)
		}
	}
}

// TestWaitUnreadableSource proves that an answer is stale if one of two logs cannot be read for longer than the
// limit, however new the other log's records are. The answer has the reason.
func TestWaitUnreadableSource(t *testing.T) {
	f := serve(t, main(10))
	second := source.Config{Name: "main/second", Format: collector.Format{Name: "test"},
		Options: collector.Options{Cluster: "main"}}
	f.pipeline.AddSource(second)
	problem := tail.Problem{Path: "/var/second", Reason: tail.Unreadable, Err: fs.ErrPermission}
	f.deliver(&source.Delivery{Source: &second, Standing: []tail.Problem{problem}, CaughtUp: true})
	for _, after := range []time.Duration{staleAfter, staleAfter + time.Second} {
		f.now = epoch().Add(after)
		seconds := after.Seconds()
		f.feed("main", one{id: after.String(), queue: "work", procs: 1, submit: seconds, start: seconds,
			end: -1}.events("main")...)
		w := f.wait("procs=1")
		if want := after > staleAfter; w.Stale != want || w.AgeSeconds != 0 ||
			strings.Contains(w.Reason, "source main/second: /var/second: permission denied") != want {
			t.Errorf("unreadable for %s: stale %v, age %v, reason %q", after, w.Stale, w.AgeSeconds, w.Reason)
		}
	}
}
