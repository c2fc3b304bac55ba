package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor/engine"
)

// post sends a question.
func (f *fixture) post(path string, body any) answer {
	f.Helper()
	data, err := json.Marshal(body)
	if text, ok := body.(string); ok {
		data, err = []byte(text), nil
	}
	if err != nil {
		f.Fatal(err)
	}
	req := httptest.NewRequestWithContext(f.Context(), http.MethodPost, path, bytes.NewReader(data))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// size requests advice, and fails if there is none.
func (f *fixture) size(q *wire.SizeRequest) wire.Size {
	f.Helper()
	a := f.post("/v1/size", q)
	var out wire.Size
	if a.status != http.StatusOK {
		f.Fatalf("POST /v1/size: status %d: %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		f.Fatal(err)
	}
	return out
}

func table(points ...float64) wire.Runtime {
	var r wire.Runtime
	for i := 0; i < len(points); i += 2 {
		r.Table = append(r.Table, wire.RuntimePoint{Procs: int(points[i]), Seconds: points[i+1]})
	}
	return r
}

// twoNodes returns a machine of two nodes. Jobs with one node have the given lifetimes in turn. Jobs with both nodes
// have repeatedly waited for the end of such a job. One job with one node has run for age.
func twoNodes(t testing.TB, age time.Duration, lives ...float64) *fixture {
	nodes := cluster.PoolConfig{Name: "nodes", Queues: []string{"work"}, Has: cluster.Vector{cluster.Procs: 2}}
	// All waits should follow from the lifetimes, so the prior errors of other logs are left out.
	f := serveWith(t, pipeline.Config{Engine: engine.Config{Prior: &engine.Prior{{0}, {0}}},
		Clusters: []pipeline.ClusterConfig{{Name: "main", Procs: 2, Pools: []cluster.PoolConfig{nodes}}}})
	limit := time.Duration(slices.Max(lives)) * time.Second
	now := 0.0
	var events []job.Event
	for i := range 60 {
		life := lives[i%len(lives)]
		name := fmt.Sprint("a", i)
		one1 := one{id: name, queue: "work", procs: 1, limit: limit, submit: now, start: now,
			end: now + life}.events("main")
		both := one{id: "b" + name, queue: "work", procs: 2, limit: limit, submit: now + life*float64(i)/60,
			start: now + life, end: now + 2*life}.events("main")
		events = append(events, one1[0], one1[1], both[0], one1[2], both[1], both[2])
		now += 2*life + 600
	}
	f.feed("main", events...)
	f.feed("main",
		one{id: "runs", queue: "work", procs: 1, limit: limit, submit: now, start: now, end: -1}.events("main")...)
	f.tick("main", "work", now+age.Seconds())
	return f
}

// tick adds an instant to the log: a job that is submitted and cancelled.
func (f *fixture) tick(cluster, queue string, seconds float64) {
	f.Helper()
	ev := job.Event{Kind: job.Submit, Cluster: cluster, ID: fmt.Sprint("tick", seconds), Time: at(seconds),
		Times: job.Times{Submit: at(seconds)}, Attributes: job.Attributes{Queue: queue, Procs: 1}}
	gone := ev
	gone.Kind = job.Cancel
	f.feed(cluster, ev, gone)
	f.now = at(seconds)
}

// oneOrTwo asks how many nodes to request for a program that takes an hour on one node and 35 minutes on both.
func (f *fixture) oneOrTwo() wire.Size {
	f.Helper()
	return f.size(&wire.SizeRequest{Places: []wire.Place{{Queue: "work"}}, Sizes: []int{1, 2},
		Runtime: table(1, 3600, 2, 2100), TimeLimit: "1h"})
}

func (f *fixture) candidate(s *wire.Size, queue string, procs int) wire.SizeCandidate {
	f.Helper()
	for _, c := range s.Candidates {
		if c.Queue == queue && c.Procs == procs {
			return c
		}
	}
	f.Fatalf("no candidate of %d processors in queue %s among %+v", procs, queue, s.Candidates)
	return wire.SizeCandidate{}
}

// TestSizeTwoNodes checks Downey's example (1996, section 1.1) from the log to the answer. One of two nodes is busy.
// The program takes 1 h on one node and 35 min on both. All jobs take an hour. So the advice changes when the running
// job has 25 minutes left, at an age of 35 minutes.
func TestSizeTwoNodes(t *testing.T) {
	for minutes, want := range map[int]int{1: 1, 20: 1, 34: 1, 36: 2, 45: 2, 59: 2} {
		f := twoNodes(t, time.Duration(minutes)*time.Minute, 3600)
		s := f.oneOrTwo()
		if s.Advice.Procs != want || s.Advice.Action != "ask" || s.Candidates[0].Procs != want {
			t.Errorf("the other job runs for %d min: %s", minutes, s.Advice.Reason)
		}
		both, single := f.candidate(&s, "work", 2), f.candidate(&s, "work", 1)
		if left := float64(3600 - 60*minutes); math.Abs(*both.MeanWait-left) > 60 || *single.MeanWait > 1 {
			t.Errorf("the other job runs for %d min: the mean waits are %v s for both nodes and %v s for one, want "+
				"%v and 0", minutes, *both.MeanWait, *single.MeanWait, left)
		}
		if math.Abs(*both.MeanFinish-*both.MeanWait-2100) > .2 || math.Abs(*single.MeanFinish-3600) > 1 {
			t.Errorf("finishes %v and %v are no sums of wait and runtime", *both.MeanFinish, *single.MeanFinish)
		}
	}
}

// TestSizeTwoNodesUncertain proves that the mean decides if the remaining time is uncertain. Half of the jobs take 30
// minutes, and half take 100. A young job has more than 25 minutes left on average. A job with an age of 90 minutes has
// at most about 10.
func TestSizeTwoNodesUncertain(t *testing.T) {
	seen := map[int]bool{}
	for _, minutes := range []int{2, 10, 25, 35, 50, 65, 72, 78, 85, 95} {
		f := twoNodes(t, time.Duration(minutes)*time.Minute, 1800, 6000)
		s := f.oneOrTwo()
		mean := *f.candidate(&s, "work", 2).MeanWait
		if want := map[bool]int{true: 2, false: 1}[mean < 1500]; s.Advice.Procs != want {
			t.Errorf("age %d min, %v s left on the average: %s", minutes, mean, s.Advice.Reason)
		}
		seen[s.Advice.Procs] = true
		if sure := s.Advice.Best; sure <= 0 || sure > 1 {
			t.Errorf("age %d min: right with a probability of %v", minutes, sure)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the advice is always the same: %v", seen)
	}
}

// busy returns a cluster of two queues with separate pools, one of them full, and a second, idle cluster.
func busy(t testing.TB) *fixture {
	pools := []cluster.PoolConfig{{Name: "big", Queues: []string{"full"}, Has: cluster.Vector{cluster.Procs: 64}},
		{Name: "little", Queues: []string{"free"}, Has: cluster.Vector{cluster.Procs: 16}}}
	f := serve(t, pipeline.ClusterConfig{Name: "main", Procs: 80, Queues: []string{"full", "free"}, Pools: pools},
		pipeline.ClusterConfig{Name: "idle", Procs: 32, Queues: []string{"all"}})
	begin := max(f.history("main", "free"), f.history("idle", "all"))
	var events []job.Event
	for i := range 40 { // large jobs wait for the ends of others
		ahead := one{id: fmt.Sprint("a", i), queue: "full", procs: 60, limit: 10 * time.Hour, submit: begin,
			start: begin, end: begin + 36_000}.events("main")
		large := one{id: fmt.Sprint("l", i), queue: "full", procs: 8 << (i % 4), limit: time.Hour,
			submit: begin + 600*float64(i), start: begin + 36_000, end: begin + 39_600}.events("main")
		events = append(events, ahead[0], ahead[1], large[0], ahead[2], large[1], large[2])
		begin += 40_000
	}
	f.feed("main", events...)
	f.feed("main", one{id: "r", queue: "full", procs: 60, limit: 10 * time.Hour, submit: begin + 10, start: begin + 10,
		end: -1}.events("main")...)
	f.feed("main", one{id: "q", queue: "full", procs: 32, limit: 10 * time.Hour, submit: begin + 20, start: -1,
		end: -1}.events("main")...)
	f.tick("main", "full", begin+300)
	f.tick("idle", "all", begin+300)
	return f
}

// TestSizeAcrossQueues proves that queues and clusters compete in one answer, that a size that does not exist in all of
// them is left out where it does not, with the reason, and that gains are relative to the request.
func TestSizeAcrossQueues(t *testing.T) {
	f := busy(t)
	q := wire.SizeRequest{
		Places:  []wire.Place{{Cluster: "main", Queue: "full"}, {Cluster: "main", Queue: "free"}, {Cluster: "idle"}},
		Sizes:   []int{8, 16, 32, 64},
		Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: .02, T1Seconds: 100_000}}, TimeLimitFactor: 2,
		Request: &wire.SizeAsked{Place: wire.Place{Cluster: "main", Queue: "full"}, Procs: 64},
	}
	s := f.size(&q)
	if s.Advice.Cluster != "idle" || s.Advice.Procs != 32 ||
		!strings.Contains(s.Advice.Reason, "ask for 32 processors in queue all of cluster idle") {
		t.Errorf("advice %+v, want the 32 processors of the idle cluster", s.Advice)
	}
	left := map[string]string{}
	for _, l := range s.LeftOut {
		left[fmt.Sprintf("%s %d", l.Queue, l.Procs)] = l.Reason
	}
	want := map[string]string{"free 32": "larger_than_machine", "free 64": "larger_than_machine",
		"all 64": "larger_than_machine"}
	if !maps.Equal(left, want) {
		t.Errorf("left out are %v, want %v", left, want)
	}
	if len(s.Candidates) != 9 {
		t.Errorf("%d candidates, want 4 + 2 + 3", len(s.Candidates))
	}
	last := math.Inf(-1)
	for _, c := range s.Candidates {
		if *c.Score < last || c.Best < 0 || c.Best > 1 || c.Gain == nil {
			t.Errorf("candidate %+v: scores must rise from %v, and each has a gain", c, last)
			continue
		}
		last = *c.Score
		run := 100_000 * (.02 + .98/float64(c.Procs))
		if math.Abs(*c.MeanRun-run) > .1 || math.Abs(c.TimeLimitSeconds-60*math.Ceil(run/30)) > .01 ||
			math.Abs(c.ProcHours/(run*float64(c.Procs)/3600)-1) > 1e-4 {
			t.Errorf("%d processors run %v s under a limit of %v s for %v processor-hours; Amdahl's law says %v s",
				c.Procs, *c.MeanRun, c.TimeLimitSeconds, c.ProcHours, run)
		}
		if isRequest := c.Queue == "full" && c.Procs == 64; c.Requested != isRequest ||
			isRequest && (*c.Gain.MeanFinish != 0 || c.Gain.Better != 0) {
			t.Errorf("candidate %+v: the request is 64 of full, and gains nothing over itself", c)
		}
	}
	asked := f.candidate(&s, "full", 64)
	if best := s.Candidates[0]; math.Abs(*best.Gain.MeanFinish-(*asked.MeanFinish-*best.MeanFinish)) > .2 ||
		best.Gain.Better < .5 {
		t.Errorf("gain %+v is not the difference of %v and %v", *best.Gain, *asked.MeanFinish, *best.MeanFinish)
	}
}

// TestSizeLongerThanQueueAllows proves that sizes with which the job runs longer than the queue allows are left out if
// the request has no time limit.
func TestSizeLongerThanQueueAllows(t *testing.T) {
	s := admission(t, listed()).size(&wire.SizeRequest{
		Places: []wire.Place{{Queue: "work"}}, Sizes: []int{1, 4},
		Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{T1Seconds: 48 * 3600}},
	})
	if len(s.Candidates) != 1 || s.Candidates[0].Procs != 4 || len(s.LeftOut) != 1 {
		t.Fatalf("%+v, want 4 processors, and 1 left out", s)
	}
	if out := s.LeftOut[0]; out.Procs != 1 || out.Reason != "over_time_limit" ||
		!strings.Contains(out.Detail, "queue work takes at most 1 d") {
		t.Errorf("%+v, want 1 processor: it runs 2 days, and queue work takes 1", out)
	}
}

