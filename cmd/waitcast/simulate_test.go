package main

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
)

// smallTrace has three jobs on 4 processors. The second must wait for the first, and the third is short and fits beside
// the first. It also has a job that is too large, and an invalid line.
const smallTrace = `; MaxProcs: 4
; Queue: 1 batch
1 0 5 100 3 -1 -1 3 100 -1 1 1 1 1 1 -1 -1 -1
2 10 5 50 4 -1 -1 4 50 -1 1 2 1 1 1 -1 -1 -1
3 20 5 30 1 -1 -1 1 30 -1 1 3 1 1 1 -1 -1 -1
4 30 5 30 9 -1 -1 9 30 -1 1 3 1 1 1 -1 -1 -1
no job
`

func simulateCommand(t *testing.T, trace string, args ...string) result {
	t.Helper()
	return runEnv(map[string]string{}, strings.NewReader(trace), false, append([]string{"simulate"}, args...)...)
}

// records parses the output of the command.
func records(t *testing.T, text string) []swf.Record {
	t.Helper()
	_, out := read(t, text)
	return out
}

// TestSimulateWaits checks the waits under every policy against a schedule that was worked out by hand.
func TestSimulateWaits(t *testing.T) {
	for policy, waits := range map[string][]int64{
		"fcfs": {0, 90, 130}, "easy": {0, 90, 0}, "conservative": {0, 90, 0},
	} {
		r := simulateCommand(t, smallTrace, "--policy", policy, "-")
		if r.code != 0 {
			t.Fatalf("%s: %s", policy, r.stderr)
		}
		got := records(t, r.stdout)
		if len(got) != 3 {
			t.Fatalf("%s: %d jobs", policy, len(got))
		}
		for i, want := range waits {
			if got[i].Wait != want {
				t.Errorf("%s: job %d waited %d s, want %d", policy, got[i].ID, got[i].Wait, want)
			}
		}
		for _, part := range []string{
			"3 of 4 records on 4 processors", "1 larger than the machine (job 4)", "standard input:7",
		} {
			if !strings.Contains(r.stderr, part) {
				t.Errorf("%s: %q is not in\n%s", policy, part, r.stderr)
			}
		}
	}
}

// TestSimulateOptions proves the effects of three options: limits kill jobs, actual runtimes replace limits, and the
// load is reached by shorter times between submissions.
func TestSimulateOptions(t *testing.T) {
	trace := "; MaxProcs: 4\n1 0 0 100 4 -1 -1 4 60 -1 1 1 1 1 1 -1 -1 -1\n2 10 0 50 4 -1 -1 4 50 -1 1 2 1 1 1 -1 -1 " +
		"-1\n"
	if got := records(t, simulateCommand(t, trace, "--kill", "-").stdout); got[0].Runtime != 60 ||
		got[0].Status != swf.StatusFailed || got[1].Wait != 50 {
		t.Errorf("with --kill: %+v", got)
	}
	if got := records(t, simulateCommand(t, trace, "-").stdout); got[0].Runtime != 100 || got[1].Wait != 90 {
		t.Errorf("without: %+v", got)
	}
	if got := records(t, simulateCommand(t, smallTrace, "--load", "0.5", "-").stdout); got[1].Submit <= 10 {
		t.Errorf("at a smaller load the second job is submitted at %d", got[1].Submit)
	}
	if got := records(t, simulateCommand(t, smallTrace, "--clamp", "-").stdout); len(got) != 4 ||
		got[3].Allocated != 4 {
		t.Errorf("with --clamp: %+v", got)
	}
	r := simulateCommand(t, smallTrace, "--json", "-")
	var answer offline.Simulated
	if err := json.Unmarshal([]byte(r.stderr), &answer); err != nil {
		t.Fatalf("%v: %s", err, r.stderr)
	}
	if answer.Simulated != 3 || answer.BadLines.N != 1 || answer.Measures.All.Wait.Max != 90 ||
		answer.Policy != "easy" {
		t.Errorf("%+v", answer)
	}
}

// TestSimulateZipped proves that a compressed trace on standard input is read like a plain one.
func TestSimulateZipped(t *testing.T) {
	plain, packed := simulateCommand(t, smallTrace, "-"), simulateCommand(t, zipped(t, smallTrace), "-")
	if plain.stdout == "" || packed.stdout != plain.stdout || packed.code != plain.code {
		t.Errorf("plain %+v\npacked %+v", plain, packed)
	}
}

// TestSimulatePlot proves that the plot is well-formed SVG.
func TestSimulatePlot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.svg")
	if r := simulateCommand(t, smallTrace, "--plot", path, "-"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		XMLName xml.Name
	}
	if err := xml.Unmarshal(content, &svg); err != nil || svg.XMLName.Local != "svg" ||
		!strings.Contains(string(content), "<path") {
		t.Errorf("%v, %+v", err, svg)
	}
}

// TestSimulateErrors proves that impossible requests are refused with the exit codes in docs/command.md.
func TestSimulateErrors(t *testing.T) {
	for _, c := range []struct {
		trace string
		args  []string
		code  int
		part  string
	}{
		{smallTrace, []string{"--policy", "lottery", "-"}, exitUsage, "fcfs, easy, conservative, priority"},
		{smallTrace, []string{"--estimates", "guess", "-"}, exitUsage, "limits, actual, recent"},
		{smallTrace, []string{"--rules", "x", "-"}, exitUsage, "plain, pyss"},
		{smallTrace, []string{"--load", "-1", "-"}, exitUsage, "0 to 10"},
		{smallTrace, nil, exitUsage, "arg"},
		{"", []string{"-"}, exitFailed, "processors"},
		{"; MaxProcs: 4\n", []string{"-"}, exitFailed, "no job that can be simulated"},
		{"no workload\n", []string{"-"}, exitFailed,
			"is it in the Standard Workload Format? (waitcast convert"},
		{"", []string{"/no/such/file.swf"}, exitFailed, "/no/such/file.swf"},
	} {
		r := simulateCommand(t, c.trace, c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.part) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", c.args, r.code, r.stderr, c.code, c.part)
		}
	}
}

// TestSimulateAsPyss proves that with the rules of pyss every job of KTH-SP2 starts at the same time as in pyss.
func TestSimulateAsPyss(t *testing.T) {
	trace := refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	for _, policy := range []string{"fcfs", "easy", "conservative"} {
		want := map[int64]int64{}
		for _, row := range reference(t, refdata.Shared(t, "reference/kth-sp2-"+policy+".csv.gz")) {
			id, _ := strconv.ParseInt(row[0], 10, 64)
			want[id], _ = strconv.ParseInt(row[2], 10, 64)
		}
		r := simulateCommand(t, "", "--policy", policy, "--rules", "pyss", "--procs", "100", trace)
		different := 0
		got := records(t, r.stdout)
		for _, rec := range got {
			if rec.Submit+rec.Wait != want[rec.ID] {
				different++
			}
		}
		if different > 0 || len(got) != len(want) || len(got) != 28476 {
			t.Errorf("%s: %d of %d starts differ, the reference has %d", policy, different, len(got), len(want))
		}
	}
}

func reference(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(unpacked).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}
