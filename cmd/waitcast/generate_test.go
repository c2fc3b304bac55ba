package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
)

// The authors' mixed model has its two queues, in order of submission, on the machine asked for, with the header that
// tells how it was made.
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

// Markov and uniform-log jobs have the sizes of the trace's jobs, and the recorded arrivals if asked to, with which
// they end.
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
		// Both models are rough: chains in powers of two (the paper's worst squashed area is off by 38 %), a straight
		// line over ln t.
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

// Jobs like KTH's offer its load: work for each job, and jobs a day.
func TestGenerateLikeKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	kth := refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	_, jobs := read(t, succeed(t, "", "generate", "--from", kth, "--jobs", "50000", "--seed", "1").stdout)
	last := jobs[len(jobs)-1].Submit
	const recordedDays, recordedJobs = 332.8, 28476 // first to last submit of the log, and its jobs
	closeTo(t, "jobs a day as a share", float64(len(jobs))/float64(last)*86400/(recordedJobs/recordedDays), 1, .1)
	serial := 0
	for _, j := range jobs {
		if j.Procs() == 1 {
			serial++
		}
	}
	closeTo(t, "share of serial jobs", float64(serial)/float64(len(jobs)), .329, .01) // 9,370 of 28,475
}

// BenchmarkGenerate draws and writes jobs of the authors' program.
func BenchmarkGenerate(b *testing.B) {
	a := &offline.Commands{Console: &console.Console{Stdout: io.Discard, Stderr: io.Discard}}
	f := offline.GenerateFlags{Model: offline.ModelLublin, Set: "lublin99", Jobs: int64(b.N)}
	b.ResetTimer()
	if err := a.Generate(&f); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGenerateMarkov does the same of Markov chains, their fit included.
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
