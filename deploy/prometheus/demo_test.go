package prometheus_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/daemon/demo"
)

// stage is the demonstration with a real Prometheus beside it.
type stage struct {
	*server
	incidents chan demo.Incident
	address   string
	wholly    bool // incidents are watched until they end
}

// TestDemonstration runs a real Prometheus that scrapes the demonstration. It proves that at first all is well: the
// target is up, promtool finds no fault in its metrics, no rule fails, each recorded series and each query of a
// dashboard has data, and no alert fires. A flurry fires its alert, which ends with the flurry, and a stalled log fires
// its own. Only these alerts and their companions in docs/alerts.md fire. Hours become seconds in the rules, as in the
// demonstration. With WAITCAST_LONG=1 Prometheus scrapes for five minutes, also native histograms, and incidents are
// watched until they end.
func TestDemonstration(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the demonstration; left out by -short")
	}
	binary := program(t, "prometheus")
	calm, history, silence := 4*time.Second, 12*time.Hour, "3600"
	var flags []string
	if os.Getenv("WAITCAST_LONG") != "" {
		calm, history, silence = 260*time.Second, 72*time.Hour, "4 * 3600"
		flags = []string{"--enable-feature", "native-histograms"} // instead of classic ones
	}
	s := onStage(t, binary, history, map[string]string{"waitcast:log_silence_seconds:default": silence}, flags)
	s.wholly = os.Getenv("WAITCAST_LONG") != ""
	t.Run("metrics", func(t *testing.T) { s.wellFormed(t, program(t, "promtool")) })
	t.Run("calm", func(t *testing.T) { s.calm(t, calm) })
	t.Run("dashboards", s.dashboards)
	t.Run("flurry", s.flurry)
	t.Run("stall", s.stall)
	eventually(t, "the target is up at the end", patience,
		func() bool { all, well := s.up(t); return all == 1 && well == 1 })
}

// onStage starts the demonstration and, when it has read its history, Prometheus.
func onStage(t *testing.T, binary string, history time.Duration, thresholds map[string]string, flags []string) *stage {
	t.Helper()
	s := &stage{incidents: make(chan demo.Incident)}
	out := new(printed)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- demo.Run(ctx, demo.Options{
			Listen: "127.0.0.1:0", Speed: speed, Seed: 1, History: history, Incidents: s.incidents, Version: "test",
			Log: zap.NewNop(), Out: out,
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the demonstration: %v", err)
		}
		if t.Failed() {
			t.Logf("the demonstration said:\n%s", out)
		}
	})
	address := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)
	eventually(t, "the demonstration prints its address", patience, func() bool { return out.find(address) != "" })
	s.address = out.find(address)
	eventually(t, "the history is read", 3*patience, func() bool {
		return status(t, "http://"+s.address+"/readyz") == http.StatusOK
	})
	s.server = startPrometheus(t, binary, s.address, thresholds, flags...)
	return s
}

