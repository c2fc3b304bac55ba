package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
)

var (
	walkSeed   = flag.Uint64("walk.seed", 1, "first seed of the random states")
	walkStates = flag.Uint64("walk.states", 0, "number of random states; 0: 20, or 50 with WAITCAST_LONG")
)

// TestEveryAnswerTellsOneStory calls every endpoint and runs every command on random states, and checks the parts of
// all answers against each other. A failure names the seed of its state; -walk.seed N -walk.states 1 repeats it.
func TestEveryAnswerTellsOneStory(t *testing.T) {
	states := *walkStates
	switch {
	case states > 0:
	case testing.Short():
		states = 10
	case os.Getenv("WAITCAST_LONG") != "":
		states = 50
	default:
		states = 20
	}
	for seed := *walkSeed; seed < *walkSeed+states; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { newWorld(t, seed).walk() })
	}
}

// walk calls all paths of the OpenAPI document.
func (w *world) walk() {
	visits := map[string]func(){
		"get /v1/wait": w.walkWaits, "post /v1/wait": nil, "post /v1/size": w.walkSizes, "get /v1/watch": w.walkWatch,
		"get /v1/now": w.walkNow, "get /v1/jobs": w.walkJobs, "get /v1/jobs/{id}": nil, "get /v1/me": w.walkMe,
		"get /v1/when":     nil,
		"get /v1/queues":   w.walkQueues,
		"get /v1/forecast": w.walkForecast, "get /v1/models/{queue}": w.walkModels,
		"get /v1/models/{queue}/lifetimes": nil, "get /v1/accuracy": w.walkAccuracy, "get /v1/history": nil,
		"get /v1/accuracy/recent": nil, "get /v1/workload": w.walkRest, "get /v1/changes": nil, "get /v1/health": nil,
		"get /v1/quarantine": nil, "get /v1/log-level": nil, "put /v1/log-level": nil, "get /v1/goroutines": nil,
		"post /v1/import": nil, "get /metrics": w.walkMetrics, "get /healthz": nil, "get /readyz": nil,
	}
	spec := answerOf[struct {
		Paths map[string]map[string]json.RawMessage
	}](w, "GET", "/openapi.json", nil)
	for path, methods := range spec.Paths {
		for method := range methods {
			if _, known := visits[method+" "+path]; !known {
				w.Errorf("the walk does not visit %s %s: add it", method, path)
			}
		}
	}
	if w.past == 0 {
		w.walkNothing()
		return
	}
	for _, visit := range visits {
		if visit != nil {
			visit()
		}
	}
	w.walkSubmission()
}

// walkNothing checks that no answer states anything about jobs for a cluster without any record.
func (w *world) walkNothing() {
	q := answerOf[wire.Queues](w, "GET", "/v1/queues", nil)
	if !q.AsOf.IsZero() || !q.Stale {
		w.Errorf("queues as of %v, stale %t, and nothing has been read", q.AsOf, q.Stale)
	}
	for _, path := range []string{"/v1/wait?queue=alpha&procs=1", "/v1/jobs", "/v1/now", "/v1/jobs/1", "/v1/forecast",
		"/v1/me?user=x",
		"/readyz"} {
		status, body := w.request("GET", path, nil)
		if status != http.StatusServiceUnavailable {
			w.Errorf("GET %s: %d %s, want 503: nothing has been read", path, status, body)
		}
	}
	if r := w.command("wait", "-q", "alpha", "-n", "1", "-t", "1h"); r.code != exitNoForecast {
		w.Errorf("the command exits with %d", r.code)
	}
}

// command runs the command with the world's daemon.
func (w *world) command(args ...string) result { return runWith(w.url, args...) }

