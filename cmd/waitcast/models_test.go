package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// shown returns the fixed answer of the fake server about the models of a queue, with invented numbers.
func shown() wire.Models {
	return wire.Models{
		Cluster: "main", Queue: "batch", AsOf: time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC), Lifetimes: []wire.Model{},
		Laws: []wire.LifetimeLaws{
			{Class: "sequential", Jobs: 3, Reason: "the best law is chosen from 256 lifetimes on, there are 3",
				Scores: []wire.LawScore{{Law: "uniform_log"}}},
			{Class: "parallel", Jobs: 900, Chosen: "hyper_gamma",
				Law: &wire.Quantiles{P25: ptr(60.), P75: ptr(3600.), P90: ptr(7200.)},
				Scores: []wire.LawScore{
					{Law: "hyper_gamma", LogScore: ptr(-3.5), Scored: 836},
					{Law: "uniform_log", LogScore: ptr(-3.75), Scored: 836},
					{Law: "uniform_log_at_limit", Scored: 836, Failed: 836, Reason: "no job has told a time limit"},
				}},
		},
		Lublin: &wire.Lublin{Arrival: wire.LublinArrival{Reason: "28 interarrivals at peak hours"}},
		Markov: &wire.Markov{
			Procs: wire.Chain{States: []int64{1, 4}, Transitions: [][]float64{{.25, .75}, {.5, .5}}}, Jobs: 900,
			Pairs: 899, Cor0: .125,
		},
		Users: &wire.Users{Jobs: 900, LongTerm: 12, Temporary: 34, Flurries: 1, FlurryJobs: 400, Saturated: true,
			Saturation: &wire.Saturation{Saturated: true, Growth: 12, GrowthWeeks: 9}},
	}
}

func TestModelsShowsAll(t *testing.T) {
	r := runWith(serve(t, 200, shown()), "models", "batch")
	for _, want := range []string{
		"Queue batch of cluster main, as of 2026-03-02 13:00:00", "* hyper_gamma", "-3.500", "-3.750",
		"no job has told a time limit", "from 256 lifetimes on",
		"half of the jobs take 1 min to 1 h", "not fitted: 28 interarrivals", "cor0 0.125", "0.25", "0.75",
		"12 long-term, 34 temporary", "flurries: 1 of 400 jobs", "SATURATED",
		"grew by 12 a week (of 9 weekly counts), and no future has been simulated yet",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if r.code != exitDone || r.stderr != "" {
		t.Errorf("exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	raw := runWith(serve(t, 200, shown()), "models", "batch", "--json")
	if raw.code != exitDone || !strings.HasPrefix(raw.stdout, `{"cluster":"main"`) ||
		strings.Count(raw.stdout, "\n") != 1 {
		t.Errorf("exit %d: %s", raw.code, raw.stdout)
	}
}

func TestModelsOfAllQueues(t *testing.T) {
	var asked []string
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		answer := `{"queue": "x", "cluster": "main", "stale": true, "age_seconds": 900}`
		if r.URL.Path == "/v1/queues" {
			answer = `{"queues": [{"cluster": "main", "name": "a"}, {"cluster": "main", "name": "b"}]}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	r := runWith(server.URL, "models")
	if got := strings.Join(asked, " "); got != "/v1/queues /v1/models/a /v1/models/b" || r.code != exitStale ||
		strings.Count(r.stdout, "no job of it") != 2 {
		t.Errorf("exit %d, asked %s\n%s", r.code, got, r.stdout)
	}
}

func TestModelsRefused(t *testing.T) {
	problem := wire.Problem{Type: wire.ProblemNoForecast, Status: 404, Detail: "cluster main has no queue \"x\"",
		Hint: "known queues: batch"}
	r := runWith(serve(t, 404, problem), "models", "x")
	if r.code != exitNoForecast || !strings.Contains(r.stderr, "known queues: batch") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

func TestGenerateLive(t *testing.T) {
	var asked string
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Waitcast-Seed", "77")
		_, _ = io.WriteString(w, "; MaxProcs: 4\n1 0 -1 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
	}))
	t.Cleanup(server.Close)
	r := runWith(server.URL, "generate", "--live", "--model", "uniformlog", "-q", "batch", "--hours", "24")
	if r.code != exitDone || !strings.HasPrefix(r.stdout, "; MaxProcs: 4\n1 0") ||
		!strings.Contains(r.stderr, "the seed is 77") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if asked != "format=swf&hours=24&model=uniform_log&queue=batch" {
		t.Errorf("asked %s", asked)
	}
	if r := runWith(server.URL, "generate", "--live", "--seed", "5", "--json"); r.code != exitDone ||
		asked != "format=jsonl&jobs=10000&model=lublin&seed=5" || r.stderr != "" {
		t.Errorf("exit %d, asked %s: %s", r.code, asked, r.stderr)
	}
	for _, args := range [][]string{
		{"--live", "--set", "paper"}, {"--live", "--model", "x"}, {"--live", "--format", "x"},
		{"--live", "--jobs", "10000001"}, {"--live", "--hours", "-1"}, {"--set", "paper", "--queue", "q"},
	} {
		if r := runWith(server.URL, append([]string{"generate"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d: %s", args, r.code, r.stderr)
		}
	}
}

func TestGenerateLiveSaysWhatIsMissing(t *testing.T) {
	r := runWith(serve(t, 503,
		wire.Problem{Status: 503, Title: "Service Unavailable", Detail: "too few gaps: at least 50 needed",
			Hint: "import an older log"}), "generate", "--live")
	if r.code != exitFailed || !strings.Contains(r.stderr, "at least 50 needed") ||
		!strings.Contains(r.stderr, "import an older log") || r.stdout != "" {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
}