// TestSizeObjectives proves that each objective orders the candidates by its own score, and that the answer has the
// members of that objective.
func TestSizeObjectives(t *testing.T) {
	f := busy(t)
	ask := func(o wire.SizeObjective) wire.Size {
		return f.size(&wire.SizeRequest{
			Places: []wire.Place{{Cluster: "main", Queue: "full"}}, Sizes: []int{1, 2, 4, 8, 16, 32, 64}, Objective: o,
			Runtime: wire.Runtime{Downey: &wire.RuntimeDowney{A: 20, Sigma: .5, T1Seconds: 80_000}}, TimeLimit: "2d",
		})
	}
	if s := ask(wire.SizeObjective{Level: .9}); s.Objective != "quantile" ||
		math.Abs(*s.Candidates[0].Score-*s.Candidates[0].Finish.P90) > 1 {
		t.Errorf("by the .9 quantile: %s, score %v, quantile %v", s.Objective, *s.Candidates[0].Score,
			*s.Candidates[0].Finish.P90)
	}
	cheap := ask(wire.SizeObjective{Kind: "cost", PriceProcHour: 1, PriceHour: .001})
	if cheap.Advice.Procs != 1 || cheap.Candidates[0].Cost == nil {
		t.Errorf("where processors are dear: %s", cheap.Advice.Reason)
	}
	for _, deadline := range []string{"6h", f.now.Add(6 * time.Hour).Format(time.RFC3339)} {
		s := ask(wire.SizeObjective{Deadline: deadline})
		best := s.Candidates[0]
		if s.Objective != "deadline" || best.InTime == nil || math.Abs(1-*best.InTime-*best.Score) > 1e-5 ||
			!strings.Contains(s.Advice.Reason, "by the deadline") {
			t.Errorf("by %s: %s, in time %v, score %v", deadline, s.Advice.Reason, *best.InTime, *best.Score)
		}
		for _, c := range s.Candidates { // on 1 processor the job takes 22 h
			if *c.InTime > *best.InTime || c.Procs == 1 && *c.InTime != 0 {
				t.Errorf("by %s: %d processors are in time with %v, the best with %v", deadline, c.Procs, *c.InTime,
					*best.InTime)
			}
		}
	}
	mean, considerate := ask(wire.SizeObjective{}), ask(wire.SizeObjective{Kind: "considerate"})
	if considerate.Objective != "considerate" || considerate.Candidates[0].ProcHours > mean.Candidates[0].ProcHours {
		t.Errorf("considerate takes %v processor-hours, the least mean %v", considerate.Candidates[0].ProcHours,
			mean.Candidates[0].ProcHours)
	}
}