// same checks that a command prints the answer of a path as JSON, and that its text for people contains the given
// words.
func (w *world) same(path string, body any, args []string, contains ...string) {
	w.Helper()
	method := map[bool]string{true: "GET", false: "POST"}[body == nil]
	_, answer := w.requestAs("", method, path, body)
	got := w.command(append(slices.Clone(args), "--json")...)
	want, printed := any(nil), any(nil)
	if json.Unmarshal(answer, &want) != nil || json.Unmarshal([]byte(got.stdout), &printed) != nil ||
		fmt.Sprint(want) != fmt.Sprint(printed) {
		w.Errorf("waitcast %q prints\n%s\n%s %s answers\n%s", args, got.stdout, method, path, answer)
	}
	people := w.command(args...)
	flat := strings.Join(strings.Fields(people.stdout), " ")
	for _, text := range contains {
		if !strings.Contains(flat, strings.Join(strings.Fields(text), " ")) {
			w.Errorf("waitcast %q lacks %q:\n%s%s", args, text, people.stdout, people.stderr)
		}
	}
	if code := map[bool]int{true: exitStale, false: exitDone}[w.stale()]; people.code != code || got.code != code {
		w.Errorf("waitcast %q exits with %d and %d, want %d: %s", args, people.code, got.code, code, people.stderr)
	}
}

func (w *world) stale() bool { return w.clock.Sub(walkAt(w.newest)) > 10*time.Minute }

// now returns the instant of answers: that of the newest record if answers are stale, otherwise that of the clock.
func (w *world) now() time.Time {
	if w.stale() {
		return walkAt(w.newest)
	}
	return w.clock
}

// dated checks the instant and the age in an answer.
func (w *world) dated(what string, asOf time.Time, age float64, stale bool) {
	w.Helper()
	if !asOf.Equal(walkAt(w.newest)) || asOf.After(w.clock) || math.Abs(age-w.clock.Sub(asOf).Seconds()) > 1e-3 ||
		stale != w.stale() {
		w.Errorf("%s: as of %v, %v s old, stale %t; the newest record is of %v, the clock is at %v", what, asOf, age,
			stale, walkAt(w.newest), w.clock)
	}
}

// values returns quantiles as numbers, +Inf for null.
func values(q *wire.Quantiles) []float64 {
	out := make([]float64, 0, 6)
	for _, x := range []*float64{q.P10, q.P25, q.P50, q.P75, q.P90, q.P95} {
		if x == nil {
			out = append(out, math.Inf(1))
		} else {
			out = append(out, *x)
		}
	}
	return out
}

// rise checks that quantiles rise, and that the instants beside them rise and agree with them.
func (w *world) rise(what string, q *wire.Quantiles, at *wire.Instants) []float64 {
	w.Helper()
	v := values(q)
	if !slices.IsSorted(v) || v[0] < 0 {
		w.Errorf("%s: quantiles %v", what, v)
	}
	if at != nil {
		for i, x := range []*time.Time{at.P10, at.P25, at.P50, at.P75, at.P90, at.P95} {
			if (x == nil) != math.IsInf(v[i], 1) || x != nil && math.Abs(x.Sub(w.now()).Seconds()-v[i]) > .06 {
				w.Errorf("%s: quantile %d is %v s, and starts at %v", what, i, v[i], x)
			}
		}
	}
	return v
}

// walkCase is a request for which the walk requests forecasts.
type walkCase struct {
	queue string
	procs int
	limit time.Duration
}

func (c walkCase) query() string {
	return fmt.Sprintf("queue=%s&procs=%d&time_limit=%.0f", c.queue, c.procs, c.limit.Seconds())
}

// cases returns requests with several sizes and limits in every queue.
func (w *world) cases() []walkCase {
	var out []walkCase
	for _, q := range w.queues {
		for _, n := range []int{1, max(1, w.procs/4), w.procs} {
			for _, limit := range []time.Duration{10 * time.Minute, 24 * time.Hour} {
				out = append(out, walkCase{q, n, limit})
			}
		}
	}
	return out
}

// wait requests the forecast for a case. If there is no forecast, it checks that there is a reason, and returns false.
func (w *world) wait(c walkCase, more string) (wire.Wait, bool) {
	w.Helper()
	var out wire.Wait
	status, body := w.request("GET", "/v1/wait?"+c.query()+more, nil)
	if status == http.StatusOK && json.Unmarshal(body, &out) == nil {
		return out, true
	}
	var p wire.Problem
	if json.Unmarshal(body, &p) != nil || p.Type != wire.ProblemNoForecast || p.Reason == "" || p.Hint == "" {
		w.Errorf("%+v: %d %s", c, status, body)
	}
	return out, false
}

