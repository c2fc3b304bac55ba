package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/simulator/study"
)

// queuedTrace writes a trace of n random jobs on 32 processors and returns its path.
func queuedTrace(t *testing.T, dir string, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 12))
	var text strings.Builder
	text.WriteString("; MaxProcs: 32\n")
	at := 0
	for i := range n {
		at += rng.IntN(400)
		procs, runtime := 1+rng.IntN(16), 1+rng.IntN(2000)
		fmt.Fprintf(&text, "%d %d -1 %d %d -1 -1 %d %d -1 1 %d -1 -1 1 -1 -1 -1\n", i+1, at, runtime, procs, procs,
			runtime+rng.IntN(4000), rng.IntN(7))
	}
	path := filepath.Join(dir, "it's a trace.swf")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shakenStudy returns the flags of a study of 2 x 2 x (1 + 2 x 2) = 20 runs, without --out.
func shakenStudy(trace string) []string {
	return []string{"study", trace, "--policy", "easy,conservative", "--load", "0.7:0.8:0.1", "--shakes", "2",
		"--seeds", "1:2", "--shake-fraction", "0.5"}
}

// TestStudy proves that a study writes its runs as CSV and prints their summary. A second call finds every run done.
func TestStudy(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.csv")
	args := append(shakenStudy(queuedTrace(t, dir, 200)), "--out", out)
	r := runWith("", append(args, "--json", "--workers", "3")...)
	expect(t, r, 0, "200 of 200 records on 32 processors")
	var summary struct{ Groups []study.Group }
	if err := json.Unmarshal([]byte(r.stdout), &summary); err != nil || len(summary.Groups) != 4 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	for i, g := range summary.Groups {
		policy, load := []string{"easy", "easy", "conservative", "conservative"}[i], []float64{.7, .8, .7, .8}[i]
		if g.Policy != policy || g.Load != load || g.Shaken == nil || g.Shaken.Wait.Runs != 4 ||
			g.Shaken.Wait.Original != g.MeanWait {
			t.Errorf("group %d: %+v", i, g)
		}
	}
	text := content(t, out)
	if lines := strings.Split(text, "\n"); len(lines) != 22 || lines[0] != strings.Join(study.Columns(), ",") {
		t.Errorf("%d lines, first %s", len(lines), lines[0])
	}
	again := runWith("", args...)
	expect(t, again, 0)
	if rows := strings.Count(again.stdout, "\n"); rows != 5 || !strings.Contains(again.stdout, "within 1 %") ||
		content(t, out) != text {
		t.Errorf("the second time:\n%s", again.stdout)
	}
	expect(t, runWith("", append(args, "--kill")...), 1, out+" has the results of another study")
}

// TestStudyCurves proves that the curves of a study go to separate files, even if all runs exist already, and that the
// table gives their roughness.
func TestStudyCurves(t *testing.T) {
	dir := t.TempDir()
	points, plot := filepath.Join(dir, "points.csv"), filepath.Join(dir, "plot.svg")
	args := []string{"study", queuedTrace(t, dir, 200), "--load", "0.7:0.9:0.05", "--shakes", "3", "--out",
		filepath.Join(dir, "out.csv")}
	expect(t, runWith("", args...), 0, "20 runs in ", "jobs a second")
	r := runWith("", append(args, "--points", points, "--plot", plot)...)
	expect(t, r, 0)
	if strings.Contains(r.stderr, "jobs a second") || !strings.Contains(r.stdout, "the mean of 3 shaken copies by ") {
		t.Errorf("the second time:\n%s%s", r.stdout, r.stderr)
	}
	lines := strings.Split(strings.TrimSpace(content(t, points)), "\n")
	if len(lines) != 6 || lines[0] != strings.Join(study.PointColumns(), ",") ||
		!strings.HasPrefix(lines[1], "easy,limits,0.7,0.7,") {
		t.Errorf("points:\n%s", strings.Join(lines, "\n"))
	}
	if svg := content(t, plot); !strings.Contains(svg, "<svg") || !strings.Contains(svg, "mean of shaken copies") {
		t.Errorf("plot:\n%s", svg)
	}
	expect(t, runWith("", append(args, "--points", dir)...), 1, dir)
	expect(t, runWith("", append(args, "--part", "0/2", "--plot", plot)...), 2, "--plot go not with --part")
}

// TestStudyIsInterrupted proves that after Ctrl-C the same command continues from the results in the file.
func TestStudyIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	trace, out := queuedTrace(t, dir, 400), filepath.Join(dir, "out.csv")
	args := []string{"study", trace, "--policy", "conservative", "--shakes", "3000", "--workers", "1", "--out", out}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, args...)
	command.Env = append(os.Environ(), asMain+"=1")
	var stderr strings.Builder
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, out, "\n")
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // the test checks the exit code
	lines := strings.Count(content(t, out), "\n")
	if code := command.ProcessState.ExitCode(); code != 1 ||
		!strings.Contains(stderr.String(), fmt.Sprintf("%s has %d of 3001 runs", out, lines-1)) {
		t.Fatalf("exit code %d, %d lines, stderr:\n%s", code, lines, stderr.String())
	}
}

// TestStudyRefuses proves that impossible requests are refused before anything is written.
func TestStudyRefuses(t *testing.T) {
	dir := t.TempDir()
	trace, out := queuedTrace(t, dir, 5), filepath.Join(dir, "out.csv")
	for problem, args := range map[string][]string{
		"policy":                       {"--policy", "lottery"},
		"--load: \"0.5:0.4:0.1\"":      {"--load", "0.5:0.4:0.1"},
		"--load: \"x\"":                {"--load", "x"},
		"--seeds needs --shakes":       {"--seeds", "1:3"},
		"--seeds: \"3:1\"":             {"--seeds", "3:1", "--shakes", "1"},
		"--shake-attribute":            {"--shake-attribute", "color", "--shakes", "1"},
		"--shake-degree":               {"--shake-degree", "much", "--shakes", "1"},
		"fraction":                     {"--shake-fraction", "2", "--shakes", "1"},
		"--part is \"2/2\"":            {"--part", "2/2"},
		"--rules is \"fair\"":          {"--rules", "fair"},
		"--slurm goes neither":         {"--slurm", "--part", "0/2"},
		"--workers":                    {"--workers", "-1"},
		"parts: \"3\" is not known":    {"--slurm", "--slurm-parts", "3"},
		"required flag(s) \"out\" not": nil,
	} {
		command := append([]string{"study", trace}, args...)
		if args != nil {
			command = append(command, "--out", out)
		}
		expect(t, runWith("", command...), 2, problem)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a file of results")
	}
}

// TestRanges proves that ranges include both ends, and have the numbers that a person would write.
func TestRanges(t *testing.T) {
	loads, err := offline.ParseLoads("0,0.55:0.6:0.01,1.2")
	if d := cmp.Diff([]float64{0, .55, .56, .57, .58, .59, .6, 1.2}, loads); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if loads, err := offline.ParseLoads("0.5:0.95:0.01"); err != nil || len(loads) != 46 {
		t.Errorf("%d loads, %v", len(loads), err)
	}
	seeds, err := offline.ParseSeeds("7,1:3")
	if d := cmp.Diff([]uint64{7, 1, 2, 3}, seeds); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if seeds, err := offline.ParseSeeds("18446744073709551615:18446744073709551615"); err != nil || len(seeds) != 1 {
		t.Errorf("%v, %v", seeds, err)
	}
}
