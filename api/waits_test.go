package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

const hour = 3600.

// holes returns a machine of 10 processors. Again and again one job of 6 processors runs to its limit of 5 h, and one
// job of all 10 waits behind it. Meanwhile 4 processors are free, and only a job that ends in time can use them. The
// history ends 600 s after the submission of such a pair. A second pool of 4 processors is empty.
func holes(t testing.TB) *fixture {
	pools := []cluster.PoolConfig{
		{Name: "work", Queues: []string{"work"}, Has: cluster.Vector{cluster.Procs: 10}},
		{Name: "spare", Queues: []string{"spare"}, Has: cluster.Vector{cluster.Procs: 4}},
	}
	f := serve(t, pipeline.ClusterConfig{Name: "main", Procs: 14, Queues: []string{"work", "spare"}, Pools: pools})
	now := 0.0
	pair := func(i int) (a, b one) {
		return one{id: fmt.Sprint("a", i), queue: "work", procs: 6, limit: 5 * time.Hour, submit: now, start: now,
				end: now + 5*hour},
			one{id: fmt.Sprint("b", i), queue: "work", procs: 10, limit: 2 * time.Hour, submit: now + 60,
				start: now + 5*hour, end: now + 7*hour}
	}
	var events []job.Event
	for i := range 45 {
		a, b := pair(i)
		then := now + 300 + 100*float64(i%40)
		short := one{id: fmt.Sprint("s", i), queue: "work", procs: 4, limit: time.Hour, submit: then, start: then,
			end: then + hour}
		long := one{id: fmt.Sprint("l", i), queue: "work", procs: 4, limit: 7 * 24 * time.Hour, submit: then + 30,
			start: now + 7*hour, end: now + 8*hour}
		spare := one{id: fmt.Sprint("p", i), queue: "spare", procs: 4, limit: time.Hour, submit: now + 10,
			start: now + 10, end: now + 20}
		ae, be, se, le, pe := a.events("main"), b.events("main"), short.events("main"), long.events("main"),
			spare.events("main")
		events = append(events, ae[0], ae[1], pe[0], pe[1], pe[2], be[0], se[0], se[1], le[0], se[2], ae[2], be[1],
			be[2], le[1], le[2])
		now += 9 * hour
	}
	f.feed("main", events...)
	a, b := pair(1000)
	a.end, b.start, b.end = -1, -1, -1
	f.feed("main", append(a.events("main"), b.events("main")...)...)
	f.tick("main", "work", now+600)
	return f
}

