package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
)

// TestGenerateSet proves that the mixed model in the program of Lublin and Feitelson has its two queues, in order of
// submission, on the requested machine. The header states how the workload was made.
func TestGenerateSet(t *testing.T) {
	h, jobs := read(t, succeed(t, "", "generate", "--set", "lublin99-mixed", "--procs", "32", "--jobs", "3000",
		"--seed", "4").stdout)
	const note = "; Note: made by waitcast generate: model lublin, set lublin99-mixed, 32 processors, 3000 jobs, seed 4"
	if len(h.Lines) != 1 || h.Lines[0] != note || h.MaxProcs != 32 || h.Queues[0] != "interactive" ||
		h.Start().Weekday() != time.Monday {
		t.Errorf("%+v", h)
	}
	queues := map[int64]int{}
	for i, j := range jobs {
		if j.ID != int64(i+1) || j.Procs() < 1 || j.Procs() > 32 || j.Runtime < 1 ||
			i > 0 && j.Submit < jobs[i-1].Submit {
			t.Fatalf("job %d: %+v", i, j)
		}
		queues[j.Queue]++
	}
	if len(jobs) != 3000 || queues[0] < 300 || queues[1] < 300 || queues[0]+queues[1] != 3000 {
		t.Errorf("%d jobs, queues %v", len(jobs), queues)
	}
}

// TestGenerateFromATrace proves that Markov and uniform-log jobs have about the mean size and the mean runtime of the
// trace's jobs. If requested, they have the recorded submission times, and end with the last of these. No job is larger
// than the machine.
func TestGenerateFromATrace(t *testing.T) {
	text := inhabited(t)
	_, original := read(t, text)
	for _, model := range []string{"markov", "uniformlog"} {
		r := succeed(t, text, "generate", "--model", model, "--from", "-", "--arrivals", "recorded", "--jobs",
			"1000000", "--seed", "1")
		h, jobs := read(t, r.stdout)
		if len(jobs) != len(original) || !strings.Contains(r.stderr, "jobs only: the recorded arrivals end there") ||
			h.MaxProcs != 64 {
			t.Fatalf("%s: %d jobs of %d; %s", model, len(jobs), len(original), r.stderr)
		}
		var sizes, runtimes [2]float64
		queues := map[int64]int{}
		for i := range jobs {
			if jobs[i].Submit != original[i].Submit || jobs[i].Procs() < 1 || jobs[i].Procs() > 64 ||
				jobs[i].Runtime > 5010 {
				t.Fatalf("%s, job %d: %+v", model, i, jobs[i])
			}
			sizes[0] += float64(original[i].Procs())
			sizes[1] += float64(jobs[i].Procs())
			runtimes[0] += float64(original[i].Runtime)
			runtimes[1] += float64(jobs[i].Runtime)
			queues[jobs[i].Queue]++
		}
		// Both models are rough. The chains have powers of two as states: the worst squashed area in the paper is wrong
		// by 38 %. The uniform-log law is a straight line over ln t.
		closeTo(t, model+": mean size as a share", sizes[1]/sizes[0], 1, .38)
		closeTo(t, model+": mean runtime as a share", runtimes[1]/runtimes[0], 1, .5)
		if model == "uniformlog" {
			closeTo(t, "share of queue short", float64(queues[1])/float64(len(jobs)), .5, .05)
		}
	}
	_, jobs := read(t, succeed(t, text, "generate", "--model", "markov", "--from", "-", "--procs", "4", "--jobs", "500",
		"--seed", "1").stdout)
	for _, j := range jobs {
		if j.Procs() > 4 {
			t.Fatalf("%+v is larger than the machine", j)
		}
	}
}

// TestGenerateLikeKTH proves that jobs generated like KTH's have the log's load: the same work per job and the same
// number of jobs per day.
func TestGenerateLikeKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	kth := refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	_, jobs := read(t, succeed(t, "", "generate", "--from", kth, "--jobs", "50000", "--seed", "1").stdout)
	last := jobs[len(jobs)-1].Submit
	const recordedDays, recordedJobs = 332.8, 28476 // days from the log's first submission to its last, and its jobs
	closeTo(t, "jobs a day as a share", float64(len(jobs))/float64(last)*86400/(recordedJobs/recordedDays), 1, .1)
	serial := 0
	for _, j := range jobs {
		if j.Procs() == 1 {
			serial++
		}
	}
	closeTo(t, "share of serial jobs", float64(serial)/float64(len(jobs)), .329, .01) // 9,370 of 28,475
}

// BenchmarkGenerate draws and writes jobs with the parameters of the program of Lublin and Feitelson.
func BenchmarkGenerate(b *testing.B) {
	a := &offline.Commands{Console: &console.Console{Stdout: io.Discard, Stderr: io.Discard}}
	f := offline.GenerateFlags{Model: offline.ModelLublin, Set: "lublin99", Jobs: int64(b.N)}
	b.ResetTimer()
	if err := a.Generate(&f); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGenerateMarkov draws and writes jobs of Markov chains. It includes the fit.
func BenchmarkGenerateMarkov(b *testing.B) {
	a := &offline.Commands{Console: &console.Console{Stdout: io.Discard, Stderr: io.Discard}}
	f := offline.GenerateFlags{
		Model: offline.ModelMarkov, From: refdata.Shared(b, "traces/KTH-SP2-1996-2.1-cln.swf.gz"),
		Arrivals: offline.ArrivalsLublin, Jobs: int64(b.N),
	}
	b.ResetTimer()
	if err := a.Generate(&f); err != nil {
		b.Fatal(err)
	}
}

// TestGenerateFromTooFewJobs proves that a log with too few jobs for a model is refused. The message names the log,
// what is missing and an alternative, and the alternative works.
func TestGenerateFromTooFewJobs(t *testing.T) {
	var text strings.Builder
	for i := range 9 {
		fmt.Fprintf(&text, "%d %d -1 %d %d -1 -1 -1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n", i+1, 600*i, 100+i, 1<<(i%3))
	}
	log := filepath.Join(t.TempDir(), "nine.swf")
	if err := os.WriteFile(log, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"lublin":     "9 sizes: too few values (at least 20 needed); runtimes: ",
		"markov":     "too few values (at least 50 needed); take a longer log, or its own arrivals, with --arr",
		"uniformlog": "9 lifetimes: too few",
	} {
		r := runOn("", "generate", "--from", log, "--model", model, "--seed", "1")
		text := strings.Join(strings.Fields(r.stderr), " ")
		if r.code != exitFailed || strings.Contains(text, "fitted to") {
			t.Errorf("%s: code %d, %s", model, r.code, text)
		}
		for _, part := range []string{"nine.swf: 9 jobs (left out: none): " + model + ": ", want,
			"take a longer log, or ", "--arrivals recorded"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s; want %q", model, text, part)
			}
		}
	}
	alike := strings.Repeat("1 0 -1 600 4 -1 -1 -1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n", 60)
	r := runOn(alike, "generate", "--from", "-", "--model", "uniformlog", "--form", "paper", "--arrivals", "recorded")
	if text := strings.Join(strings.Fields(r.stderr), " "); r.code != exitFailed ||
		!strings.Contains(text, "lifetimes do not differ; of such a log take --model markov") {
		t.Errorf("jobs that run equally long: code %d, %s", r.code, text)
	}
	_, jobs := read(t, succeed(t, "", "generate", "--from", log, "--model", "markov", "--arrivals", "recorded").stdout)
	if len(jobs) != 9 {
		t.Errorf("%d jobs with recorded arrivals, want 9", len(jobs))
	}
}
