package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// backtestTrace writes the log of a machine of 8 processors on which jobs wait for each other, with one job that never
// ran.
func backtestTrace(t *testing.T, jobs int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.swf")
	if err := os.WriteFile(path, []byte(backtestText(jobs, "batch")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// backtestText returns the text of the log of backtestTrace, with the given name of its queue.
func backtestText(jobs int, queue string) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var out strings.Builder
	fmt.Fprintf(&out, "; MaxProcs: 8\n; Queue: 1 %s\n", queue)
	free, submit := make([]int, 8), 0
	for i := range jobs {
		submit += rng.IntN(400)
		runtime, at := 60+rng.IntN(2800), 0
		for k := range free { // each job takes one processor, the first to become free
			if free[k] < free[at] {
				at = k
			}
		}
		start := max(submit, free[at])
		free[at] = start + runtime
		fmt.Fprintf(&out, "%d %d %d %d 1 -1 -1 1 3600 -1 1 %d 1 -1 1 -1 -1 -1\n", i+1, submit, start-submit,
			runtime, i%5)
	}
	fmt.Fprintf(&out, "%d %d 50 -1 -1 -1 -1 1 3600 -1 5 1 1 -1 1 -1 -1 -1\n", jobs+1, submit)
	return out.String()
}

func backtestCommand(args ...string) result {
	return runEnv(map[string]string{}, strings.NewReader(""), false, append([]string{"backtest"}, args...)...)
}

// TestBacktest checks the figures, and proves that there is a row for every submission and method after the warm-up.
func TestBacktest(t *testing.T) {
	trace, dir := backtestTrace(t, 600), t.TempDir()
	rows := filepath.Join(dir, "rows.csv")
	empty := filepath.Join(dir, "empty.log")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := backtestCommand(empty, trace, "--json", "--warmup", "0.5", "--predictions", rows)
	if r.code != 0 || !strings.Contains(r.stderr, "empty.log: the file is empty and is left out") {
		t.Fatal(r.code, r.stderr)
	}
	var got struct {
		Traces []struct {
			Trace   string
			Jobs    int
			Methods []struct {
				Method     string
				N          int
				Coverage   map[string][2]float64
				LogPinball map[string]float64 `json:"log_pinball"`
				Strata     map[string]struct{ N int }
				Cancelled  struct{ Cancelled int } `json:"with_cancelled"`
			}
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Traces) != 1 || got.Traces[0].Trace != "small" || got.Traces[0].Jobs != 601 {
		t.Fatalf("traces are %+v, want small with 601 jobs", got.Traces)
	}
	served := got.Traces[0].Methods[0]
	if served.Method != "waitcast" || served.N != 300 || served.Cancelled.Cancelled != 1 {
		t.Errorf("the first method is %s with %d jobs and %d cancelled, want waitcast with 300 and 1", served.Method,
			served.N, served.Cancelled.Cancelled)
	}
	for _, level := range []string{"0.5", "0.75", "0.9", "0.95"} {
		if c := served.Coverage[level]; !(c[0] <= c[1] && c[1] > 0) || !(served.LogPinball[level] > 0) {
			t.Errorf("at %s coverage is %v, loss %v", level, c, served.LogPinball[level])
		}
	}
	if s := served.Strata; s["le_1m"].N+s["le_1h"].N+s["gt_1h"].N != 300 {
		t.Errorf("strata are %v: want 300 jobs in all", s)
	}
	file, err := os.Open(rows) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	table, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(table[0], ","); head != "job,submit,method,p50,p75,p90,p95" {
		t.Errorf("the header is %s", head)
	}
	n := 0
	for _, row := range table[1:] {
		if row[2] == "waitcast" {
			n++
		}
	}
	if n != 301 { // including the job that never ran
		t.Errorf("%d rows of waitcast, want 301", n)
	}
}

// TestBacktestHead proves that Downey's test prints five methods.
func TestBacktestHead(t *testing.T) {
	r := backtestCommand(backtestTrace(t, 1500), "--mode", "head")
	if r.code != 0 {
		t.Fatal(r.stderr)
	}
	for _, method := range []string{"downey_a", "downey_b", "downey_combined", "exact", "waitcast"} {
		if !strings.Contains(r.stdout, method) {
			t.Errorf("no line of %s in\n%s", method, r.stdout)
		}
	}
}

// TestBacktestRefusals proves that the message of a refusal names the flag or the file.
func TestBacktestRefusals(t *testing.T) {
	trace := backtestTrace(t, 10)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "arg"},
		{[]string{trace, "--mode", "tail"}, exitUsage, "--mode"},
		{[]string{trace, "--warmup", "1"}, exitUsage, "--warmup"},
		{[]string{trace, "--procs", "-1"}, exitUsage, "--procs"},
		{[]string{trace, "--mode", "head", "--report", "x.html"}, exitUsage, "--report"},
		{[]string{filepath.Join(t.TempDir(), "none.swf")}, exitFailed, "none.swf"},
		{[]string{empty}, exitFailed, "the file is empty"},
		{[]string{empty, "/nowhere/x.swf"}, exitFailed, "/nowhere/x.swf"},
	} {
		if r := backtestCommand(tc.args...); r.code != tc.code || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%v: code %d, %q; want %d and %q", tc.args, r.code, r.stderr, tc.code, tc.want)
		}
	}
}
