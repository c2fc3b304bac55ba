package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/daemon/demo"
	"github.com/waitcast/waitcast/internal/browser"
)

// patience is the maximum time until a condition must be met.
const patience = 5 * time.Minute

// site is a real daemon on the log of a simulated cluster. Its clock does not advance until it is set.
type site struct {
	*daemon.Daemon
	logs string
	end  time.Time // the log ends here
	past atomic.Int64
	url  string
}

// serve starts a daemon with additional lines in its configuration. history is the length of its log; with 0 the log is
// empty and no queue is known.
func serve(t *testing.T, history time.Duration, more ...string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{logs: filepath.Join(dir, "accounting"), end: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
	if err := os.Mkdir(s.logs, 0o750); err != nil {
		t.Fatal(err)
	}
	if history > 0 {
		l, err := demo.WriteLog(t.Context(), s.logs, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), history, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.end = l.End
		t.Logf("%d jobs up to %v", l.Jobs, l.End)
	}
	s.past.Store(int64(20 * time.Second))
	file := filepath.Join(dir, "waitcastd.yaml")
	text := fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
stale_after: 12h
clusters:
  - name: demo
    procs: 128
    time_zone: UTC
    sources: [{name: accounting, format: pbs, path: %q, poll: 20ms}]
`, dir, s.logs) + strings.Join(more, "")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Daemon = daemon.New(cfg,
		daemon.Options{Log: zap.NewNop(), Version: "test", Now: func() time.Time {
			return s.end.Add(time.Duration(s.past.Load()))
		}})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + s.Addr().String()
	if history > 0 {
		eventually(t, "the log is read, and the load forecast", func() error {
			return errors.Join(get(s.url+"/readyz", nil), get(s.url+"/v1/forecast", nil))
		})
	}
	return s
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not in %v: %s: %v", patience, what, err)
		case <-tick.C:
		}
	}
}

// get requests JSON from the interface.
func get(url string, into any) error {
	resp, err := http.Get(url) //nolint:noctx // a test's own daemon
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return answer(resp, into)
}

func post(url, body string, into any) error {
	resp, err := http.Post(url, "application/json", strings.NewReader(body)) //nolint:noctx // a test's own daemon
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return answer(resp, into)
}

func answer(resp *http.Response, into any) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s: %w", resp.StatusCode, body, errors.Join(err, errors.New("not answered")))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// tab is a real browser. It records requests and error messages.
type tab struct {
	testing.TB
	ctx context.Context
	url string

	mu         sync.Mutex
	requests   []string
	complaints []string
}

// open starts a browser on a site. Without Chromium the test is skipped.
func open(t *testing.T, url string) *tab {
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
	b := &tab{TB: t, ctx: ctx, url: url}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		_, also := cdp.Call(ctx, target, cdplog.Enable, cdp.Empty{})
		return errors.Join(err, also)
	}))
	return b
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			b.complaints = append(b.complaints, fmt.Sprintf("console.%s", e.Type))
		}
	}
}

// heard returns the requests and error messages since the last call.
func (b *tab) heard() (requests, complaints []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests, complaints = b.requests, b.complaints
	b.requests, b.complaints = nil, nil
	return requests, complaints
}

// do runs actions, which must end within patience.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return out
}

// waitFor waits until a JavaScript condition holds and the page shows the view named in its address.
func (b *tab) waitFor(condition string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	condition = `!!document.querySelector('#view[aria-busy="false"] h1') && (` + condition + `)`
	if _, err := chromedp.Run(ctx,
		chromedp.Poll[bool](condition, chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		b.Fatalf("%s: %v\nthe page says: %s", condition, err, eval[string](b, "document.body.innerText"))
	}
}

// show opens an address of the page and waits for its view.
func (b *tab) show(query string) {
	b.Helper()
	b.do(chromedp.Navigate(b.url + "/?" + query))
	b.waitFor("true")
}

// figures returns the values in the view by name, each as exact value and text.
func (b *tab) figures() map[string]figure {
	b.Helper()
	out := map[string]figure{}
	for _, f := range eval[[]figure](b, `[...document.querySelectorAll('#view [data-name]')].map((e) => ({name: `+
		`e.dataset.name, value: e.dataset.value ?? "", text: e.textContent}))`) {
		out[f.Name] = f
	}
	return out
}

type figure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Text  string `json:"text"`
}

// rows returns the cells of the table with a caption. A cell is its exact value if it has one, otherwise its text.
func (b *tab) rows(caption string) [][]string {
	b.Helper()
	return eval[[][]string](b,
		fmt.Sprintf(`[...[...document.querySelectorAll("#view table")].find((t) => t.caption.textContent === `+
			`%q)?.tBodies[0].rows ?? []].map((r) => [...r.cells].map((c) => c.dataset.value ?? c.textContent))`,
			caption))
}