// TestSizeRanges proves which sizes are tried if the request names none: all of a short range, round ones of a long
// range, never more than the machine or the table has.
func TestSizeRanges(t *testing.T) {
	f := busy(t)
	linear := wire.Runtime{Amdahl: &wire.RuntimeAmdahl{T1Seconds: 1e5}}
	for _, c := range []struct {
		name string
		q    wire.SizeRequest
		want []int
	}{
		{"bounds", wire.SizeRequest{Min: 3, Max: 6, Runtime: linear}, []int{3, 4, 5, 6}},
		{"the table's", wire.SizeRequest{Runtime: table(14, 100, 200, 20), Min: 0}, []int{14, 15, 16}},
		{"those that end in time", wire.SizeRequest{Sizes: []int{1, 4, 8}, TimeLimit: "7h", Runtime: linear},
			[]int{4, 8}},
		{"one size", wire.SizeRequest{Min: 16, Runtime: linear}, []int{16}},
	} {
		c.q.Places = []wire.Place{{Cluster: "main", Queue: "free"}}
		s := f.size(&c.q)
		var got []int
		for _, c := range s.Candidates {
			got = append(got, c.Procs)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	g := serve(t, main(1000))
	g.history("main", "work")
	s := g.size(&wire.SizeRequest{Places: []wire.Place{{Queue: "work"}}, Runtime: linear})
	sizes := map[int]bool{}
	for _, c := range s.Candidates {
		sizes[c.Procs] = true
	}
	if len(sizes) > 64 || !sizes[1] || !sizes[512] || !sizes[768] || !sizes[1000] || sizes[999] {
		t.Errorf("of 1000: %v, want the bounds, powers of two and what lies halfway", sizes)
	}
}

// TestSizeHistory proves that the scaling of a program is learnt from earlier jobs with the requested user and job
// name.
func TestSizeHistory(t *testing.T) {
	f := serve(t, main(64))
	now := f.history("main", "work")
	run := func(name string, procs int, seconds float64) {
		events := one{id: fmt.Sprint(name, procs, now), queue: "work", procs: procs, submit: now, start: now,
			end: now + seconds}.events("main")
		for i := range events {
			events[i].Attributes.Name = name
		}
		f.feed("main", events...)
		now += seconds + 1
	}
	for range 3 {
		for _, procs := range []int{2, 8, 32} {
			run("solver", procs, 64_000/float64(procs))
			run("other", procs, 5000)
		}
	}
	f.tick("main", "work", now)
	q := wire.SizeRequest{Places: []wire.Place{{Queue: "work"}},
		Runtime: wire.Runtime{History: &wire.RuntimeHistory{User: secret, Name: "solver"}}}
	s := f.size(&q)
	for _, c := range s.Candidates {
		if want := 64_000 / float64(c.Procs); math.Abs(*c.Run.P50/want-1) > .001 || c.Procs > 64 {
			t.Errorf("%d processors take %v s, want %v", c.Procs, *c.Run.P50, want)
		}
	}
	if s.Advice.Procs != 64 {
		t.Errorf("advice: %s, want all 64: the runs scale with the size, and nobody waits", s.Advice.Reason)
	}
	q.Runtime.History.User = "nobody"
	if a := f.post("/v1/size", &q); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(a.body), "runtime.history") {
		t.Errorf("no runs: status %d, %s", a.status, a.body)
	}
}

// TestSizeRunning checks the advice for a malleable running job: to expand into free processors, to keep its size if
// more processors gain nothing or less than the minimum gain, and to shrink if processors have a price.
func TestSizeRunning(t *testing.T) {
	f := busy(t)
	ask := func(change func(*wire.SizeRequest)) wire.Size {
		q := wire.SizeRequest{
			Places: []wire.Place{{Cluster: "main", Queue: "free"}}, Sizes: []int{4, 8, 16},
			Running: &wire.SizeRunning{Procs: 8, RemainingSeconds: 5000},
			Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{T1Seconds: 80_000}},
		}
		change(&q)
		return f.size(&q)
	}
	s := ask(func(*wire.SizeRequest) {})
	if s.Advice.Action != "expand" || s.Advice.Procs != 16 ||
		math.Abs(*f.candidate(&s, "free", 16).MeanFinish-2500) > 60 ||
		*f.candidate(&s, "free", 4).MeanFinish != 10_000 {
		t.Errorf("8 processors are free: %s", s.Advice.Reason)
	}
	if keep := f.candidate(&s, "free", 8); !keep.Requested || *keep.MeanFinish != 5000 {
		t.Errorf("keeping the size is %+v, want the request, 5000 s", keep)
	}
	for name, change := range map[string]func(*wire.SizeRequest){
		"a change that costs more than it gains": func(q *wire.SizeRequest) { q.Running.OverheadSeconds = 2600 },
		"a gain of half, three quarters wanted":  func(q *wire.SizeRequest) { q.LeastGain = new(.75) },
		"nothing gained": func(q *wire.SizeRequest) {
			q.Runtime = table(4, 10_000, 16, 10_000)
		},
	} {
		if s := ask(change); s.Advice.Action != "keep" || s.Advice.Procs != 8 {
			t.Errorf("%s: %s", name, s.Advice.Reason)
		}
	}
	dear := ask(func(q *wire.SizeRequest) {
		q.Runtime.Amdahl.Serial, q.Objective = .5, wire.SizeObjective{PriceProcHour: 1, PriceHour: .1}
	})
	if dear.Advice.Action != "shrink" {
		t.Errorf("where processors are dear: %s", dear.Advice.Reason)
	}
	named := f.size(&wire.SizeRequest{
		Places: []wire.Place{{Cluster: "main"}}, Sizes: []int{32}, Running: &wire.SizeRunning{JobID: "r"},
		Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{T1Seconds: 60_000}},
	})
	// The job takes 1000 s on 60 processors; 290 s of them have passed.
	if got := *f.candidate(&named, "full", 60).MeanFinish; math.Abs(got-710) > 1e-6 {
		t.Errorf("job r has %v s left, want 710", got)
	}
}

