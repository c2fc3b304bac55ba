package main

import (
	"strings"
	"testing"

	"github.com/waitcast/waitcast/swf"
)

// offeredLoad returns the work of jobs divided by the work that 64 processors can do between the first submission and
// the last.
func offeredLoad(jobs []swf.Record) float64 {
	work := 0.0
	for i := range jobs {
		work += float64(jobs[i].Procs()) * float64(jobs[i].Runtime)
	}
	return work / float64(jobs[len(jobs)-1].Submit-jobs[0].Submit) / 64
}

// TestGenerateLoad proves that --load changes only the submissions of jobs, so that the jobs have the requested load,
// or that of the trace. The command prints the load, with a warning if it differs from the recorded one.
func TestGenerateLoad(t *testing.T) {
	text := inhabited(t)
	_, trace := read(t, text)
	params := save(t, "p.json", succeed(t, text, "fit", "-", "--model", "lublin", "--json", "--seed", "1").stdout)
	for _, from := range [][]string{
		{"--from", "-"}, {"--model", "markov", "--from", "-"}, {"--model", "markov", "--rules", "none", "--from", "-"},
		{"--model", "uniformlog", "--from", "-"}, {"--params", params},
	} {
		command := append([]string{"generate", "--jobs", "3000", "--seed", "1"}, from...)
		plain := succeed(t, text, command...)
		_, jobs := read(t, plain.stdout)
		for load, want := range map[string]float64{"0.5": .5, "3": 3, "same": offeredLoad(trace)} {
			r := succeed(t, text, append(command, "--load", load)...)
			_, scaled := read(t, r.stdout)
			closeTo(t, strings.Join(from, " ")+": load "+load, offeredLoad(scaled)/want, 1, .001)
			if len(scaled) != len(jobs) {
				t.Fatalf("%d jobs, %d without a load", len(scaled), len(jobs))
			}
			for i := range scaled {
				scaled[i].Submit = jobs[i].Submit
				if scaled[i] != jobs[i] {
					t.Fatalf("%v: job %d: %+v, without a load %+v", from, i, scaled[i], jobs[i])
				}
			}
			if !strings.Contains(r.stderr, "offered load") ||
				!strings.Contains(r.stderr, "processor hours a job (recorded") {
				t.Errorf("%v: told %s", from, r.stderr)
			}
		}
		off := offeredLoad(jobs)/offeredLoad(trace) - 1
		if warned := strings.Contains(plain.stderr, "--load same"); (off > .16 || off < -.16) && !warned {
			t.Errorf("%v: load %+.2f off: %s", from, off, plain.stderr)
		}
	}
}

// TestGenerateLoadRefused proves that --load needs the machine's size, and that --load same needs a trace.
func TestGenerateLoadRefused(t *testing.T) {
	one := "1 0 -1 10 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
	for want, args := range map[string][]string{
		"above 0":         {"--set", "lublin99", "--load", "0"},
		"with --set give": {"--set", "lublin99", "--load", "same"},
		"give --procs":    {"--from", "-", "--model", "markov", "--arrivals", "recorded", "--load", "1"},
		"--rules is":      {"--from", "-", "--model", "markov", "--rules", "some"},
		"model markov":    {"--from", "-", "--rules", "none"},
	} {
		r := runOn(one+strings.Replace(one, "1 0", "2 9", 1), append([]string{"generate"}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: exit %d, %s; want %q", args, r.code, r.stderr, want)
		}
	}
}

// TestGenerateLoadWithoutMachine proves that without the machine's size the load is still that of the trace, and that
// the command reports jobs larger than the given machine.
func TestGenerateLoadWithoutMachine(t *testing.T) {
	text := inhabited(t)
	_, trace := read(t, text)
	bare := strings.Replace(text, "MaxProcs", "Machine", 1)
	for _, model := range []string{"lublin", "markov", "uniformlog"} {
		command := []string{"generate", "--model", model, "--from", "-", "--load", "same", "--seed", "1"}
		_, jobs := read(t, succeed(t, bare, command...).stdout)
		closeTo(t, model+": load as a share", offeredLoad(jobs)/offeredLoad(trace), 1, .01)
		r := succeed(t, text, append(command, "--procs", "2")...)
		if !strings.Contains(r.stderr, "more processors than the machine") {
			t.Errorf("%s: told %s", model, r.stderr)
		}
	}
	idle := strings.Repeat("1 0 -1 10 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", 60)
	r := runOn(idle, "generate", "--model", "markov", "--arrivals", "recorded", "--from", "-", "--load", "same")
	expect(t, r, exitFailed, "the jobs of the trace offer no load")
}
