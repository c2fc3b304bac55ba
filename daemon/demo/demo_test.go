package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output collects what the demonstration prints and reports its address.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	url  chan string
	told bool

	at   string // print calls then when this text is printed
	then func()
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if o.then != nil && bytes.Contains(p, []byte(o.at)) {
		o.then()
	}
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

// demonstrate runs the demonstration on a short history until the test ends. It returns the address and the output.
func demonstrate(t *testing.T, speed float64) (url string, out *output) {
	t.Helper()
	out = &output{url: make(chan string, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Listen: "127.0.0.1:0", Speed: speed, History: 12 * time.Hour, Seed: 1,
			Version: "test", Log: zap.NewNop(), Out: out})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("an orderly end: %v", err)
		}
	})
	begun := time.Now()
	select {
	case url = <-out.url:
	case err := <-done:
		done <- nil
		t.Fatalf("ended early: %v\n%s", err, out)
	}
	t.Logf("address printed after %.1f s", time.Since(begun).Seconds())
	return url, out
}

// TestFirstSight proves that as soon as the address is printed, a new user sees the following without any further step:
// every query has an answer, the clock is marked as simulated, waits are not 0, size and time limit matter, the
// recommendation depends on the size, and limits of queues apply. Then it proves that forecasts are scored as simulated
// time passes.
func TestFirstSight(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the demonstration; left out by -short")
	}
	url, out := demonstrate(t, 600)
	if !regexp.MustCompile(`(?s)wrote .* jobs.*learns.*http://`).MatchString(out.String()) {
		t.Errorf("it printed %q, want what it wrote and learns before its address", out)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if status := get(t, client, url+"/readyz", nil); status != http.StatusOK {
		t.Errorf("/readyz has status %d", status)
	}
	if status := get(t, client, url+"/v1/forecast", nil); status != http.StatusOK {
		t.Errorf("/v1/forecast has status %d", status)
	}
	var health wire.Health
	if get(t, client, url+"/v1/health", &health); health.SimulatedSpeed != 600 {
		t.Errorf("the clock is said to run %g times as fast", health.SimulatedSpeed)
	}
	one, many := ask(t, client, url, 1, "1h"), ask(t, client, url, 32, "1h")
	if one.AgeSeconds > time.Hour.Seconds() || one.Stale {
		t.Errorf("the newest record is %v s old, stale: %v", one.AgeSeconds, one.Stale)
	}
	if *many.WaitSeconds.P50 < 60 || *many.WaitSeconds.P90 < 4*(*one.WaitSeconds.P90) {
		t.Errorf("32 processors wait %v s (9 in 10 at most %v s), one %v s (%v s)", *many.WaitSeconds.P50,
			*many.WaitSeconds.P90, *one.WaitSeconds.P50, *one.WaitSeconds.P90)
	}
	small, large := advised(t, client, url, 1, 2), advised(t, client, url, 1, 32)
	if len(large) == 0 || slices.Equal(small, large) {
		t.Errorf("up to 2 processors the advice is %q, up to 32 %q", small, large)
	}
	brief, long := ask(t, client, url, 8, "10m"), ask(t, client, url, 8, "4h")
	if *long.WaitSeconds.P50 < *brief.WaitSeconds.P50+60 {
		t.Errorf("8 processors for 10 min wait %v s, for 4 h %v s", *brief.WaitSeconds.P50, *long.WaitSeconds.P50)
	}
	if status := get(t, client, url+"/v1/wait?queue=short&procs=1&time_limit=2h", nil); status == http.StatusOK {
		t.Error("2 h are more than the queue short takes, and there is a forecast")
	}
	if status := get(t, client, url+"/v1/jobs", nil); status != http.StatusOK {
		t.Errorf("without a token the waiting jobs have status %d", status)
	}
	mine(t, client, url, out.String())
	tick := time.NewTicker(300 * time.Millisecond) // a query costs as much as the demonstration itself
	defer tick.Stop()
	for !scoredLive(t, client, url) {
		<-tick.C
	}
}

// mine proves that the token that the demonstration prints belongs to a user with jobs and habits.
func mine(t *testing.T, client *http.Client, url, printed string) {
	t.Helper()
	m := regexp.MustCompile(`--token-file (\S+) me`).FindStringSubmatch(printed)
	if m == nil {
		t.Fatalf("no token is named in %q", printed)
	}
	token, err := os.ReadFile(m[1])
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/me?name=test", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var me wire.Me
	if err := json.NewDecoder(resp.Body).Decode(&me); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	if me.User != "user00" || len(me.Habits) == 0 || me.Habits[0].RuntimeSeconds == nil {
		t.Errorf("of its user it knows %+v", me)
	}
}

// ask requests the wait of a job in the queue medium.
func ask(t *testing.T, client *http.Client, url string, procs int, limit string) *wire.Wait {
	t.Helper()
	var w wire.Wait
	query := fmt.Sprintf("/v1/wait?queue=medium&procs=%d&time_limit=%s", procs, limit)
	if status := get(t, client, url+query, &w); status != http.StatusOK {
		t.Fatalf("%s: status %d", query, status)
	}
	return &w
}

// advised returns the recommended sizes for a job that can have any of the given sizes.
func advised(t *testing.T, client *http.Client, url string, procs ...int) []string {
	t.Helper()
	question, err := json.Marshal(map[string]any{
		"places": []map[string]string{{"queue": "medium"}}, "procs": procs, "time_limits": []string{"1h"},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post(url+"/v1/wait", "application/json", bytes.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer wire.Waits
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return answer.Advice
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

// scoredLive reports whether a live forecast has been scored.
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

// TestFor proves that a demonstration ends by itself after the given time, counted from the printing of the address,
// and leaves no files behind.
func TestFor(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the demonstration; left out by -short")
	}
	t.Setenv("TMPDIR", t.TempDir())
	out := &output{url: make(chan string, 1)}
	o := Options{Listen: "127.0.0.1:0", Speed: 600, For: time.Millisecond, History: 3 * time.Hour, Seed: 2,
		Log: zap.NewNop(), Out: out}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(out.url) == 0 {
		t.Errorf("it ended before it printed its address: %s", out)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterrupted proves that a demonstration that is interrupted while it learns ends in order.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	out := &output{url: make(chan string, 1), at: "learns", then: cancel}
	o := Options{Listen: "127.0.0.1:0", Speed: 600, Seed: 2, Log: zap.NewNop(), Out: out}
	if err := Run(ctx, o); err != nil || len(out.url) > 0 {
		t.Errorf("it ended with %v: %s", err, out)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSeed proves that the same seed gives the same history, byte by byte, and that another seed gives another one.
func TestSeed(t *testing.T) {
	epoch := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	one, again, other := historyOf(t, epoch, 7), historyOf(t, epoch, 7), historyOf(t, epoch, 8)
	if len(one) < 2 {
		t.Fatalf("%d files, want one per day of history", len(one))
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
	if _, err := writeHistory(t.Context(), c, epoch.Add(history)); err != nil {
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
