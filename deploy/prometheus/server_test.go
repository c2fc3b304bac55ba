package prometheus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/waitcast/waitcast/internal/polling"
)

// patience is the time after which a test fails if a condition has not come true.
const patience = 5 * time.Minute

// eventually polls a condition.
func eventually(t *testing.T, what string, within time.Duration, met func() bool) {
	t.Helper()
	if !polling.Until(within, met) {
		t.Fatalf("not within %v: %s", within, what)
	}
}

// printed collects the output of a program.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// find returns the first group of the first match so far.
func (p *printed) find(pattern *regexp.Regexp) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := pattern.FindSubmatch(p.text.Bytes()); m != nil {
		return string(m[1])
	}
	return ""
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// speed is how many times faster than the wall clock the demonstration runs. The rules run at the same speed: an hour
// is six seconds.
const speed = 600

// hasten returns a duration of a rule at the speed of the demonstration, and at least long enough for some samples:
// Prometheus scrapes every second.
func hasten(t *testing.T, duration string, least time.Duration) string {
	t.Helper()
	n, err := strconv.Atoi(duration[:len(duration)-1])
	unit, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour,
		'd': 24 * time.Hour}[duration[len(duration)-1]]
	if err != nil || !ok {
		t.Fatalf("a duration %q in the rules", duration)
	}
	return fmt.Sprintf("%dms", max(time.Duration(n)*unit/speed, least).Milliseconds())
}

// hastened writes copies of the rules with all durations at the speed of the demonstration, and with other thresholds.
func hastened(t *testing.T, dir string, thresholds map[string]string) {
	t.Helper()
	for _, path := range glob(t, "rules/*.yml") {
		f := load[ruleFile](t, path)
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				if expr, ok := thresholds[r.Record]; ok {
					r.Expr = expr
				}
				r.Expr = hastenedExpr(t, r.Expr)
				if r.For != "" {
					r.For = hasten(t, r.For, 3*time.Second)
				}
			}
		}
		data, err := yaml.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func hastenedExpr(t *testing.T, expr string) string {
	t.Helper()
	expr = regexp.MustCompile(`\[(\d+[smhd])\]`).ReplaceAllStringFunc(expr, func(m string) string {
		return "[" + hasten(t, m[1:len(m)-1], 5*time.Second) + "]"
	})
	return regexp.MustCompile(`offset \d+[smhd]`).ReplaceAllStringFunc(expr, func(m string) string {
		return "offset " + hasten(t, m[len("offset "):], 5*time.Second)
	})
}

// server is a real Prometheus.
type server struct {
	url string
	out *printed
}

// startPrometheus runs a Prometheus that scrapes a daemon every second, with the hastened rules and additional flags,
// until the test ends.
func startPrometheus(t *testing.T, binary, target string, thresholds map[string]string, flags ...string) *server {
	t.Helper()
	dir := t.TempDir()
	hastened(t, dir, thresholds)
	config := filepath.Join(dir, "prometheus.yaml")
	err := os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: waitcast
    static_configs: [{targets: [%q]}]
`, filepath.Join(dir, "*.yml"), target), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{out: new(printed)}
	args := []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address",
		"127.0.0.1:0", "--web.external-url", "http://localhost/"}
	cmd := exec.CommandContext(t.Context(), binary, append(args, flags...)...)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // the test's context has ended
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", s.out)
		}
	})
	address := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
	eventually(t, "Prometheus listens", patience, func() bool { return s.out.find(address) != "" })
	s.url = "http://" + s.out.find(address)
	// until then Prometheus answers 503
	eventually(t, "Prometheus is ready", patience, func() bool { return status(t, s.url+"/-/ready") == http.StatusOK })
	return s
}

// ask asks the API and decodes the answer. It returns the message of an error of Prometheus.
func (s *server) ask(t *testing.T, path string, query url.Values, data any) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/"+path+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %s: %w", path, resp.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// series returns the number of series of a query now.
func (s *server) series(t *testing.T, query string) (int, error) {
	t.Helper()
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := s.ask(t, "query", url.Values{"query": {query}}, &data); err != nil {
		return 0, err
	}
	if data.ResultType == "scalar" {
		return 1, nil
	}
	var vector []json.RawMessage
	err := json.Unmarshal(data.Result, &vector)
	return len(vector), err
}

// firing returns the alerts that fire now, by name, with their labels.
func (s *server) firing(t *testing.T) map[string][]map[string]string {
	t.Helper()
	var data struct {
		Alerts []struct {
			State       string
			Value       string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
	if err := s.ask(t, "alerts", nil, &data); err != nil {
		t.Fatal(err)
	}
	found := map[string][]map[string]string{}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			found[a.Labels["alertname"]] = append(found[a.Labels["alertname"]], a.Labels)
		}
	}
	return found
}

// up returns the number of targets and the number of targets that are scraped without an error.
func (s *server) up(t *testing.T) (all, well int) {
	t.Helper()
	var data struct {
		ActiveTargets []struct{ Health, LastError string }
	}
	if err := s.ask(t, "targets", url.Values{"state": {"active"}}, &data); err != nil {
		t.Fatal(err)
	}
	for _, target := range data.ActiveTargets {
		if target.Health == "up" {
			well++
		}
	}
	return len(data.ActiveTargets), well
}

// broken returns the rules that could not be evaluated.
func (s *server) broken(t *testing.T) []string {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := s.ask(t, "rules", nil, &data); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health == "err" {
				found = append(found, r.Name+": "+r.LastError)
			}
		}
	}
	return found
}
