package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/internal/refdata"
)

func command(args ...string) result {
	return runEnv(map[string]string{}, strings.NewReader(""), false, args...)
}

// pbsLines returns PBS records of a machine of 8 processors on which jobs wait for each other, in the order of their
// times.
func pbsLines(jobs int) (out [][]byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	type line struct {
		at   time.Time
		text []byte
	}
	var lines []line
	free, submit := make([]time.Time, 8), time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range jobs {
		submit = submit.Add(time.Duration(rng.IntN(400)) * time.Second)
		at := 0
		for k := range free { // each job takes one processor, the first to become free
			if free[k].Before(free[at]) {
				at = k
			}
		}
		start := submit
		if free[at].After(start) {
			start = free[at]
		}
		end := start.Add(time.Duration(60+rng.IntN(1200)) * time.Second)
		free[at] = end
		r := pbs.Record{ID: fmt.Sprintf("%d.s", i+1), User: fmt.Sprintf("u%d", i%5), Queue: "batch", Name: "run",
			Created: submit, Queued: submit, Eligible: submit, Start: start, End: end, ExecHost: "n1/0", Procs: 1,
			Nodes: 1, TimeLimit: time.Hour}
		lines = append(lines, line{submit, pbs.AppendQueued(nil, r)}, line{start, pbs.AppendStarted(nil, r)},
			line{end, pbs.AppendEnded(nil, r)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range lines {
		out = append(out, l.text)
	}
	return out
}

// pbsText returns the records of pbsLines as one text.
func pbsText(jobs int) string { return string(bytes.Join(pbsLines(jobs), nil)) }

// pbsLog writes the records of pbsLines to two files: the first is compressed with gzip, the second with zstd.
func pbsLog(t *testing.T, jobs int) (paths []string) {
	t.Helper()
	lines := pbsLines(jobs)
	var parts [2][]byte
	for i, l := range lines {
		part := &parts[2*i/len(lines)]
		*part = append(*part, l...)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(parts[0]) // cannot fail, because it writes to memory
	_ = z.Close()
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return []string{testFile(t, "20260302.gz", zipped.Bytes()),
		testFile(t, "20260303.zst", packer.EncodeAll(parts[1], nil))}
}

func testFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// figures has the JSON output of backtest for a trace, except for values that depend on the machine.
type figures struct {
	Trace string
	Jobs  int
	Files []struct {
		File, Format string
		Records      int64
		LeftOut      int64 `json:"left_out"`
	}
	Methods []struct {
		Method     string
		N          int
		LogPinball map[string]float64 `json:"log_pinball"`
	}
}

func backtestOf(t *testing.T, args ...string) figures {
	t.Helper()
	r := command(append([]string{"backtest", "--json"}, args...)...)
	var got struct{ Traces []figures }
	if err := json.Unmarshal([]byte(r.stdout), &got); r.code != 0 || err != nil || len(got.Traces) != 1 {
		t.Fatalf("code %d, %v: %s", r.code, err, r.stderr)
	}
	return got.Traces[0]
}

// TestConvertLeavesOutBadLines proves that convert reports the lines of a workload file that it cannot read, and copies
// all others.
func TestConvertLeavesOutBadLines(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from.swf"), filepath.Join(t.TempDir(), "to.swf")
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "%d %d 5 60 4 -1 -1 4 60 -1 1 1 1 -1 1 -1 -1 -1\n", 1+i, 10*i)
	}
	if err := os.WriteFile(from, []byte(text.String()+"no job\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := command("convert", "--output", to, from)
	copied, err := os.ReadFile(to) //nolint:gosec // the test's own
	if err != nil || r.code != 0 || !strings.Contains(r.stderr, "from.swf:21") || !strings.HasSuffix(string(copied),
		text.String()) {
		t.Errorf("code %d, %v: %s; copied:\n%s", r.code, err, r.stderr, copied)
	}
}

// TestBacktestOfALog proves that backtest replays a PBS log in two compressed files, in any order, as one trace. The
// workload file that convert makes from the log has the same jobs and figures, whether its format is named or
// recognized.
func TestBacktestOfALog(t *testing.T) {
	paths := pbsLog(t, 600)
	first := backtestOf(t, "--time-zone", "UTC", paths[0], paths[1])
	if first.Jobs != 600 || len(first.Files) != 2 || first.Methods[0].N != 540 ||
		!(first.Methods[0].LogPinball["0.5"] > 0) {
		t.Fatalf("%+v: want 600 jobs of 2 files, 540 of them scored", first)
	}
	for _, f := range first.Files {
		if f.Format != "pbs" || f.Records != 900 || f.LeftOut != 0 {
			t.Errorf("%+v, want 900 records of pbs", f)
		}
	}
	again := backtestOf(t, "--time-zone", "UTC", "--format", "pbs", paths[1], paths[0])
	if diff := cmp.Diff(first.Methods, again.Methods); diff != "" {
		t.Errorf("the files in another order (-first +again):\n%s", diff)
	}
	out := filepath.Join(t.TempDir(), "ours.swf")
	if r := command("convert", "--time-zone", "UTC", "--output", out, paths[1], paths[0]); r.code != 0 ||
		!strings.Contains(r.stderr, "600 jobs of 2 files, pbs, 1800 records") {
		t.Fatalf("convert: code %d, %s", r.code, r.stderr)
	}
	text, err := os.ReadFile(out) //nolint:gosec // the test's own
	if err != nil || strings.Contains(string(text), "batch") || strings.Contains(string(text), "u1") {
		t.Errorf("%v; the file has names:\n%.500s", err, text)
	}
	shared := backtestOf(t, out)
	if shared.Jobs != 600 {
		t.Errorf("%d jobs in the workload file, want 600", shared.Jobs)
	}
	// Simulations draw random numbers by the numbers of the jobs, which differ in the workload file. The other methods
	// do not.
	simulates := []string{"simulation", "simulation_corrected", "waitcast", "uncorrected", "exact", "trees", "linear"}
	for i, m := range first.Methods {
		got, exact := shared.Methods[i], !slices.Contains(simulates, m.Method)
		for level, loss := range m.LogPinball {
			if off := math.Abs(got.LogPinball[level] - loss); got.N != m.N || exact && off > 0 || off > 0.05*loss+1e-4 {
				t.Errorf("%s: %d jobs, loss at %s %v; of the log %d and %v", m.Method, got.N, level,
					got.LogPinball[level], m.N, loss)
			}
		}
	}
}

// TestBacktestReportsWhatItLeavesOut proves that backtest reports unusable lines and a truncated file, with file, line
// and advice, and counts them.
func TestBacktestReportsWhatItLeavesOut(t *testing.T) {
	whole := testLines(t, pbsLog(t, 300)[0])
	bad := slices.Concat(whole[:10], [][]byte{[]byte("garbage")}, whole[10:400],
		[][]byte{whole[400][:10]})
	path := testFile(t, "20260302", bytes.Join(bad, []byte("\n")))
	r := command("backtest", path, "--time-zone", "UTC")
	for _, want := range []string{path + ":11: left out: ", path + ":402: left out: ", "copy it again",
		"402 records, 2 left out"} {
		if r.code != 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("code %d, %q; want %q", r.code, r.stderr, want)
		}
	}
	if got := backtestOf(t, "--time-zone", "UTC", path); got.Files[0].LeftOut != 2 {
		t.Errorf("%+v, want 2 left out", got.Files)
	}
}

// testLines returns the lines of a file compressed with gzip.
func testLines(t *testing.T, path string) [][]byte {
	t.Helper()
	file, err := os.Open(path) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text.Bytes(), []byte("\n"))
}

// TestLogsRefused proves that the message about input that cannot be read names the wrong flag or file.
func TestLogsRefused(t *testing.T) {
	words := testFile(t, "words", []byte("hello\nworld\n"))
	row := testFile(t, "row", []byte("x|7|COMPLETED|2026-11-20T08:01:00|2026-11-20T08:06:00|4|2026-11-20T08:00:00\n"))
	swf := testFile(t, "a.swf", []byte("1 0 0 5 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1 99 n[1-4]\n"))
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"backtest", words}, exitFailed, "one of lsf-acct"},
		{[]string{"convert", words}, exitFailed, "one of lsf-acct"},
		{[]string{"convert", "--format", "pbs", words}, exitFailed, "no job in pbs, 2 records, 2 left out"},
		{[]string{"convert", "--format", "paper", words}, exitUsage, "--format"},
		{[]string{"convert", "--time-zone", "Moon", words}, exitUsage, "--time-zone"},
		{[]string{"convert", "--columns", "JobID,State", words}, exitUsage, "no column Submit"},
		{[]string{"convert", "--columns", "x", "--format", "pbs", words}, exitUsage, "--columns"},
		{[]string{"convert", "--procs", "-1", swf}, exitUsage, "--procs"},
		{[]string{"convert", swf, swf}, exitUsage, "convert it alone"},
		{[]string{"backtest", filepath.Dir(words)}, exitFailed, "folder"},
		{[]string{"convert", row}, exitFailed, "give the format if you know it"},
	} {
		if r := command(tc.args...); r.code != tc.code || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%v: code %d, %q; want %d and %q", tc.args, r.code, r.stderr, tc.code, tc.want)
		}
	}
	r := command("convert", "--columns", "JobName,JobID,State,Start,End,NCPUS,Submit", "--time-zone", "UTC", row)
	want := "\n1 115200 60 300 4 -1 -1 4 -1 -1 -1 -1 -1 1 1 -1 -1 -1\n"
	if r.code != 0 || !strings.HasSuffix(r.stdout, want) ||
		!strings.Contains(r.stdout, "; UnixStartTime: 1795046400\n") {
		t.Errorf("with --columns: code %d, %s, want the record %q", r.code, r.stdout, want)
	}
	r = command("convert", swf)
	if want := "1 0 0 5 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n"; r.code != 0 || r.stdout != want {
		t.Errorf("a workload file: code %d, %q, %s; want %q", r.code, r.stdout, r.stderr, want)
	}
}