// walkWaits checks every part of GET /v1/wait, and compares POST /v1/wait with it.
func (w *world) walkWaits() {
	for _, c := range w.cases() {
		by := 1 + w.rng.Float64()*7200
		a, ok := w.wait(c, fmt.Sprintf("&curve=true&by=%.3f", by))
		if !ok {
			continue
		}
		what := fmt.Sprintf("wait of %+v", c)
		w.dated(what, a.AsOf, a.AgeSeconds, a.Stale)
		q := w.rise(what, &a.WaitSeconds, &a.Start)
		w.checkProbabilities(what, &a, q, by)
		w.checkState(what, &a)
		w.checkHints(what, c, &a)
		w.same("/v1/wait?"+c.query(), nil, []string{"wait", "-q", c.queue, "-n", fmt.Sprint(c.procs), "-t",
			fmt.Sprintf("%.0fs", c.limit.Seconds())}, "Median wait "+quantile(a.WaitSeconds.P50),
			"19 of 20 cases "+upTo(a.WaitSeconds.P95), strings.Join([]string{percent(a.StartWithin.Minute),
				percent(a.StartWithin.TenMinutes), percent(a.StartWithin.Hour), percent(a.StartWithin.FourHours),
				percent(a.StartWithin.Day)}, " "))
	}
	w.walkComparison()
}

// checkProbabilities checks start_within, start_by and the curve against each other and against the quantiles.
// Quantiles in an answer are rounded to tenths of a second, which changes a probability if several quantiles are close
// together.
func (w *world) checkProbabilities(what string, a *wire.Wait, q []float64, by float64) {
	w.Helper()
	d, err := waittime.NewDistribution(waittime.Levels(), q)
	if err != nil {
		w.Errorf("%s: %v", what, err)
		return
	}
	around := func(p, seconds float64) bool {
		return p >= d.CDF(seconds-.11)-.002 && p <= d.CDF(seconds+.11)+.002
	}
	s := a.StartWithin
	within := []float64{s.Minute, s.TenMinutes, s.Hour, s.FourHours, s.Day}
	for i, h := range waittime.Horizons() {
		if !around(within[i], h) || i > 0 && within[i] < within[i-1] || within[i] < 0 || within[i] > 1 {
			w.Errorf("%s: start within %v s with %v, the quantiles %v say %v", what, h, within, q, d.CDF(h))
		}
	}
	b := a.StartBy
	if b == nil || math.Abs(b.At.Sub(w.now()).Seconds()-by) > .002 || !around(b.Probability, by) ||
		b.Probability < b.AtLeast-1e-6 || b.Probability > b.AtMost+1e-6 {
		w.Errorf("%s: start by %v s with %+v, the quantiles %v say %v", what, by, b, q, d.CDF(by))
		return
	}
	for i, h := range waittime.Horizons() {
		if h <= by && within[i] > b.Probability+1e-6 || h >= by && within[i] < b.Probability-1e-6 {
			w.Errorf("%s: start within %v s with %v, by %v s with %v", what, h, within[i], by, b.Probability)
		}
	}
	last := 0.
	for _, p := range a.Curve {
		if p.Probability < last || !around(p.Probability, p.Seconds) {
			w.Errorf("%s: the curve has %v at %v s, after %v", what, p.Probability, p.Seconds, last)
		}
		last = p.Probability
	}
}