// get returns the response to one request. The caller closes its body.
func get(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func status(t *testing.T, url string) int {
	t.Helper()
	resp := get(t, url)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// wellFormed lets promtool check the metrics of the daemon.
func (s *stage) wellFormed(t *testing.T, promtool string) {
	t.Helper()
	resp := get(t, "http://"+s.address+"/metrics")
	defer func() { _ = resp.Body.Close() }()
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = resp.Body
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// watch polls until a condition on the firing alerts is met, and fails on an alert that may not fire. The short form
// only logs such an alert: its hours are seconds, and a busy machine may be late by some (rules_test.go tests the rules
// by the clock of promtool).
func (s *stage) watch(t *testing.T, what string, within time.Duration, may []string,
	met func(firing map[string][]map[string]string) bool) {
	t.Helper()
	begun, seen := time.Now(), map[string]bool{}
	eventually(t, what, within, func() bool {
		firing := s.firing(t)
		for name, series := range firing {
			if s.wholly && !slices.Contains(may, name) && !seen[name] {
				t.Errorf("%s fires: %v", name, series)
			}
			if !seen[name] {
				t.Logf("after %.1f s %s fires: %v", time.Since(begun).Seconds(), name, series)
			}
			seen[name] = true
		}
		return met(firing)
	})
	t.Logf("after %.1f s: %s", time.Since(begun).Seconds(), what)
}

// calm watches a machine on which nothing happens.
func (s *stage) calm(t *testing.T, length time.Duration) {
	eventually(t, "the target is up", patience, func() bool { all, well := s.up(t); return all == 1 && well == 1 })
	end := time.Now().Add(length)
	s.watch(t, "calm", length+patience, nil, func(map[string][]map[string]string) bool {
		return !time.Now().Before(end)
	})
	// On a machine that is busy with other tests a scrape may take longer than its second.
	if n, err := s.series(t, "avg_over_time(up[10m]) < 0.97"); s.wholly && (err != nil || n > 0) {
		t.Errorf("more than 3 of 100 scrapes failed (%v)", err)
	}
	if bad := s.broken(t); len(bad) > 0 {
		t.Errorf("rules that fail: %s", strings.Join(bad, "\n"))
	}
	for _, r := range rules(t) {
		if r.Record == "" || s.absent(r.Record) {
			continue
		}
		eventually(t, r.Record+" has data", patience, func() bool {
			n, err := s.series(t, r.Record)
			return err == nil && n > 0
		})
	}
}

// absent reports whether the demonstration cannot have a recorded series: it has no pools, no bad lines, and less than
// a week of Prometheus.
func (s *stage) absent(record string) bool {
	return slices.Contains([]string{
		"pool:waitcast_pool_procs:ratio_max1d", "source:waitcast_bad_lines:increase1h",
		"source:waitcast_bad_lines:ratio1h", "source:waitcast_lines:rate1h_p10_7d",
		"source:waitcast_log_missed_lines:expected",
	}, record)
}

// flurry makes one user flood a queue.
func (s *stage) flurry(t *testing.T) {
	s.incidents <- demo.Flurry(400)
	may := append(companions(t, "WaitcastFlurry"), "WaitcastFlurry")
	s.watch(t, "the flurry fires", patience, may, func(firing map[string][]map[string]string) bool {
		return len(firing["WaitcastFlurry"]) == 1 && firing["WaitcastFlurry"][0]["queue"] == "long"
	})
	if !s.wholly {
		return
	}
	s.watch(t, "the flurry is over", patience, may, func(firing map[string][]map[string]string) bool {
		return len(firing["WaitcastFlurry"]) == 0
	})
}

// stall makes the log fall silent while jobs run.
func (s *stage) stall(t *testing.T) {
	s.incidents <- demo.Silence()
	may := append(companions(t, "WaitcastLogStalled"), "WaitcastLogStalled")
	may = append(may, companions(t, "WaitcastFlurry")...) // alerts that the flurry left
	if !s.wholly {
		may = append(may, "WaitcastFlurry") // this alert does not end, because the picture no longer changes
	}
	s.watch(t, "the stall fires", patience, may, func(firing map[string][]map[string]string) bool {
		stalled := firing["WaitcastLogStalled"]
		return len(stalled) == 1 && stalled[0]["source"] == demo.ClusterName+"/accounting"
	})
	if !s.wholly {
		return
	}
	s.incidents <- demo.Talk()
	s.watch(t, "the stall is over", patience, may, func(firing map[string][]map[string]string) bool {
		return len(firing["WaitcastLogStalled"]) == 0
	})
}

// companions returns the alerts that come with another one, by docs/alerts.md.
func companions(t *testing.T, alert string) []string {
	t.Helper()
	data, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(data), "\n## "+alert+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	_, text, told := strings.Cut(text, "**Comes with.** ")
	if text, _, _ = strings.Cut(text, "\n\n"); !found || !told {
		t.Fatalf("docs/alerts.md does not tell what %s comes with", alert)
	}
	return regexp.MustCompile(`Waitcast\w+`).FindAllString(text, -1)
}

// dashboards asks every query of every dashboard of Grafana.
func (s *stage) dashboards(t *testing.T) {
	paths, err := filepath.Glob("../grafana/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("deploy/grafana has no dashboards")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var board any
		if err := json.Unmarshal(data, &board); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		queries := map[string]bool{}
		expressions(board, queries)
		if len(queries) == 0 {
			t.Errorf("%s has no queries", path)
		}
		for _, q := range slices.Sorted(maps.Keys(queries)) {
			s.answers(t, filepath.Base(path), q)
		}
	}
}

// answers asks one query, which must be valid. In the long form it must also return data in the end, unless the
// demonstration lacks its subject.
func (s *stage) answers(t *testing.T, board, query string) {
	n, err := s.series(t, substituted(query))
	switch {
	case err != nil:
		t.Errorf("%s: %v: %s", board, err, query)
	case n > 0:
	case lacking(query) || !s.wholly:
		t.Logf("%s: no data: %s", board, query)
	default:
		eventually(t, board+" has data: "+query, patience, func() bool {
			n, err = s.series(t, substituted(query))
			return err == nil && n > 0
		})
	}
}

// expressions collects the values of all keys expr.
func expressions(node any, into map[string]bool) {
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			if text, ok := value.(string); ok && key == "expr" && text != "" {
				into[text] = true
			}
			expressions(value, into)
		}
	case []any:
		for _, value := range n {
			expressions(value, into)
		}
	}
}

// substituted replaces Grafana's variables: ten seconds for intervals, an hour for a horizon, and everything for the
// others.
func substituted(query string) string {
	query = regexp.MustCompile(`\$\{?__(rate_interval|interval|range)\}?`).ReplaceAllString(query, "10s")
	query = regexp.MustCompile(`\$(\{horizon(:\w+)?\}|horizon\b)`).ReplaceAllString(query, "1h")
	return regexp.MustCompile(`\$(\{\w+(:\w+)?\}|\w+)`).ReplaceAllString(query, ".*")
}

// lacking reports whether a query is about something that the demonstration lacks: alerts, snapshots, pools, bad lines,
// Slurm, large pools that are simulated as a whole, and outcomes of forecasts of the load, which come after hours.
func lacking(query string) bool {
	return regexp.MustCompile(
		`ALERTS|waitcast_(snapshot|pool|bad_lines|slurm|engine_simulation|load_forecast_(outside|log_pinball|` +
			`outcomes))|:waitcast_(pool|bad_lines)`,
	).MatchString(query)
}
