package grafana

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
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

// patience is how long the demonstration may take until every panel has data.
const patience = 5 * time.Minute

// TestPanelsAreAlive proves that every query of every dashboard has data when a Prometheus scrapes a demonstration, and
// that native histograms are stored. The exceptions are queries about alerts and about snapshots of a scheduler, which
// a demonstration lacks, and about outcomes of forecasts of the load, which come after hours.
func TestPanelsAreAlive(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("WAITCAST_LONG is not set: it takes a minute or two")
	}
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is missing: make test-deps")
	}
	target := demonstrate(t)
	base := scrape(t, program, target)
	values := strings.NewReplacer("$__rate_interval", "10s", "$cluster", ".*", "$queue", ".*", "$size", ".*",
		"$instance", ".*", "$horizon", "1h")
	open := expressions(t, values)
	open["native histograms"] = `histogram_quantile(0.5, sum(rate(waitcast_observed_wait_seconds[1m])))`
	without := regexp.MustCompile(`ALERTS|waitcast_snapshot_|waitcast_load_forecast_(outside|log_pinball)`)
	maps.DeleteFunc(open, func(_, expr string) bool { return without.MatchString(expr) })
	deadline, tick := time.NewTimer(patience), time.NewTicker(time.Second)
	defer deadline.Stop()
	defer tick.Stop()
	begun := time.Now()
	for len(open) > 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			for _, where := range slices.Sorted(maps.Keys(open)) {
				t.Errorf("%s has no answer:\n%s", where, open[where])
			}
			return
		}
		maps.DeleteFunc(open, func(where, expr string) bool {
			n, err := answers(t.Context(), base, expr)
			if err != nil {
				t.Errorf("%s: %v", where, err)
			}
			return n > 0 || err != nil
		})
	}
	t.Logf("every panel had something to show after %.0f s", time.Since(begun).Seconds())
}

// demonstrate starts a demonstration and returns its address once it is ready.
func demonstrate(t *testing.T) string {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- demo.Run(ctx,
			demo.Options{Listen: "127.0.0.1:0", Speed: 600, Seed: 1, Version: "test", Log: zap.NewNop(), Out: w})
		_ = w.Close() // it never fails
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the demonstration: %v", err)
		}
	})
	found := make(chan string, 1)
	go func() {
		var text strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			text.Write(buf[:n])
			if m := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`).FindStringSubmatch(text.String()); m != nil {
				found <- m[1]
				_, _ = io.Copy(io.Discard, r) // until the demonstration ends
				return
			}
			if err != nil {
				close(found)
				return
			}
		}
	}()
	address, ok := <-found
	if !ok {
		t.Fatal("the demonstration ended early")
	}
	return address
}

// scrape starts a Prometheus that scrapes a target every second, and returns its URL once it is ready.
func scrape(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: waitcast, static_configs: "+
		"[{targets: [%q]}]}]\n", target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for its port only
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", address, "--enable-feature", "native-histograms")
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	base := "http://" + address
	deadline, tick := time.NewTimer(patience), time.NewTicker(100*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for {
		if _, err := answers(t.Context(), base, "vector(1)"); err == nil {
			return base
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("Prometheus does not answer")
		}
	}
}

// answers returns the number of series that a query has now.
func answers(ctx context.Context, base, expr string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/query?query="+url.QueryEscape(expr), nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	var a struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return 0, err
	}
	if a.Status != "success" {
		return 0, fmt.Errorf("%s: %s", a.Status, a.Error)
	}
	return len(a.Data.Result), nil
}
