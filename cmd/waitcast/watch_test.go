package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// inTurn starts a fake that gives the next answer to each request for the job. A nil answer represents an overloaded
// daemon. After the last answer the status is 404.
func inTurn(t *testing.T, answers ...*wire.JobAnswer) string {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, _ *http.Request) {
		n := int(asked.Add(1)) - 1
		status, body := http.StatusNotFound, any(wire.Problem{Status: http.StatusNotFound, Detail: "no such job waits"})
		if n < len(answers) {
			if status, body = http.StatusOK, answers[n]; answers[n] == nil {
				status, body = http.StatusServiceUnavailable, wire.Problem{Status: http.StatusServiceUnavailable,
					Detail: "the daemon is stopping"}
			}
		}
		content, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
		}
		kind := "application/json"
		if status != http.StatusOK {
			kind = "application/problem+json"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// startsIn returns an answer for the job at the given number of minutes (asked) after 13:00. By this answer the job
// starts rest minutes later.
func startsIn(asked, rest float64) *wire.JobAnswer {
	now := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC).Add(time.Duration(asked * float64(time.Minute)))
	return &wire.JobAnswer{Cluster: "main", AsOf: now, Job: wire.Job{ID: "4711", Forecast: &wire.JobForecast{
		Now:   wire.Quantiles{P10: ptr(rest * 30), P50: ptr(rest * 60), P90: ptr(rest * 120)},
		Start: wire.Instants{P50: ptr(now.Add(time.Duration(rest * float64(time.Minute))))}}}}
}

// TestWatchJob proves when the command prints a line: at the beginning, when the likely start moves by a fifth of the
// remaining wait, when the job is held or released, and when it no longer waits. If the daemon is overloaded, the
// command tries again.
func TestWatchJob(t *testing.T) {
	held := startsIn(40, 30)
	held.Held, held.HeldReason = true, "JobHeldUser"
	url := inTurn(t, startsIn(0, 100), startsIn(10, 90), startsIn(20, 99), nil, startsIn(20, 101), startsIn(30, 91),
		held, startsIn(60, 2), startsIn(61, 1.5), startsIn(62, 1.5))
	out := filepath.Join(t.TempDir(), "lines")
	r := runWith(url, "watch", "4711", "--every", "1ms", "--run",
		`echo "$WAITCAST_JOB $WAITCAST_EVENT $WAITCAST_START" >> `+out)
	want := `job 4711 starts Mon 14:40, in 1 h 40 min (8 of 10 cases 50 min to 3 h 20 min)
job 4711 starts Mon 15:01, in 1 h 41 min (8 of 10 cases 50 min 30 s to 3 h 22 min)
job 4711 is held: JobHeldUser
job 4711 starts Mon 14:02, in 2 min (8 of 10 cases 1 min to 4 min)
job 4711 starts Mon 14:03, in 1 min 30 s (8 of 10 cases 45 s to 3 min)
job 4711 waits no more: it has started or left
`
	if r.stdout != want || r.code != exitDone || strings.Count(r.stderr, "it is tried again") != 1 {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, want)
	}
	lines, err := os.ReadFile(out)
	if got := strings.Split(strings.TrimSpace(string(lines)), "\n"); err != nil || len(got) != 6 ||
		got[0] != "4711 forecast 2026-03-02T14:40:00Z" || !strings.HasPrefix(got[2], "4711 held") ||
		got[5] != "4711 gone" {
		t.Errorf("--run: %v, %q", err, lines)
	}
	raw := runWith(inTurn(t, startsIn(0, 100)), "watch", "4711", "--every", "1ms", "--json", "--run", "exit 3")
	if lines := strings.Split(strings.TrimSpace(raw.stdout), "\n"); len(lines) != 2 || raw.code != exitDone ||
		!strings.HasPrefix(lines[0], `{"cluster":"main"`) || !strings.Contains(raw.stderr, "exit status 3") {
		t.Errorf("--json: exit %d %s\n%s", raw.code, raw.stderr, raw.stdout)
	}
	for _, args := range [][]string{{"watch"}, {"watch", ""}, {"watch", "1", "--every", "0s"}} {
		if r := runWith("http://127.0.0.1:1", args...); r.code != exitUsage {
			t.Errorf("%q: exit %d", args, r.code)
		}
	}
	if r := runWith(inTurn(t), "watch", "4711"); r.code == exitDone || r.stdout != "" {
		t.Errorf("a job that never waited: exit %d\n%s", r.code, r.stdout)
	}
}
