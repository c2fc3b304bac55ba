package liveload

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/testports"
	"github.com/waitcast/waitcast/internal/testprogram"
	"github.com/waitcast/waitcast/job"
)

// needSlurm skips a test on a machine without Slurm, or if the test does not run as root.
func needSlurm(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("real Slurm: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Slurm: slurmd must be run by root")
	}
	for _, name := range []string{
		"slurmctld", "slurmd", "munged", "squeue", "slurmdbd", "sacct", "mariadbd", "mariadb-install-db", "mariadb",
	} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Slurm: %s is missing (make test-deps)", name)
		}
	}
}

// TestSlurmLoad starts a cluster of another size than the default with scripts/slurm-cluster. It proves that `liveload
// load` submits the load of a seed to this cluster, and that the cluster orders the jobs as configured.
func TestSlurmLoad(t *testing.T) {
	needSlurm(t)
	t.Parallel()                                // the test waits for jobs most of the time
	parent, err := os.MkdirTemp("", "liveload") // a short path, because the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil { //nolint:gosec // jobs of other users have their scripts there
		t.Fatal(err)
	}
	const script = "../../scripts/slurm-cluster"
	cluster := filepath.Join(parent, "c")
	t.Cleanup(func() {
		if out, err := exec.Command(script, "down", cluster).CombinedOutput(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
		_ = os.Remove(parent)
	})
	up := exec.Command(script, "up", cluster, "--nodes", "3", "--cpus", "2", "--priorities", "--port",
		strconv.Itoa(testports.Take(t, 5)))
	if out, err := up.CombinedOutput(); err != nil {
		t.Fatalf("starting Slurm: %v\n%s", err, out)
	}
	load := exec.Command("../../research/slurm-load", cluster, "--seed", "5", "--jobs", "6", "--longest", "2",
		"--test-only")
	out, err := load.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	slurm := Slurm{Conf: filepath.Join(cluster, "slurm.conf")}
	plan := mustPlan(t, 5, PlanOptions{Jobs: 6, Nodes: 3, CPUs: 2, Longest: 2})
	decoder := json.NewDecoder(bytes.NewReader(out))
	for i := range plan {
		var r Record
		if err := decoder.Decode(&r); err != nil {
			t.Fatalf("line %d: %v\n%s", i+1, err, out)
		}
		if r.ID == "" || r.Trouble != "" || r.TestOnly.Start.IsZero() || r.Job != plan[i] {
			t.Errorf("line %d: %+v, want %+v", i+1, r, plan[i])
		}
		got, err := slurm.run(t.Context(), "scontrol", "show", "job", r.ID)
		if want := "Partition=" + plan[i].Queue; err != nil || !strings.Contains(got, want) {
			t.Errorf("job %s: no %s in\n%s", r.ID, want, got)
		}
	}
	if decoder.More() {
		t.Errorf("more than %d lines:\n%s", len(plan), out)
	}
	for _, queue := range []string{"short 100", "medium 50", "long 10"} {
		name, factor, _ := strings.Cut(queue, " ")
		got, err := slurm.run(t.Context(), "scontrol", "show", "partition", name)
		if want := "PriorityJobFactor=" + factor; err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: no %s in\n%s", name, want, got)
		}
	}
}

// leastShortP95 is the minimum coverage of the p95 in TestShortLoad. It is low for three reasons: most of the 40 jobs
// come before the daemon can learn anything, many are in one queue and have similar waits, and other tests keep the
// machine busy. The targets for loads of full size are in research/docs/liveload.md.
const leastShortP95 = .3

// TestShortLoad runs a short load on a real Slurm with a daemon of its own, as `liveload run` does, and then replays
// it. It proves that the remains of an interrupted run are removed, that the daemon is asked about every job, that
// every job is submitted and recorded and is in sacct's records, that a finished load is skipped, and that a replay
// gives most answers again. The errors of the medians must be at most those of test-only or 2 s, and the p95 must cover
// at least the share leastShortP95.
func TestShortLoad(t *testing.T) {
	const seed, jobs = 3, 40
	o := shortLoad(t, seed, PlanOptions{Jobs: jobs, Nodes: 8, Longest: 8, Load: 1})
	out := &bytes.Buffer{}
	o.Out = out
	run := filepath.Join(o.Dir, "seed-3")
	if err := os.MkdirAll(run, 0o755); err != nil { //nolint:gosec // as Run does
		t.Fatal(err)
	}
	interrupted := Record{Seed: seed, ID: "of an interrupted run"}
	if err := appendLine(filepath.Join(run, recordsFile), &interrupted); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	l := checkRecorded(t, run, jobs)
	checkReplay(t, run, l)

	out.Reset()
	if err := Run(t.Context(), o); err != nil || !bytes.Contains(out.Bytes(), []byte("done already")) {
		t.Errorf("a load that is done was not skipped: %v\n%s", err, out)
	}
	if again, err := readLoad(run); err != nil || !cmp.Equal(l.ids, again.ids) {
		t.Errorf("it did not stay as it was: %v", err)
	}
}