// TestSizeStanding proves that given advice stays until it has stood for long enough and other advice is better by
// enough.
func TestSizeStanding(t *testing.T) {
	f := busy(t)
	ask := func(procs int, since time.Time, gain, hold float64) wire.SizeAdvice {
		return f.size(&wire.SizeRequest{
			Places: []wire.Place{{Cluster: "main", Queue: "free"}}, Sizes: []int{4, 8, 16},
			Runtime: table(4, 1200, 8, 1000, 16, 900), LeastGain: &gain, HoldSeconds: hold,
			Standing: &wire.SizeStanding{Place: wire.Place{Cluster: "main", Queue: "free"}, Procs: procs, Since: since},
		}).Advice
	}
	before := f.now.Add(-100 * time.Second)
	if a := ask(8, before, .2, 0); a.Procs != 8 || a.Since.Sub(before).Abs() > time.Millisecond ||
		!strings.Contains(a.Reason, "better by too little") {
		t.Errorf("16 are better by a tenth: %+v, want that 8 go on", a)
	}
	if a := ask(8, before, .05, 101); a.Procs != 8 {
		t.Errorf("8 have stood for 100 of 101 s: %+v", a)
	}
	if a := ask(8, before, .05, 100); a.Procs != 16 || a.Since.Sub(f.now).Abs() > time.Millisecond {
		t.Errorf("16 are better by a tenth, a twentieth is wanted: %+v, want 16 since now", a)
	}
	if a := ask(12, before, .9, 1e9); a.Procs != 16 {
		t.Errorf("12 are no candidate: %+v, want the best", a)
	}
	if a := ask(8, f.now.Add(time.Hour), .2, 0); a.Procs != 8 || a.Since.After(f.now) {
		t.Errorf("an advice of the future: %+v", a)
	}
}

