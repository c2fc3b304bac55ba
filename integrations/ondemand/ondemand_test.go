// Package ondemand_test tests the form hook and the dashboard's widget for Open OnDemand in a real Chromium, which
// sends requests to a real daemon across origins. The pages around them are stubs, because Debian has no Open OnDemand.
package ondemand_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/daemon/demo"
	"github.com/waitcast/waitcast/internal/browser"
)

// patience is the time after which a test fails if a condition is still not met.
const patience = 5 * time.Minute

// stubForm replaces the form of an interactive app in Open OnDemand. The names of its elements are OnDemand's.
const stubForm = `<!doctype html><meta charset="utf-8"><title>Stub of an Open OnDemand form</title>
<form id="new_batch_connect_session_context">
<select id="batch_connect_session_context_bc_queue"><option>short</option><option>no-such-queue</option></select>
<input id="batch_connect_session_context_bc_num_hours" type="number" value="1">
<input id="batch_connect_session_context_bc_num_slots" type="number" value="1">
<input type="submit" value="Launch"></form><script>%s</script>`

// stubDashboard replaces the dashboard, which renders the widget without its comment.
const stubDashboard = `<!doctype html><meta charset="utf-8"><title>Stub of an Open OnDemand dashboard</title>%s`

// portal serves the stubs from another origin than the daemon's, with the daemon's address filled in.
type portal struct {
	*httptest.Server
	daemon string
}

func newPortal(t *testing.T) *portal {
	t.Helper()
	p := &portal{}
	mux := http.NewServeMux()
	serve := func(path, stub, file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`(?s)<%#.*?%>`).ReplaceAll(text, nil) // a comment of ERB
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, stub, bytes.ReplaceAll(text, []byte("http://localhost:9817"), []byte(p.daemon)))
		})
	}
	serve("/form", stubForm, "form.js")
	serve("/dashboard", stubDashboard, "_waitcast.html.erb")
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// startDaemon starts a daemon on the log of a simulated cluster. Pages of the given origins may send requests to it.
func startDaemon(t *testing.T, origins string) string {
	t.Helper()
	dir := t.TempDir()
	logs := filepath.Join(dir, "accounting")
	if err := os.Mkdir(logs, 0o750); err != nil {
		t.Fatal(err)
	}
	l, err := demo.WriteLog(t.Context(), logs, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 12*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "waitcastd.yaml")
	text := fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
stale_after: 12h
access: {origins: [%s]}
clusters:
  - {name: demo, procs: 128, time_zone: UTC, sources: [{name: log, format: pbs, path: %q, poll: 20ms}]}
`, dir, origins, logs)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := daemon.New(cfg, daemon.Options{Log: zap.NewNop(), Version: "test", Now: func() time.Time { return l.End }})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	url := "http://" + d.Addr().String()
	awaitReady(t, url)
	return url
}

// awaitReady waits until a daemon has read its log.
func awaitReady(t *testing.T, url string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range int(patience / (50 * time.Millisecond)) {
		resp, err := http.Get(url + "/readyz") //nolint:noctx // a test's own daemon
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		<-tick.C
	}
	t.Fatalf("%s is not ready within %v", url, patience)
}

// openBrowser starts a browser. Without Chromium the test is skipped.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	path, err := browser.Find()
	if err != nil {
		t.Skip("SKIP: " + err.Error())
	}
	ctx, end, err := browser.Start(context.Background(), path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return ctx
}

// shows waits until the value of a JavaScript expression matches a pattern.
func shows(ctx context.Context, t *testing.T, expression, pattern string) {
	t.Helper()
	condition := fmt.Sprintf("/%s/.test(%s)", pattern, expression)
	if _, err := chromedp.Run(ctx,
		chromedp.Poll[bool](condition, chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		got, _ := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
		t.Fatalf("%s is %q, want %s: %v", expression, got, pattern, err)
	}
}

// evaluate runs JavaScript.
func evaluate(ctx context.Context, t *testing.T, script string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](script)); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

// TestOnDemand proves that the form hook shows when the session would start, is updated with the form, and shows
// nothing without a forecast. The widget has a row for each queue, and the portal may show the daemon's page in a
// frame.
func TestOnDemand(t *testing.T) {
	ctx := openBrowser(t)
	p := newPortal(t)
	p.daemon = startDaemon(t, strconv.Quote(p.URL))

	resp, err := http.Get(p.daemon + "/") //nolint:noctx // a test's own daemon
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.HasSuffix(policy, "frame-ancestors 'self' "+p.URL) {
		t.Errorf("the page's policy is %q", policy)
	}

	const line = `document.getElementById("waitcast").textContent`
	if err := chromedp.Do(ctx, chromedp.Navigate(p.URL+"/form")); err != nil {
		t.Fatal(err)
	}
	shows(ctx, t, line, "^This session would probably start (at once|in about [0-9]+ (min|h|days))")
	choose := func(id, value string) {
		evaluate(ctx, t, fmt.Sprintf(`(() => { const e = document.getElementById("batch_connect_session_context_%s");
			e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); })()`, id, value))
	}
	choose("bc_num_slots", "4096") // the machine has 128 processors
	shows(ctx, t, line, "^$")
	choose("bc_num_slots", "2")
	shows(ctx, t, line, "^This session")
	choose("bc_queue", "no-such-queue")
	shows(ctx, t, line, "^$")

	if err := chromedp.Do(ctx, chromedp.Navigate(p.URL+"/dashboard")); err != nil {
		t.Fatal(err)
	}
	shows(ctx, t, `document.querySelector("#waitcast-widget tbody").innerText`, "short.*(at once|in about)")
	shows(ctx, t, `document.querySelector("#waitcast-widget th[data-question]").innerText`, "1 processor for 1 h")
}

// TestOnDemandElsewhere proves that the browser withholds all answers from a portal that the configuration does not
// name.
func TestOnDemandElsewhere(t *testing.T) {
	ctx := openBrowser(t)
	p := newPortal(t)
	p.daemon = startDaemon(t, `"https://ondemand.example.org"`)
	if err := chromedp.Do(ctx, chromedp.Navigate(p.URL+"/dashboard")); err != nil {
		t.Fatal(err)
	}
	shows(ctx, t, `document.querySelector("#waitcast-widget [role=status]").textContent`, "^No forecast: ")
}
