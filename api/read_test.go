package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/waitcast/waitcast/api/reference"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// lively returns a fixture with a history, two running jobs, one waiting and one held.
func lively(t testing.TB) *fixture {
	f := serve(t, main(10, "declared"))
	begin := f.history("main", "work")
	add := func(id string, procs int, start float64, more ...job.Kind) {
		events := one{id: id, queue: "work", procs: procs, submit: begin + 1, start: start, end: -1}.events("main")
		for _, k := range more {
			events = append(events, job.Event{Kind: k, Cluster: "main", ID: id, Time: at(begin + 2)})
		}
		f.feed("main", events...)
	}
	add("a", 6, begin+1)
	add("b", 3, begin+2)
	add("c", 8, -1)
	add("d", 5, -1, job.Hold)
	f.now = at(begin + 60)
	f.rows = []modelstore.Row{
		{
			Queue: "work", Procs: 4, Submit: at(begin - 3600), Start: at(begin - 3510),
			Outcome: modelstore.Started, WaitSeconds: 90, Levels: waittime.Levels(),
			Quantiles: []float64{0, 10, 60.5, 120, 300, 600},
			Peers:     []modelstore.Peer{{Method: "limits", Quantiles: []float64{600, 600, 600, 600, 600, 600}}},
			Parts: &modelstore.Parts{BlockedSeconds: 30, Blocked: []float64{0, 0, 20, 60, 150, 300},
				Eligible: []float64{0, 10, 40, 60, 150, 300}, Predicted: "limit", Settled: "QOSMaxJobsPerUserLimit"},
		},
		{Queue: "work", Procs: 2, Submit: at(begin - 3595), Outcome: modelstore.Cancelled, WaitSeconds: 400,
			Levels: waittime.Levels(), Quantiles: []float64{0, 10, 60, 120, 300, 600}},
	}
	return f
}

// TestQueues proves that every queue is listed with its jobs and its models, even one that is only configured.
func TestQueues(t *testing.T) {
	f := lively(t)
	var got wire.Queues
	f.get("/v1/queues", &got)
	if len(got.Queues) != 2 || got.Stale || got.AgeSeconds != 58 {
		t.Fatalf("%d queues, stale %v, age %v, want 2, false, 58", len(got.Queues), got.Stale, got.AgeSeconds)
	}
	declared, work := got.Queues[0], got.Queues[1]
	if declared.Name != "declared" || declared.RunningJobs != 0 {
		t.Errorf("first queue %+v, want the one that is only configured", declared)
	}
	models := work.Models
	work.Models = nil
	want := wire.Queue{
		Cluster: "main", Name: "work", RunningJobs: 2, RunningProcs: 9, QueuedJobs: 1, QueuedProcs: 8, HeldJobs: 1,
	}
	if work.Name != "work" || work.RunningJobs != 2 || work.RunningProcs != 9 || work.QueuedJobs != 1 ||
		work.QueuedProcs != 8 || work.HeldJobs != 1 {
		t.Errorf("queue %+v, want %+v", work, want)
	}
	if len(models) != 2 || models[0].Class != "sequential" || models[0].N != 0 || models[1].Class != "parallel" ||
		models[1].N != lawJobs || models[1].KS != nil {
		t.Errorf("models %+v, want no sequential and %d parallel lifetimes, without KS", models, lawJobs)
	}
	if p := f.problem("/v1/queues?cluster=moon"); p.Status != http.StatusNotFound ||
		!strings.Contains(p.Detail, "main") {
		t.Errorf("unknown cluster: %+v", p)
	}
	f.get("/v1/queues?cluster=main", &got)
}

// TestQueuesOldestPicture proves that with several clusters the age of the answer is that of the oldest picture. A
// cluster without records has the oldest picture.
func TestQueuesOldestPicture(t *testing.T) {
	f := serve(t, pipeline.ClusterConfig{Name: "a"}, pipeline.ClusterConfig{Name: "b"},
		pipeline.ClusterConfig{Name: "c"})
	f.now = at(100)
	read := func(cluster string, start float64) {
		f.feed(cluster, one{id: "1", queue: "work", procs: 1, submit: 0, start: start, end: -1}.events(cluster)...)
	}
	check := func(asOf time.Time, age float64, stale bool) {
		t.Helper()
		var got wire.Queues
		f.get("/v1/queues", &got)
		if !got.AsOf.Equal(asOf) || got.AgeSeconds != age || got.Stale != stale {
			t.Errorf("as of %s, age %v, stale %v, want %s, %v, %v", got.AsOf, got.AgeSeconds, got.Stale,
				asOf, age, stale)
		}
	}
	read("b", 50)
	check(time.Time{}, 0, true)
	read("a", 70)
	check(time.Time{}, 0, true)
	read("c", 90)
	check(at(50), 50, false)
}