// TestSizeRefuses proves that each invalid request is refused with a client error that names the field.
func TestSizeRefuses(t *testing.T) {
	f := busy(t)
	place := `"places":[{"cluster":"main","queue":"free"}]`
	amdahl := `"runtime":{"amdahl":{"serial":0.1,"t1_seconds":1000}}`
	for _, c := range []struct{ name, body, field string }{
		{"one point", place + `,"sizes":[1],"runtime":{"table":[{"procs":1,"seconds":10}]}`, "runtime.table: "},
		{"a runtime of 0", place + `,"sizes":[1],"runtime":{"table":[{"procs":1,"seconds":0},{"procs":2,"seconds":5}]}`,
			"runtime.table: "},
		{"a runtime below 0",
			place + `,"sizes":[1],"runtime":{"table":[{"procs":1,"seconds":9},{"procs":2,"seconds":-5}]}`,
			"body.runtime.table[1].seconds"},
		{"a size that the table does not cover",
			place + `,"sizes":[1,8],"runtime":{"table":[{"procs":1,"seconds":9},{"procs":4,"seconds":5}]}`,
			"runtime: no runtime for 8"},
		{"a bound that the table does not cover",
			place + `,"max":8,"runtime":{"table":[{"procs":1,"seconds":9},{"procs":4,"seconds":5}]}`,
			"runtime: no runtime for"},
		{"no runtime", place + `,"sizes":[1],"runtime":{}`, "runtime: "},
		{"two runtimes", place + `,"sizes":[1],"runtime":{"amdahl":{"serial":0,"t1_seconds":1},"downey":{"a":1,` +
			`"sigma":0,"t1_seconds":1}}`, "runtime: "},
		{"a serial share of 2", place + `,"runtime":{"amdahl":{"serial":2,"t1_seconds":1000}}`,
			"body.runtime.amdahl.serial"},
		{"a parallelism of 0", place + `,"runtime":{"downey":{"a":0,"sigma":0,"t1_seconds":1000}}`,
			"body.runtime.downey.a"},
		{"a deadline in the past", place + `,"sizes":[1],` + amdahl +
			`,"objective":{"deadline":"2020-01-01T00:00:00Z"}`, "objective.deadline: "},
		{"a deadline now", place + `,"sizes":[1],` + amdahl + `,"objective":{"deadline":"0"}`, "objective.deadline: "},
		{"no deadline", place + `,"sizes":[1],` + amdahl + `,"objective":{"kind":"deadline"}`, "objective.deadline: "},
		{"no deadline that can be read", place + `,"sizes":[1],` + amdahl + `,"objective":{"deadline":"soon"}`,
			"objective.deadline: "},
		{"a level of 1", place + `,"sizes":[1],` + amdahl + `,"objective":{"level":1}`, "objective.level: "},
		{"no prices", place + `,"sizes":[1],` + amdahl + `,"objective":{"kind":"cost"}`, "objective.price_hour: "},
		{"a price below 0", place + `,"sizes":[1],` + amdahl + `,"objective":{"price_proc_hour":-1}`,
			"body.objective.price_proc_hour"},
		{"an unknown kind", place + `,"sizes":[1],` + amdahl + `,"objective":{"kind":"luck"}`, "body.objective.kind"},
		{"a size of 0", place + `,"sizes":[0],` + amdahl, "sizes: 0 processors"},
		{"a size over the machine", place + `,"sizes":[17],` + amdahl, "17 processors asked for"},
		{"sizes and bounds", place + `,"sizes":[1],"min":1,` + amdahl, "sizes: "},
		{"bounds the wrong way round", place + `,"min":8,"max":4,` + amdahl, "min: "},
		{"an unknown queue", `"places":[{"cluster":"main","queue":"fre"}],"sizes":[1],` + amdahl, `no queue \"fre\"`},
		{"an unknown cluster", `"places":[{"cluster":"man"}],"sizes":[1],` + amdahl, `no cluster \"man\"`},
		{"no cluster", `"sizes":[1],` + amdahl, "cluster: say which"},
		{"a queue twice", `"places":[{"cluster":"idle"},{"cluster":"idle","queue":"all"}],"sizes":[1],` + amdahl,
			"places[1]: "},
		{"a request elsewhere", place + `,"sizes":[1],` + amdahl + `,"request":{"queue":"full","procs":1}`,
			"request: "},
		{"no time limit", place + `,"sizes":[1],"time_limit":"long",` + amdahl, "time_limit: "},
		{"too short a time limit", place + `,"sizes":[1],"time_limit":"10m",` + amdahl, "time_limit: "},
		{"a factor below 1", place + `,"sizes":[1],"time_limit_factor":0.5,` + amdahl, "time_limit_factor: "},
		{"two time limits", place + `,"sizes":[1],"time_limit":"1h","time_limit_factor":2,` + amdahl,
			"time_limit_factor: "},
		{"an unknown member", place + `,"sizes":[1],"colour":"red",` + amdahl, "colour"},
		{"no body", ``, "property runtime"},
		{"a running job of no size", place + `,"sizes":[1],"running":{"remaining_seconds":5},` + amdahl,
			"running.procs: "},
		{"a running job without an end", place + `,"sizes":[1],"running":{"procs":2},` + amdahl,
			"running.remaining_seconds: "},
		{"two ends", place + `,"sizes":[1],"running":{"procs":2,"remaining_seconds":4,"done":0.5},` + amdahl,
			"running.done: "},
		{"all is done", place + `,"sizes":[1],"running":{"procs":2,"done":1},` + amdahl, "running.done: "},
		{"no such job", place + `,"sizes":[1],"running":{"job_id":"x"},` + amdahl, `no job \"x\" runs`},
		{"a job of another queue", place + `,"sizes":[1],"running":{"job_id":"r"},` + amdahl,
			"places: job r runs in queue full"},
		{"a job that should have ended", `"places":[{"cluster":"main"}],"sizes":[1],"running":{"job_id":"r"},` +
			`"runtime":{"amdahl":{"serial":0,"t1_seconds":60}}`, "running.job_id: "},
		{"a least gain of 1", place + `,"sizes":[1],"least_gain":1,` + amdahl, "least_gain: "},
		{"too many candidates", place + `,"sizes":[` + strings.Repeat("1,", 1100) + `1],` + amdahl, "sizes"},
	} {
		a := f.post("/v1/size", "{"+c.body+"}")
		var p wire.Problem
		if err := json.Unmarshal(a.body, &p); err != nil || a.status < 400 || a.status > 499 || p.Status != a.status ||
			a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: status %d, %s", c.name, a.status, a.body)
		}
		if !strings.Contains(string(a.body), c.field) {
			t.Errorf("%s: %s, want %q in it", c.name, a.body, c.field)
		}
	}
	empty := serve(t, main(4, "work"))
	if a := empty.post("/v1/size", "{"+amdahl+"}"); a.status != http.StatusServiceUnavailable ||
		!strings.Contains(string(a.body), "nothing_read") {
		t.Errorf("nothing read yet: status %d, %s", a.status, a.body)
	}
}

