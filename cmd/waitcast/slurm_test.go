package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/testports"
)

// startSlurm starts a real Slurm on this machine, for this test and the commands that it runs. If that is impossible,
// it skips the test with the reason.
func startSlurm(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("real Slurm: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Slurm: slurmd must be run by root")
	}
	for _, name := range []string{"slurmctld", "slurmd", "munged", "sbatch", "squeue"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Slurm: %s is missing (make test-deps)", name)
		}
	}
	parent, err := os.MkdirTemp("", "slurm") // a short path, because the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "c")
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "slurmctld.log"))
			t.Logf("slurmctld.log:\n%s", log[max(0, len(log)-20_000):])
		}
		if out, err := exec.Command("../../scripts/slurm-cluster", "down", dir).CombinedOutput(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
		_ = os.RemoveAll(parent)
	})
	up := exec.CommandContext(t.Context(), "../../scripts/slurm-cluster", "up", dir, "--nodes", "2", "--cpus", "2",
		"--port", strconv.Itoa(testports.Take(t, 4)))
	if out, err := up.CombinedOutput(); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "slurmctld.log")) // the file may not exist
		if strings.Contains(string(log), "getaddrinfo() failed") {
			t.Skip("real Slurm: it resolves even 127.0.0.1 only where there is a network")
		}
		t.Fatalf("starting Slurm: %v\n%s", err, out)
	}
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	t.Setenv(asMain, "1") // the tasks run this test binary
}

// TestStudyOnSlurm proves on a real Slurm that the gathered results are, byte for byte, those of a local run. The
// command names missing parts. Only those are submitted again, and only by the same command. If an array is still in
// the queue, the command waits for it.
func TestStudyOnSlurm(t *testing.T) {
	startSlurm(t)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // as t.TempDir does it elsewhere
		t.Fatal(err)
	}
	trace, local, out := queuedTrace(t, dir, 200), filepath.Join(dir, "local.csv"), filepath.Join(dir, "it's out.csv")
	expect(t, runWith("", append(shakenStudy(trace), "--out", local)...), 0)
	args := append(shakenStudy(trace), "--out", out, "--slurm", "--slurm-parts", "4", "--slurm-at-once", "2",
		"--slurm-option=--partition=short")

	// sbatch takes the last of two --array options, so parts 2 and 3 are lost.
	r := runWith("", append(args, "--slurm-option=--array=0-1")...)
	expect(t, r, 1, "submitted parts 0-3 of 4 as Slurm job", "of 4 parts these are missing: 2-3", "part-2-of-4.log")
	if _, err := os.Stat(out); err == nil {
		t.Error("there are results, though parts are missing")
	}
	// The same command submits the missing parts, which are held. An interrupted command leaves them in the queue.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	held := exec.CommandContext(t.Context(), self, append(args, "--slurm-option=--hold")...)
	errs, err := held.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Start(); err != nil {
		t.Fatal(err)
	}
	var job string
	said := make([]byte, 0, 4096)
	for buffer := make([]byte, 512); job == ""; {
		n, err := errs.Read(buffer)
		said = append(said, buffer[:n]...)
		if _, after, ok := strings.Cut(string(said), "submitted parts 2-3 of 4 as Slurm job "); ok &&
			strings.Contains(after, "\n") {
			job, _, _ = strings.Cut(after, "\n")
		} else if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	awaitFile(t, filepath.Join(out+".parts", "array.json"), job)
	if err := held.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = held.Wait() // the test checks the exit code
	if code := held.ProcessState.ExitCode(); code != 1 {
		t.Errorf("interrupted: exit code %d", code)
	}
	if released, err := exec.CommandContext(t.Context(), "scontrol", "release", job).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, released)
	}
	r = runWith("", args...)
	expect(t, r, 0)
	if strings.Contains(r.stderr, "submitted parts") {
		t.Errorf("parts were submitted that were in the queue already:\n%s", r.stderr)
	}
	if content(t, out) != content(t, local) {
		t.Errorf("gathered:\n%s\nlocal:\n%s", content(t, out), content(t, local))
	}
	if strings.Count(r.stdout, "\n") != 5 {
		t.Errorf("the summary is missing: %q", r.stdout)
	}
}

// awaitFile waits until a file contains a text.
func awaitFile(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if got, _ := os.ReadFile(path); strings.Contains(string(got), text) { // the file may not exist yet
			return
		}
	}
	t.Fatalf("%s never had %q", path, text)
}