// TestModels proves that a queue's models have the Kolmogorov-Smirnov distance, which is small if the law is right, and
// Song's chains, with as many states as the data need.
func TestModels(t *testing.T) {
	f := lively(t)
	var got wire.Models
	f.get("/v1/models/work", &got)
	if got.Cluster != "main" || got.Queue != "work" || len(got.Lifetimes) != 2 {
		t.Fatalf("%q %q with %d classes", got.Cluster, got.Queue, len(got.Lifetimes))
	}
	m := got.Lifetimes[1]
	if m.KS == nil || *m.KS <= 0 || *m.KS > .03 {
		t.Errorf("KS %s, want more than 0 and at most .03 for %d quantiles of the law itself", show(m.KS), lawJobs)
	}
	if m.Class != "parallel" || m.N != lawJobs || math.Abs(m.TMaxSeconds/lawMax-1) > .2 {
		t.Errorf("model %+v", m)
	}
	// Runtimes from 10 to 100,000 s are in [2^3, 2^17), which gives 14 states. All jobs have 2 processors, which
	// gives the state 2^1.
	if got.Markov == nil || len(got.Markov.Runtime.States) != 14 || len(got.Markov.Procs.States) != 1 {
		t.Errorf("chains %+v, want 14 runtime states and 1 of processors", got.Markov)
	}
	f.feed("main", one{id: "only", queue: "single", procs: 1, submit: 0, start: 0, end: 7}.events("main")...)
	var single wire.Models
	f.get("/v1/models/single", &single) // the correlations of a single job are NaN, which JSON cannot represent
	if p := f.problem("/v1/models/werk"); p.Status != http.StatusNotFound || p.Reason != "unknown_queue" ||
		!strings.Contains(p.Hint, "declared, single, work") {
		t.Errorf("unknown queue: %+v", p)
	}
	var empty wire.Models
	f.get("/v1/models/declared", &empty)
	for _, m := range empty.Lifetimes {
		if m.N != 0 || m.FittedAt != nil || m.KS != nil {
			t.Errorf("configured queue without jobs: model %+v", m)
		}
	}
}

// TestETag proves that a client that already has an answer gets status 304 as long as the answer is valid: until an
// event, or until it becomes stale. A forecast is valid until the next second.
func TestETag(t *testing.T) {
	f := lively(t)
	for path, clock := range map[string]bool{
		"/v1/wait?queue=work&procs=1": true, "/v1/queues": false, "/v1/models/work": false,
	} {
		first := f.do(http.MethodGet, path, nil)
		tag := first.header.Get("ETag")
		if !regexp.MustCompile(`^W/"[^"]+"$`).MatchString(tag) {
			t.Fatalf("%s: status %d, ETag %q, want a weak one: %s", path, first.status, tag, first.body)
		}
		ask := func(have string) answer { return f.do(http.MethodGet, path, http.Header{"If-None-Match": {have}}) }
		for _, have := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
			if a := ask(have); a.status != http.StatusNotModified || len(a.body) > 0 || a.header.Get("ETag") != tag {
				t.Errorf("%s: If-None-Match %s: %d %q, ETag %q, want 304 without a body", path, have, a.status, a.body,
					a.header.Get("ETag"))
			}
		}
		if a := ask(`"other"`); a.status != http.StatusOK {
			t.Errorf("%s: another ETag: %d", path, a.status)
		}
		changed := func(what string, want bool) {
			t.Helper()
			a := ask(tag)
			if got := a.status == http.StatusOK; got != want {
				t.Errorf("%s: %s: status %d", path, what, a.status)
			}
			if a.header.Get("ETag") != "" {
				tag = a.header.Get("ETag")
			}
		}
		f.now = f.now.Add(time.Second)
		changed("a second later", clock)
		f.feed("main", one{id: path, queue: "work", procs: 2, submit: f.now.Sub(epoch()).Seconds(), start: -1,
			end: -1}.events("main")...)
		changed("after an event", true)
		now := f.now
		f.now = f.now.Add(staleAfter + time.Second)
		changed("stale", true)
		f.now = now
	}
}