// sixtyFour returns a request with 64 candidates.
func sixtyFour() *wire.SizeRequest {
	return &wire.SizeRequest{
		Places: []wire.Place{{Queue: "work"}}, Min: 1, Max: 64, TimeLimitFactor: 1.5,
		Runtime: wire.Runtime{Downey: &wire.RuntimeDowney{A: 40, Sigma: .7, T1Seconds: 100_000}},
	}
}

// TestSizeWork proves that an answer with 64 candidates needs a limited amount of work if the view has answered
// requests before, and that this does not grow with the number of jobs of the cluster. The test counts allocations.
// About 150 per candidate are waitcast's own. With the race detector there are several times as many, because it
// prevents pools from sharing memory.
func TestSizeWork(t *testing.T) {
	var allocations []float64
	for _, size := range []struct{ running, queued int }{{100, 20}, {400, 80}} {
		f := crowded(t, size.running, size.queued)
		q := sixtyFour()
		if s := f.size(q); len(s.Candidates) != 64 {
			t.Errorf("%d candidates", len(s.Candidates))
		}
		allocations = append(allocations, testing.AllocsPerRun(3, func() { f.size(q) }))
	}
	if small, large := allocations[0], allocations[1]; small > 64*1000 || large > 2*small {
		t.Errorf("%v allocations with 100 jobs that run, %v with 400; want at most 64,000, and at most twice as many",
			small, large)
	}
}

// BenchmarkSize measures an answer with 64 candidates through the whole handler, for a view that has answered requests
// before.
func BenchmarkSize(b *testing.B) {
	for _, size := range []struct{ running, queued int }{{100, 20}, {1000, 200}} {
		b.Run(fmt.Sprintf("running=%d,queued=%d", size.running, size.queued), func(b *testing.B) {
			f := crowded(b, size.running, size.queued)
			q := sixtyFour()
			f.size(q)
			b.ReportAllocs()
			for b.Loop() {
				f.size(q)
			}
		})
	}
}