// TestBacktestOfOtherSites replays real logs of other sites, whose formats are recognized by their contents.
func TestBacktestOfOtherSites(t *testing.T) {
	for name, want := range map[string]struct {
		format string
		jobs   int
	}{
		"sacct-arrays": {"slurm-sacct", 18}, "lsb.acct": {"lsf-acct", 1}, "pbs-accounting": {"pbs", 9},
		"uge-accounting": {"sge-accounting", 2}, "sge-accounting": {"sge-accounting", 1},
		"slurmrestd/25.11_0.0.44/slurmdb-job-completed.json": {"slurm-sacct-json", 1},
	} {
		got := backtestOf(t, refdata.Shared(t, "logs/"+name))
		if got.Jobs != want.jobs || len(got.Files) != 1 || got.Files[0].Format != want.format ||
			got.Files[0].LeftOut != 0 {
			t.Errorf("%s: %d jobs, %+v; want %d of %s", name, got.Jobs, got.Files, want.jobs, want.format)
		}
	}
}

// TestConvertWholeSeconds proves that jobs which start and end, or are cancelled, within one second of a log with whole
// seconds are converted as they were.
func TestConvertWholeSeconds(t *testing.T) {
	for name, c := range map[string]struct{ format, log, want string }{
		"slurm-log": {"slurm-log", `[2026-06-13T06:57:20] _slurm_rpc_submit_batch_job: JobId=6 InitPrio=1 usec=1
[2026-06-13T06:57:25] sched: Allocate JobId=6 NodeList=n1 #CPUs=4 Partition=debug
[2026-06-13T06:57:25] _job_complete: JobId=6 WEXITSTATUS 1
[2026-06-13T06:57:25] _job_complete: JobId=6 done
[2026-06-13T06:57:30] _slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=1
[2026-06-13T06:57:30] sched: Allocate JobId=7 NodeList=n1 #CPUs=4 Partition=debug
[2026-06-13T06:57:30] _job_complete: JobId=7 done
`, "20 5 0 4\n30 0 0 4\n"},
		// The server deletes job 2 as it arrives, and job 3 starts and is deleted, as other jobs end and start.
		"pbs": {"pbs", `06/13/2026 06:57:20;Q;1.s;queue=batch
06/13/2026 06:57:20;S;1.s;user=a queue=batch ctime=1781333840 start=1781333840 Resource_List.ncpus=4
06/13/2026 06:57:25;Q;2.s;queue=batch
06/13/2026 06:57:25;D;2.s;requestor=a@s
06/13/2026 06:57:25;Q;3.s;queue=batch
06/13/2026 06:57:25;E;1.s;user=a queue=batch ctime=1781333840 start=1781333840 end=1781333845 Resource_List.ncpus=4
06/13/2026 06:57:25;S;3.s;user=a queue=batch ctime=1781333845 start=1781333845 Resource_List.ncpus=4
06/13/2026 06:57:25;D;3.s;requestor=a@s
06/13/2026 06:57:25;E;3.s;user=a queue=batch ctime=1781333845 start=1781333845 end=1781333845 Resource_List.ncpus=4
`, "20 0 5 4\n25 0 -1 -1\n25 0 0 4\n"},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		got := command("convert", "--format", c.format, "--time-zone", "UTC", path)
		var lives strings.Builder
		epoch := int64(0)
		for line := range strings.Lines(got.stdout) {
			var n, submit, wait, run, procs int64
			if _, err := fmt.Sscanf(line, "; UnixStartTime: %d", &n); err == nil {
				epoch = n
			}
			if _, err := fmt.Sscanf(line, "%d %d %d %d %d", &n, &submit, &wait, &run, &procs); err == nil {
				fmt.Fprintln(&lives, epoch+submit-1781333820, wait, run, procs)
			}
		}
		if diff := cmp.Diff(c.want, lives.String()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, got.stderr, diff)
		}
	}
}
