package liveload

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/internal/testports"
	"github.com/waitcast/waitcast/internal/testprogram"
)

// TestShortDayOne records two short days on a real Slurm with three daemons, and then replays them. One daemon follows
// both days, one imports sacct's records of the first day, and one starts on the second day without history. The test
// proves that all three answer for the same jobs, and that of the two late daemons the one with the import has more
// forecasts of the first day's jobs in its ledger. research/docs/dayone.md says how much the import improves forecasts.
func TestShortDayOne(t *testing.T) {
	needSlurm(t)
	t.Parallel() // the test waits for jobs most of the time
	const nodes = 3
	dir := t.TempDir()
	o := DayOneOptions{Days: 1, Client: testprogram.Build(t, "../../cmd/waitcast"), Options: Options{
		Dir: dir, Seeds: []uint64{4}, Port: testports.Take(t, nodes+2),
		Daemon: testprogram.Build(t, "../../cmd/daemon"), ClusterScript: "../../scripts/slurm-cluster",
		Settings: Settings{Plan: PlanOptions{Jobs: 15, Nodes: nodes, CPUs: 2, Longest: 3}},
	}}
	log := &bytes.Buffer{}
	o.Out = log
	if err := DayOne(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	seed := filepath.Join(dir, "seed-4")
	before, err := readLines[Record](filepath.Join(seed, recordsFile))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{} // the IDs of the jobs of the first day
	for i := range before {
		known[before[i].ID] = true
	}
	checkDump(t, filepath.Join(seed, historyFile), known)
	replayed := filepath.Join(t.TempDir(), "seed-4")
	if err := ReplayDayOne(t.Context(), seed, replayed); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{seed, replayed} {
		checkDayOne(t, dir, o.Plan.Jobs, known)
		for _, ledger := range []bool{false, true} {
			out := &bytes.Buffer{}
			if err := CompareDayOne(t.Context(), out, []string{dir}, ledger); err != nil {
				t.Error(err)
			}
			t.Logf("%s, ledger %v:\n%s", dir, ledger, out)
		}
	}
}

// checkDump checks that a dump of sacct has only jobs of the first day, and at least one.
func checkDump(t *testing.T, path string, known map[string]bool) {
	t.Helper()
	dump, err := os.ReadFile(path) //nolint:gosec // the test's
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(dump)), "\n")
	if lines[0] != strings.ReplaceAll(slurm.SacctColumns, ",", "|") || len(lines) < 2 {
		t.Fatalf("the dump of sacct:\n%s", dump)
	}
	for _, line := range lines[1:] {
		if id := strings.Split(line, "|")[1]; !known[id] {
			t.Errorf("job %s is not of the first day: %s", id, line)
		}
	}
}

// checkDayOne checks that all daemons of a seed have answered for the same jobs, and that the daemon with the imported
// history has more ledger rows of the first day's jobs than the daemon without.
func checkDayOne(t *testing.T, seed string, jobs int, known map[string]bool) {
	t.Helper()
	forecasts := map[string]int{} // number of forecasts of the first day's jobs, by daemon
	for _, name := range []string{followedDir, taughtDir, freshDir} {
		records, fates, err := readRun(filepath.Join(seed, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != jobs || len(fates) != jobs+len(known) {
			t.Errorf("%s: %d records and %d fates, want %d and %d", name, len(records), len(fates), jobs,
				jobs+len(known))
		}
		for i := range records {
			if r := &records[i]; r.Trouble != "" || r.Answer.Refusal != "" || known[r.ID] {
				t.Errorf("%s: job %q: %s, answer %q", name, r.ID, r.Trouble, r.Answer.Refusal)
			}
		}
		rows, err := readLedger(t.Context(), filepath.Join(seed, name, databaseFile))
		if err != nil {
			t.Fatal(err)
		}
		for id := range rows {
			if known[id] {
				forecasts[name]++
			}
		}
	}
	if forecasts[followedDir] < forecasts[taughtDir] || forecasts[taughtDir] < len(known)/2 ||
		forecasts[freshDir] >= forecasts[taughtDir] {
		t.Errorf("forecasts of the first day's %d jobs: %v", len(known), forecasts)
	}
}