func (f *fixture) waits(q *wire.WaitsRequest) wire.Waits {
	f.Helper()
	a := f.post("/v1/wait", q)
	var out wire.Waits
	if a.status != http.StatusOK {
		f.Fatalf("POST /v1/wait: status %d: %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		f.Fatal(err)
	}
	return out
}

// TestWaitsRank proves that the answer orders the candidates of all limits by their starts. A shorter limit, with which
// the job fits into the free time, comes first, and the answer states this.
func TestWaitsRank(t *testing.T) {
	f := holes(t)
	work := []wire.Place{{Queue: "work"}}
	w := f.waits(&wire.WaitsRequest{Places: work, Procs: []int{4}, TimeLimits: []string{"7d", "1h"}})
	if len(w.Candidates) != 2 || w.RankedBy != "start" || w.Candidates[0].TimeLimitSeconds != hour ||
		w.Candidates[0].Run != nil {
		t.Fatalf("%+v, want 1 h before 7 d", w)
	}
	if first, last := *w.Candidates[0].WaitSeconds.P50, *w.Candidates[1].WaitSeconds.P50; first > 60 || last < 2*hour {
		t.Errorf("with 1 h it starts in %v s, with 7 d in %v s; a hole of 4 h 50 min is there, and the way is free "+
			"after 7 h", first, last)
	}
	if len(w.Advice) != 1 || !strings.HasPrefix(w.Advice[0], "ask for 1 h instead of 7 d and start ") ||
		!strings.HasSuffix(w.Advice[0], "sooner") {
		t.Errorf("advice %q", w.Advice)
	}
	if w.Candidates[0].Best < .9 || w.Candidates[0].StartWithin.Minute < .8 {
		t.Errorf("the hole: %+v, want it sure to be the first", w.Candidates[0])
	}
	single := f.wait("queue=work&procs=4&time_limit=1h")
	if got, want := w.Candidates[0], single; *got.WaitSeconds.P50 != *want.WaitSeconds.P50 ||
		*got.WaitSeconds.P95 != *want.WaitSeconds.P95 || got.StartWithin != want.StartWithin ||
		!got.Start.P50.Equal(*want.Start.P50) {
		t.Errorf("candidate %+v, want what GET /v1/wait says, %+v", got, want)
	}
	two := f.waits(&wire.WaitsRequest{Places: append(work, wire.Place{Queue: "spare"}), Procs: []int{4, 10},
		TimeLimits: []string{"7d"}})
	if two.Candidates[0].Queue != "spare" || len(two.LeftOut) != 1 || two.LeftOut[0].Reason != "larger_than_machine" ||
		two.LeftOut[0].Queue != "spare" {
		t.Errorf("%+v, want the empty queue first, and 10 left out of it", two)
	}
	if !strings.Contains(strings.Join(two.Advice, "\n"), "ask in queue spare instead of queue work and start") {
		t.Errorf("advice %q", two.Advice)
	}
}

// TestWaitInSeveralQueues proves that a request to two queues is one job: its answer is at no level later than that for
// either, and names the queue in which the job starts first. A queue that can never take the job is left out. Several
// queues are one candidate of POST /v1/wait, with the same forecast.
func TestWaitInSeveralQueues(t *testing.T) {
	f := holes(t)
	work, spare := f.wait("queue=work&procs=4&time_limit=7d"), f.wait("queue=spare&procs=4&time_limit=7d")
	both := f.wait("queue=work,%20spare&procs=4&time_limit=7d")
	if both.Queue != "spare" || both.AskedQueue != "" || both.State.Pool != spare.State.Pool ||
		!strings.Contains(both.Reason, "of the queues work,spare it starts soonest in spare") {
		t.Errorf("queue %q, asked %q, pool %q: %s", both.Queue, both.AskedQueue, both.State.Pool, both.Reason)
	}
	for _, one := range []wire.Wait{work, spare} {
		if *both.WaitSeconds.P50 > *one.WaitSeconds.P50 || *both.WaitSeconds.P95 > *one.WaitSeconds.P95 {
			t.Errorf("both %+v, in %s %+v", both.WaitSeconds, one.Queue, one.WaitSeconds)
		}
	}
	if large := f.wait("queue=spare,work&procs=10&time_limit=1h"); large.Queue != "work" ||
		strings.Contains(large.Reason, "soonest") {
		t.Errorf("too large for spare: queue %q: %s", large.Queue, large.Reason)
	}
	w := f.waits(&wire.WaitsRequest{Places: []wire.Place{{Queue: "work,spare"}}, Procs: []int{4},
		TimeLimits: []string{"7d"}})
	if len(w.Candidates) != 1 || w.Candidates[0].Queue != "work,spare" ||
		*w.Candidates[0].WaitSeconds.P50 != *both.WaitSeconds.P50 {
		t.Errorf("candidates %+v", w.Candidates)
	}
	if p := f.problem("/v1/wait?queue=work,none&procs=4"); !strings.Contains(p.Detail, "none") {
		t.Errorf("an unknown queue: %+v", p)
	}
}

// TestWaitsRankByFinish proves that if a runtime is given, the finish decides: the job on 10 processors waits for
// hours, but finishes sooner.
func TestWaitsRankByFinish(t *testing.T) {
	f := holes(t)
	q := &wire.WaitsRequest{Places: []wire.Place{{Queue: "work"}}, Procs: []int{4, 10},
		TimeLimits: []string{"4d", "1h"}}
	if w := f.waits(q); w.Candidates[0].Procs != 4 {
		t.Errorf("by start: %+v, want 4", w.Candidates[0])
	}
	slow := table(4, 90*hour, 10, .9*hour)
	q.Runtime = &slow
	w := f.waits(q)
	best := w.Candidates[0]
	if w.RankedBy != "finish" || best.Procs != 10 || best.Finish == nil || *best.Run.P50 != .9*hour ||
		*best.Finish.P50-*best.Run.P50-*best.WaitSeconds.P50 > 1 {
		t.Errorf("by finish: %+v, want 10", best)
	}
	if len(w.LeftOut) != 1 || w.LeftOut[0].Reason != "over_time_limit" || w.LeftOut[0].Procs != 4 {
		t.Errorf("left out %+v, want 4 processors under 1 h", w.LeftOut)
	}
	last := 0.0
	for _, c := range w.Candidates {
		if *c.Finish.P50 < last {
			t.Errorf("the finishes do not rise: %v after %v", *c.Finish.P50, last)
		}
		last = *c.Finish.P50
	}
}

// TestWaitsRefuses proves that each invalid request gets a problem that names the invalid field.
func TestWaitsRefuses(t *testing.T) {
	f := holes(t)
	for _, c := range []struct{ body, want string }{
		{`{"places":[{"queue":"work"}],"procs":[]}`, "body.procs"},
		{`{"places":[{"queue":"work"}],"procs":[0]}`, "procs: 0"},
		{`{"places":[{"queue":"work"}],"procs":[11]}`, "larger_than_machine"},
		{`{"places":[{"queue":"elsewhere"}],"procs":[4]}`, "unknown_queue"},
		{`{"procs":[4]}`, "queue: say which one"},
		{`{"places":[{"queue":"work"}],"procs":[4],"time_limits":["1h","never"]}`, "time_limits[1]: "},
		{`{"places":[{"queue":"work"}],"procs":[4],"time_limits":["0"]}`, "time_limits[0]: "},
		{`{"places":[{"queue":"work"}],"procs":[4],"memory":"much"}`, "memory: "},
		{`{"places":[{"queue":"work"}],"procs":[4],"runtime":{"table":[{"procs":1,"seconds":5}]}}`, "runtime.table: "},
		{`{"places":[{"queue":"work"}],"procs":[4],"runtime":{"table":[{"procs":1,"seconds":5},{"procs":2,` +
			`"seconds":4}]}}`, "runtime: no runtime for 4"},
		{`{"places":[{"queue":"work"}],"procs":[4],"time_limits":["1h"],"runtime":{"amdahl":{"serial":1,` +
			`"t1_seconds":7200}}}`, "time_limits: the job runs 2 h"},
	} {
		a := f.post("/v1/wait", c.body)
		if a.status < 400 || a.status > 499 || !strings.Contains(string(a.body), c.want) {
			t.Errorf("%s: status %d, %s; want %q", c.body, a.status, a.body, c.want)
		}
	}
}