// checkState checks the explanation of a forecast: its numbers of jobs and processors against those of the world, and
// its sentence about the reason against the forecast.
func (w *world) checkState(what string, a *wire.Wait) {
	w.Helper()
	s := a.State
	ahead := 0
	for _, j := range w.queued {
		if j.submit <= w.newest {
			ahead++
		}
	}
	used := 0
	for _, j := range w.running {
		used += j.procs
	}
	if s.RunningJobs != len(w.running) || s.QueuedAheadJobs > ahead || s.Free != max(0, s.Capacity-used) ||
		s.Needed != max(0, s.QueuedAhead+s.Size-s.Free) {
		w.Errorf("%s: state %+v; %d run on %d processors, %d wait", what, s, len(w.running), used, ahead)
	}
	atOnce := strings.HasPrefix(a.Reason, "starts at once if it fits")
	if soon := a.StartWithin.Minute >= .5; atOnce != (soon && s.Needed == 0) {
		w.Errorf("%s: starts within a minute with %v, %d are needed: %q", what, a.StartWithin.Minute, s.Needed,
			a.Reason)
	}
	if s.Needed == 0 && !atOnce && !strings.Contains(a.Reason, "than free processors suggest") {
		w.Errorf("%s: the median is %v s, and %q", what, values(&a.WaitSeconds)[2], a.Reason)
	}
	for _, m := range a.Methods {
		switch {
		case m.CannotSay != nil:
		case m.MedianSeconds == nil:
			w.Errorf("%s: %s has neither a median nor a reason for having none", what, m.Name)
		case *m.MedianSeconds < 0:
			w.Errorf("%s: %s says %v s", what, m.Name, *m.MedianSeconds)
		}
	}
	if a.Stale && !strings.Contains(a.Reason, "STALE") {
		w.Errorf("%s: stale, and %q", what, a.Reason)
	}
}

// checkHints checks that each option that would start sooner has the forecast of the same request, and checks the jobs
// on which the start depends.
func (w *world) checkHints(what string, c walkCase, a *wire.Wait) {
	w.Helper()
	for _, o := range a.Sooner {
		other := walkCase{o.Queue, o.Procs, time.Duration(o.TimeLimitSeconds) * time.Second}
		b, ok := w.wait(other, "")
		if !ok || !slices.Equal(values(&b.WaitSeconds), values(&o.WaitSeconds)) {
			w.Errorf("%s: the hint %+v has other quantiles than GET /v1/wait, %v", what, o, values(&b.WaitSeconds))
		}
		if o.GainSeconds != nil && *o.GainSeconds < 60 || other == c || o.Probability < .9 || o.Probability > 1 {
			w.Errorf("%s: the hint %+v is not material", what, o)
		}
	}
	sum := 0.
	for _, p := range a.WaitsFor {
		sum += p.Share
		if j := w.running[p.ID]; j == nil || j.procs != p.Procs ||
			math.Abs(p.AgeSeconds-w.now().Sub(walkAt(j.start)).Seconds()) > 4 {
			w.Errorf("%s: waits for %+v, which runs as %+v", what, p, j)
		}
	}
	if sum > 1+5e-4 { // each term is rounded to four decimals
		w.Errorf("%s: the shares of the pivots sum to %v", what, sum)
	}
}

// walkComparison checks POST /v1/wait against GET /v1/wait.
func (w *world) walkComparison() {
	question := wire.WaitsRequest{Procs: []int{1, max(1, w.procs/4)}, TimeLimits: []string{"10m", "1d"}, By: "1h"}
	for _, q := range w.queues {
		question.Places = append(question.Places, wire.Place{Queue: q})
	}
	slices.Sort(question.Procs)
	if question.Procs = slices.Compact(question.Procs); len(w.queues)*len(question.Procs) == 0 {
		return
	}
	status, body := w.request("POST", "/v1/wait", question)
	var all wire.Waits
	if status != http.StatusOK || json.Unmarshal(body, &all) != nil {
		w.checkRefused("POST /v1/wait", status, body)
		return
	}
	w.dated("comparison", all.AsOf, all.AgeSeconds, all.Stale)
	best, median := 0., -1.
	for _, c := range all.Candidates {
		one, ok := w.wait(walkCase{c.Queue, c.Procs, time.Duration(c.TimeLimitSeconds) * time.Second}, "&by=1h")
		if !ok || !slices.Equal(values(&one.WaitSeconds), values(&c.WaitSeconds)) || one.StartWithin != c.StartWithin ||
			c.StartBy == nil || *c.StartBy != *one.StartBy || c.StartBy.Probability != c.StartWithin.Hour {
			w.Errorf("POST /v1/wait says %+v, GET %+v, %+v", c, values(&one.WaitSeconds), one.StartBy)
		}
		if m := values(&c.WaitSeconds)[2]; m < median {
			w.Errorf("POST /v1/wait: a median of %v s after one of %v s", m, median)
		} else {
			median = m
		}
		best += c.Best
	}
	if math.Abs(best-1) > 1e-4 {
		w.Errorf("POST /v1/wait: the probabilities to start first sum to %v", best)
	}
	if len(w.queues) > 1 {
		w.walkSeveralQueues(&question, &all)
	}
}