// TestHead proves that HEAD answers like GET.
func TestHead(t *testing.T) {
	f := lively(t)
	for _, path := range []string{
		"/v1/wait?queue=work&procs=2", "/v1/queues", "/v1/models/work", "/v1/workload?model=users&queue=work",
		"/healthz", "/metrics", "/openapi.json", "/docs",
	} {
		get, head := f.do(http.MethodGet, path, nil), f.do(http.MethodHead, path, nil)
		if head.status != http.StatusOK || head.header.Get("Content-Type") != get.header.Get("Content-Type") ||
			head.header.Get("ETag") != get.header.Get("ETag") {
			t.Errorf("HEAD %s: %d %v, want as GET: %d %v", path, head.status, head.header, get.status, get.header)
		}
	}
	if a := f.do(http.MethodPost, "/v1/queues", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST /v1/queues: %d", a.status)
	}
	if a := f.do(http.MethodGet, "/v1/nothing", nil); a.status != http.StatusNotFound {
		t.Errorf("GET /v1/nothing: %d", a.status)
	}
}

// TestMetricsLint proves that the metrics follow Prometheus' recommendations, and that their labels have few and known
// values for any request.
func TestMetricsLint(t *testing.T) {
	f := lively(t)
	for _, method := range []string{"GET", "BREW", "PROPFIND"} {
		f.do(method, "/v1/queues", nil)
	}
	problems, err := testutil.GatherAndLint(f.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	known := map[string][]string{ // all values of each label
		"class": {"sequential", "parallel"}, "level": {"0.1", "0.25", "0.5", "0.75", "0.9", "0.95"},
		"verdict": {"applied", "duplicate", "orphan"}, "method": {"get", "post", "unknown"},
		"code": {"200", "404", "405", "422", "500", "503"}, "version": {"test"},
		"cluster": {"main"}, "queue": {"work", "declared"}, "source": {"main/log"},
		"law":   {"uniform_log", "uniform_log_at_limit", "hyper_gamma", "kaplan_meier"},
		"model": readmodel.SyntheticModels(), "stay": {"long_term", "temporary", "dropped"},
		"size": waittime.SizeClasses(), "peer": {"qbets", "limits", "downey_combined"},
		"reason": append(collector.Reasons(), "scores", "capacity", "limit", "new_queue", "credential", "missing",
			"role", "cross_origin", "host", "rate", "connections", "queue", "busy", "idle", "slow", "room", "age"),
		"kind":  {"users", "histories", "classes"},
		"state": {"running", "queued", "held"}, "bound": {"below", "hits"},
		"made": {"live", "replayed"}, "pool": {"batch", "rest"},
		"dimension": {"procs", "gpus"}, "part": {"eligible", "blocked"},
		"predicted": {"resources", "priority", "limit", "hold", "unavailable"},
		"settled":   {"resources", "priority", "limit", "hold", "unavailable"},
	}
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, fam := range families {
		if !strings.HasPrefix(fam.GetName(), "waitcast_") {
			t.Errorf("%s does not begin with waitcast_", fam.GetName())
		}
		for _, m := range fam.GetMetric() {
			for _, l := range m.GetLabel() {
				if !slices.Contains(known[l.GetName()], l.GetValue()) {
					t.Errorf("%s has the label %s=%q: if its values are bounded, add them to known", fam.GetName(),
						l.GetName(), l.GetValue())
				}
			}
		}
	}
}

// TestNoUserNames proves that no answer and no metric has the name of the user of a job.
func TestNoUserNames(t *testing.T) {
	f := lively(t)
	paths := []string{
		"/v1/wait?queue=work&procs=1&user=" + secret, "/v1/wait?queue=nope&procs=1", "/v1/queues", "/v1/models/work",
		"/metrics", "/readyz", "/v1/workload?queue=work&model=markov&jobs=50",
		"/v1/workload?model=users&format=jsonl&jobs=50", "/openapi.json", "/v1/wait?queue=work&procs=2", "/v1/accuracy",
		"/v1/jobs", "/v1/jobs/c",
	}
	for _, path := range paths {
		if a := f.do(http.MethodGet, path, nil); len(a.body) == 0 || strings.Contains(string(a.body), secret) {
			t.Errorf("GET %s: %d bytes with a user's name: %v", path, len(a.body),
				strings.Contains(string(a.body), secret))
		}
	}
}

// TestOpenAPI proves that the description is of version 3.1, has every path with its parameters and schemas, and refers
// only to itself.
func TestOpenAPI(t *testing.T) {
	f := serve(t, main(1))
	a := f.do(http.MethodGet, "/openapi.json", nil)
	var doc struct {
		OpenAPI string
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In string }
			Responses   map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Info.Title == "" || doc.Info.Version != "test" {
		t.Errorf("openapi %q, info %+v", doc.OpenAPI, doc.Info)
	}
	for path, params := range map[string][]string{
		"/v1/wait": {"account", "by", "cluster", "curve", "explain", "gpu_type", "gpus", "keep", "memory", "nodes",
			"procs", "qos", "queue", "time_limit", "user"},
		"/v1/queues":         {"cluster"},
		"/v1/accuracy":       {"cluster", "limit", "made", "offset", "queue", "since", "size_class", "until"},
		"/v1/jobs":           {"cluster", "limit", "offset", "queue"},
		"/v1/me":             {"cluster", "limit", "name", "offset", "user"},
		"/v1/jobs/{id}":      {"cluster", "id", "keep"},
		"/v1/models/{queue}": {"cluster", "queue"},
	} {
		get, ok := doc.Paths[path]["get"]
		if !ok || get.OperationID == "" {
			t.Errorf("GET %s is not described", path)
			continue
		}
		var names []string
		for _, p := range get.Parameters {
			if p.In != "header" {
				names = append(names, p.Name)
			}
		}
		if slices.Sort(names); !slices.Equal(names, params) {
			t.Errorf("GET %s: parameters %v, want %v", path, names, params)
		}
		if len(get.Responses["200"].Content["application/json"].Schema) == 0 {
			t.Errorf("GET %s: no schema of the answer", path)
		}
		if len(get.Responses["404"].Content["application/problem+json"].Schema) == 0 {
			t.Errorf("GET %s: no schema of errors: %v", path, get.Responses)
		}
	}
	for _, ref := range regexp.MustCompile(`"\$ref":\s*"([^"]*)"`).FindAllStringSubmatch(string(a.body), -1) {
		name, ok := strings.CutPrefix(ref[1], "#/components/schemas/")
		if !ok || doc.Components.Schemas[name] == nil {
			t.Errorf("reference to %q, which is not there", ref[1])
		}
	}
	for _, url := range regexp.MustCompile(`https?://[^"\s()]*`).FindAllString(string(a.body), -1) {
		if !strings.HasPrefix(url, reference.Pages) && !strings.HasPrefix(url, "http://127.0.0.1:9817") {
			t.Errorf("the description names %s, which is neither a page of waitcast nor the daemon", url)
		}
	}
}

// TestQueueRules proves that the rules of a queue in the answer are those that the forecasts use: a configured policy,
// the priorities of the jobs, or rules that were learnt from the starts. If more starts are needed, the answer has
// their number. The rules are given in words and numbers.
func TestQueueRules(t *testing.T) {
	f := serve(t, pipeline.ClusterConfig{Name: "configured", Procs: 10, Policy: "fcfs"},
		pipeline.ClusterConfig{Name: "priorities", Procs: 10}, pipeline.ClusterConfig{Name: "young", Procs: 10})
	f.now = at(100)
	for _, cluster := range []string{"configured", "priorities", "young"} {
		for i := range 6 { // the last one waits
			start := float64(i)
			if i == 5 {
				start = -1
			}
			events := one{id: fmt.Sprint(i), queue: "work", procs: 2, limit: time.Hour, submit: float64(i),
				start: start, end: -1}.events(cluster)
			for k := range events {
				if cluster == "priorities" {
					events[k].Priority = 1000
				}
			}
			f.feed(cluster, events...)
		}
	}
	var got wire.Queues
	f.get("/v1/queues", &got)
	want := map[string]struct{ source, words string }{
		"configured": {"configured", "The forecasts use the configured policy: first come, first served."},
		"priorities": {"priorities",
			"The forecasts use the priorities that the scheduler reports: the highest goes first."},
		"young": {"policy", "The forecasts assume first come, first served with backfilling (EASY)."},
	}
	for _, q := range got.Queues {
		w := want[q.Cluster]
		r := q.Rules
		if r == nil || r.Order.Source != w.source || len(r.Words) == 0 || r.Words[0] != w.words {
			t.Errorf("%s: rules %+v, want %+v", q.Cluster, r, w)
			continue
		}
		delete(want, q.Cluster)
		if r.Order.FittedAt != nil || r.Order.Weights != nil || len(r.Order.Effects) > 0 || len(r.Times.Found) > 0 {
			t.Errorf("%s: rules %+v of five starts, want none", q.Cluster, r)
		}
		if r.Times.Starts != 5 || r.Times.StartsNeeded <= 5 || r.Order.Waits >= r.Order.WaitsNeeded {
			t.Errorf("%s: %+v, %+v: want 5 starts, and that more are needed", q.Cluster, r.Times, r.Order)
		}
	}
	if len(want) > 0 {
		t.Errorf("not there, or wrong: %v", want)
	}
}
