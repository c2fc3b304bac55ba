package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output collects what the demonstration prints and announces its address.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	url  chan string
	told bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).Find(o.text.Bytes()); url != nil && !o.told {
		o.told = true
		o.url <- string(url)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestRun proves that the demonstration needs nothing: it prints its address, answers for each of its queues with
// figures of a fresh picture, and scores forecasts as simulated time goes on.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the demonstration; left out by -short")
	}
	out := &output{url: make(chan string, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	begun := time.Now()
	go func() {
		done <- Run(ctx,
			Options{Listen: "127.0.0.1:0", Speed: 600, History: 12 * time.Hour, Seed: 1, Version: "test",
				Log: zap.NewNop(), Out: out})
	}()
	var url string
	select {
	case url = <-out.url:
	case err := <-done:
		t.Fatalf("ended early: %v\n%s", err, out)
	}
	t.Logf("address printed after %.1f s", time.Since(begun).Seconds())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ready, live := false, false
	tick := time.NewTicker(300 * time.Millisecond) // a look costs as much as the demonstration itself
	defer tick.Stop()
	for !live {
		select {
		case <-tick.C:
		case err := <-done:
			t.Fatalf("ended early: %v\n%s", err, out)
		}
		if !ready {
			ready = get(t, client, url+"/readyz", nil) == http.StatusOK
			continue
		}
		for _, queue := range Queues() {
			var w wire.Wait
			if status := get(t, client, url+"/v1/wait?procs=16&queue="+queue, &w); status != http.StatusOK {
				t.Fatalf("queue %s: status %d", queue, status)
			}
			if w.Stale || w.State.Capacity != nodes || w.Model.N == 0 {
				t.Fatalf("queue %s: stale %v (age %v s), %d processors, model of %d lifetimes", queue, w.Stale,
					w.AgeSeconds, w.State.Capacity, w.Model.N)
			}
		}
		live = scoredLive(t, client, url)
	}
	t.Logf("the first forecast made as it happened was scored after %.1f s", time.Since(begun).Seconds())
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("an orderly end: %v", err)
	}
}

// get returns a status and decodes a JSON body.
func get(t *testing.T, client *http.Client, url string, into any) int {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatal(err)
		}
	}
	return resp.StatusCode
}

// scoredLive reports whether a forecast that was made as it happened has been scored.
func scoredLive(t *testing.T, client *http.Client, url string) bool {
	t.Helper()
	resp, err := client.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^waitcast_forecasts_scored_live_total\{.*\} [1-9]`).Match(body)
}

// TestFor proves that a demonstration ends by itself after the time it was given, and leaves nothing behind.
func TestFor(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out := &output{url: make(chan string, 1)}
	o := Options{Listen: "127.0.0.1:0", Speed: 600, For: 200 * time.Millisecond, Seed: 2, Log: zap.NewNop(), Out: out}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSeed proves that a seed makes the history repeatable, byte by byte, and that another seed makes another one.
func TestSeed(t *testing.T) {
	epoch := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	one, again, other := historyOf(t, epoch, 7), historyOf(t, epoch, 7), historyOf(t, epoch, 8)
	if len(one) < 3 {
		t.Fatalf("%d files, want one per day of history at least", len(one))
	}
	same := len(one) == len(other)
	for name, data := range one {
		if !bytes.Equal(again[name], data) {
			t.Errorf("%s differs between two runs with one seed", name)
		}
		same = same && bytes.Equal(other[name], data)
	}
	if same {
		t.Error("two seeds make the same log")
	}
}

func historyOf(t *testing.T, epoch time.Time, seed uint64) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	c, err := newCluster(dir, epoch, seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeHistory(t.Context(), c, history); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, n := range names {
		if files[n.Name()], err = os.ReadFile(filepath.Join(dir, n.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