// walkSeveralQueues checks the answers about jobs that may start in any queue. They are at no level later than those of
// all about the single queues. The command prints what the daemon answers.
func (w *world) walkSeveralQueues(question *wire.WaitsRequest, all *wire.Waits) {
	queues := strings.Join(w.queues, ",")
	question.Places = []wire.Place{{Queue: queues}}
	status, body := w.request("POST", "/v1/wait", question)
	var several wire.Waits
	if status != http.StatusOK || json.Unmarshal(body, &several) != nil {
		w.checkRefused("POST /v1/wait", status, body)
		return
	}
	for _, c := range several.Candidates {
		for _, one := range all.Candidates {
			if one.Procs != c.Procs || one.TimeLimitSeconds != c.TimeLimitSeconds {
				continue
			}
			for l, q := range values(&c.WaitSeconds) {
				if q > values(&one.WaitSeconds)[l]+.1 {
					w.Errorf("%d processors in %s: %+v, in %s %+v", c.Procs, queues, values(&c.WaitSeconds), one.Queue,
						values(&one.WaitSeconds))
				}
			}
		}
	}
	sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(question.Procs), " ", ","), "[]")
	w.same("/v1/wait", question, []string{"wait", "-q", queues, "-n", sizes, "-t", "10m,1d", "--by", "1h"},
		quantile(several.Candidates[0].WaitSeconds.P50))
}

func (w *world) checkRefused(what string, status int, body []byte) {
	w.Helper()
	var p wire.Problem
	if json.Unmarshal(body, &p) != nil || p.Detail == "" ||
		status != http.StatusUnprocessableEntity && status != http.StatusServiceUnavailable {
		w.Errorf("%s: %d %s", what, status, body)
	}
}

// walkSizes checks POST /v1/size against GET /v1/wait, and checks the sums in its tables.
func (w *world) walkSizes() {
	for _, q := range w.queues {
		question := wire.SizeRequest{Places: []wire.Place{{Queue: q}}, Sizes: []int{1, max(2, w.procs/2)},
			TimeLimit: "1d",
			Runtime:   wire.Runtime{Table: []wire.RuntimePoint{{Procs: 1, Seconds: 7200}, {Procs: 128, Seconds: 300}}}}
		status, body := w.request("POST", "/v1/size", question)
		var s wire.Size
		if status != http.StatusOK || json.Unmarshal(body, &s) != nil {
			w.checkRefused("POST /v1/size", status, body)
			continue
		}
		w.dated("size", s.AsOf, s.AgeSeconds, s.Stale)
		w.checkSizes(&s)
		for _, c := range s.Candidates {
			one, ok := w.wait(walkCase{c.Queue, c.Procs, 24 * time.Hour}, "")
			if !ok || !slices.Equal(values(&one.WaitSeconds), values(&c.Wait)) {
				w.Errorf("size has waits %v for %d in %s, wait has %v", values(&c.Wait), c.Procs, c.Queue,
					values(&one.WaitSeconds))
			}
			for i, f := range values(&c.Finish) {
				if sum := values(&c.Wait)[i] + values(&c.Run)[i]; math.Abs(f-sum) > .2+1e-6*sum && !math.IsInf(f, 1) {
					w.Errorf("a certain runtime: wait and run make %v, the finish is %v", sum, f)
				}
			}
			if c.MeanWait != nil && math.Abs(*c.MeanWait+*c.MeanRun-*c.MeanFinish) > .2 || c.MeanBefore != nil {
				w.Errorf("means of %v and %v make %v", *c.MeanWait, *c.MeanRun, *c.MeanFinish)
			}
		}
		first := s.Candidates[0]
		w.same("/v1/size", question, []string{"size", "-q", q, "--sizes", fmt.Sprintf("1,%d", max(2, w.procs/2)), "-t",
			"1d", "--runtime", "1:2h,128:5m"}, "median wait", "mean wait", fmt.Sprintf("%d %s 1 d %s %s", first.Procs,
			q, quantile(first.Wait.P50), quantile(first.MeanWait)))
	}
	w.walkMalleable()
}