// shortLoad returns the options of Run for a load of one seed, with a waitcastd that it builds. It skips the test on a
// machine without Slurm.
func shortLoad(t *testing.T, seed uint64, plan PlanOptions) Options {
	t.Helper()
	needSlurm(t)
	t.Parallel() // the test waits for jobs most of the time
	return Options{
		Settings: Settings{Plan: plan}, Dir: t.TempDir(), Seeds: []uint64{seed}, Clusters: 1,
		Port: testports.Take(t, plan.Nodes+2), Daemon: testprogram.Build(t, "../../cmd/daemon"),
		ClusterScript: "../../scripts/slurm-cluster",
	}
}

// TestShortBindingLoad runs a short binding load on a real Slurm whose controller runs as the user slurm. The cluster
// has GPUs, memory, limits, preemption and reservations. The test proves that Slurm accepts every job, that every job
// starts or is cancelled as planned, that the reasons of waits are recorded, among them limits, and that a replay gives
// most answers again.
func TestShortBindingLoad(t *testing.T) {
	const seed, jobs = 3, 40
	o := shortLoad(t, seed, PlanOptions{Binding: true, Jobs: jobs, Nodes: 8, Longest: 8, Load: 1})
	out := &bytes.Buffer{}
	o.Out = out
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := filepath.Join(o.Dir, "seed-3")
	records, fates, err := readRun(run)
	if err != nil || len(records) != jobs || len(fates) != jobs {
		t.Fatalf("%d records and %d fates, want %d: %v", len(records), len(fates), jobs, err)
	}
	for i := range records {
		r := &records[i]
		if f := fates[r.ID]; r.Trouble != "" || r.Answer.Refusal != "" || f.Start.IsZero() && r.Cancel == 0 {
			t.Errorf("job %q: %s, answer %q, %+v", r.ID, r.Trouble, r.Answer.Refusal, f)
		}
	}
	stretches, err := readLines[Stretch](filepath.Join(run, reasonsFile))
	limited := 0
	for _, s := range stretches {
		if job.CauseOf(s.Reason) == job.LimitReached {
			limited++
		}
	}
	if err != nil || limited == 0 {
		t.Errorf("no limit kept a job: %v\n%+v", err, stretches)
	}
	l, err := readLoad(run)
	if err != nil {
		t.Fatal(err)
	}
	text := &bytes.Buffer{}
	report(text, []*load{l})
	t.Logf("\n%s", text)
	if !bytes.Contains(text.Bytes(), []byte("class of the reason predicted")) {
		t.Error("the report is not that of a binding load")
	}
	checkReplay(t, run, l)
}

// checkRecorded checks the records in the folder of a run, and returns the recorded load.
func checkRecorded(t *testing.T, run string, jobs int) *load {
	t.Helper()
	records, fates, err := readRun(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != jobs || len(fates) != jobs {
		t.Fatalf("%d records and %d fates, want %d: the interrupted run must have left none", len(records),
			len(fates), jobs)
	}
	for i := range records {
		r := &records[i]
		f := fates[r.ID]
		if r.Trouble != "" || r.Answer.Refusal != "" || r.TestOnly.Start.IsZero() || f.State != "COMPLETED" {
			t.Errorf("job %q: %s, answer %q, test-only %q, %+v", r.ID, r.Trouble, r.Answer.Refusal, r.TestOnly.Text, f)
		}
		// Slurm's clock counts whole seconds, and a submission may have to wait for the controller.
		if d := f.Submit.Sub(r.Submitted).Seconds(); d < -1 || d > 10 || r.Answer.Asked.After(r.Submitted) {
			t.Errorf("job %q: asked at %v, submitted at %v and by sacct at %v", r.ID, r.Answer.Asked, r.Submitted,
				f.Submit)
		}
	}
	l, err := readLoad(run)
	if err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	report(out, []*load{l})
	t.Logf("\n%s", out)
	f := Judge(l.cases)
	if f.Answered != jobs || f.Compared != jobs {
		t.Errorf("%d answers and %d of test-only, want %d of both", f.Answered, f.Compared, jobs)
	}
	if !(f.UpTo[5] >= leastShortP95) {
		t.Errorf("p95 covers %.3f, want at least %g", f.UpTo[5], leastShortP95)
	}
	if !(f.ErrorThere <= max(f.TestOnly, 2)) {
		t.Errorf("off by %.1f s in the median, want at most test-only's %.1f s (or 2 s)", f.ErrorThere, f.TestOnly)
	}
	return l
}

// checkReplay replays the journal of a run with the same program, and checks that at least three quarters of the
// answers are the same. An answer may differ if the daemon read a record between the request and the submission.
func checkReplay(t *testing.T, run string, l *load) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "seed-3")
	if err := Replay(t.Context(), run, to); err != nil {
		t.Fatal(err)
	}
	replayed, err := readLoad(to)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := range l.cases {
		if cmp.Equal(l.cases[i].Quantiles, replayed.cases[i].Quantiles) {
			same++
		}
	}
	if same < len(l.cases)*3/4 {
		t.Errorf("the replay gave %d of %d answers again, want at least three quarters", same, len(l.cases))
	}
	out := &bytes.Buffer{}
	if err := Score(t.Context(), out, "", []string{to}, true); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte("recent")) || bytes.HasPrefix(out.Bytes(), []byte("ledger: 0 forecasts")) {
		t.Errorf("the replay's ledger has no forecasts:\n%s", out)
	}
}