// checkSizes checks the order of the candidates, the advice, and that the probabilities of being best sum to 1.
func (w *world) checkSizes(s *wire.Size) {
	w.Helper()
	best, last := 0., math.Inf(-1)
	for _, c := range s.Candidates {
		best += c.Best
		if c.Score != nil {
			if *c.Score < last {
				w.Errorf("a score of %v after %v", *c.Score, last)
			}
			last = *c.Score
		}
	}
	if math.Abs(best-1) > 1e-4 {
		w.Errorf("the probabilities to be best sum to %v", best)
	}
	if s.Advice.Action == "ask" && s.Advice.Procs != s.Candidates[0].Procs {
		w.Errorf("the advice is %d processors, the first candidate has %d", s.Advice.Procs, s.Candidates[0].Procs)
	}
}

// walkMalleable requests advice for running jobs that could change their size.
func (w *world) walkMalleable() {
	for _, j := range w.running {
		question := wire.SizeRequest{
			Running: &wire.SizeRunning{JobID: j.id, RemainingSeconds: 900, OverheadSeconds: 10},
			Sizes:   []int{max(1, j.procs/2), j.procs, 2 * j.procs},
			Runtime: wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: .05, T1Seconds: 20_000}}}
		question.Sizes = slices.Compact(question.Sizes)
		status, body := w.request("POST", "/v1/size", question)
		var s wire.Size
		if status != http.StatusOK || json.Unmarshal(body, &s) != nil {
			w.checkRefused("POST /v1/size of a running job", status, body)
			continue
		}
		w.checkSizes(&s)
		for _, c := range s.Candidates {
			if c.MeanBefore == nil || c.MeanAfter == nil || math.Abs(*c.MeanBefore+*c.MeanAfter-*c.MeanFinish) > .2 {
				w.Errorf("job %s with %d processors: %v before and %v after the change make %v", j.id, c.Procs,
					c.MeanBefore, c.MeanAfter, c.MeanFinish)
			}
		}
	}
}

// walkWatch checks that the first event of a subscription is the advice of POST /v1/size.
func (w *world) walkWatch() {
	question := wire.SizeRequest{Places: []wire.Place{{Queue: w.queues[0]}}, Sizes: []int{1, 2},
		Runtime: wire.Runtime{Table: []wire.RuntimePoint{{Procs: 1, Seconds: 600}, {Procs: 2, Seconds: 400}}}}
	status, body := w.request("POST", "/v1/size", question)
	var s wire.Size
	if status != http.StatusOK || json.Unmarshal(body, &s) != nil {
		w.checkRefused("POST /v1/size", status, body)
		return
	}
	text, err := json.Marshal(question)
	if err != nil {
		w.Fatal(err)
	}
	data := w.firstEvent("/v1/watch?request=" + url.QueryEscape(string(text)))
	var e wire.SizeEvent
	if err := json.Unmarshal([]byte(data), &e); err != nil || e.Advice.Procs != s.Advice.Procs ||
		e.Advice.Reason != s.Advice.Reason || !e.AsOf.Equal(s.AsOf) {
		w.Errorf("the subscription says %s, the question %+v", data, s.Advice)
	}
}

// firstEvent returns the data of the first event of a stream.
func (w *world) firstEvent(path string) string {
	w.Helper()
	answer, err := http.Get(w.url + path) //nolint:noctx // ended by Close
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	w.Fatalf("%s: %d without an event", path, answer.StatusCode)
	return ""
}
