package fastreplay

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
)

// trace returns a trace with the given number of jobs of 200 s, which start first come, first served on a machine of 4
// processors. They arrive in bursts, on average one every 60 s.
func trace(jobs int) *backtest.Trace {
	t := &backtest.Trace{Name: "made up", Procs: 4}
	var free [4]float64
	for i := range jobs {
		submit := float64(i/5) * 300
		k := i % 4
		start := math.Max(submit, free[k])
		free[k] = start + 200
		t.Jobs = append(t.Jobs, backtest.Job{Number: int64(i + 1), Submit: submit, Start: start, End: start + 200,
			Starts: true, Ends: true, Recorded: true, Request: engine.Request{User: "u", Procs: 1, Limit: 300}})
	}
	return t
}

// TestRun proves that a plan by which all jobs are followed in full gives the same losses as an exact replay, to the
// last bit, that another plan gives other losses, and that the first Cut jobs are not scored.
func TestRun(t *testing.T) {
	log := trace(900)
	exact, err := Run(log, Options{Exact: true, Cut: 600})
	if err != nil {
		t.Fatal(err)
	}
	for newest, same := range map[int]bool{600: true, 100: false} {
		r, err := Run(log, Options{Cut: 600, Follow: 200, Plan: engine.Replay{Newest: newest, Older: 100}})
		if err != nil {
			t.Fatal(err)
		}
		ratios, n := Ratios(r.Losses, exact.Losses)
		equal := true
		for _, x := range ratios {
			equal = equal && x == 1
		}
		if n != 200 || len(r.Losses) != 200 || len(exact.Losses) != 300 || r.Jobs != 600 || equal != same {
			t.Errorf("newest %d: ratios %v of %d jobs, %d and %d followed", newest, ratios, n, len(r.Losses),
				len(exact.Losses))
		}
	}
}

// TestRatios compares the ratios of the losses of two runs with ratios worked out by hand. Only jobs that both runs
// have scored count.
func TestRatios(t *testing.T) {
	a := [][]float64{{1, 1, 1, 1}, nil, {3, 5, 7, 2}, {9, 9, 9, 9}}
	b := [][]float64{{2, 2, 2, 2}, {8, 8, 8, 8}, {2, 4, 2, 4}}
	got, n := Ratios(a, b)
	for l, want := range []float64{1, 1, 2, .5} {
		if got[l] != want {
			t.Errorf("level %d: %v, want %v", l, got[l], want)
		}
	}
	if n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
}

// TestCopies proves that the copies of a trace are whole weeks apart, and that their jobs have the waits of the
// original.
func TestCopies(t *testing.T) {
	log := trace(50)
	c, err := Copies(log, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Jobs {
		j, of := &c.Jobs[i], &log.Jobs[i%50]
		if i > 0 && j.Submit < c.Jobs[i-1].Submit || j.Wait() != of.Wait() || j.End-j.Start != of.End-of.Start ||
			math.Mod(j.Submit-of.Submit, 7*86400) != 0 {
			t.Fatalf("job %d is %+v, copied from %+v", i, j, of)
		}
	}
	if len(c.Jobs) != 150 {
		t.Errorf("%d jobs, want 150", len(c.Jobs))
	}
	log.Jobs[3].Key = 7
	if _, err := Copies(log, 2); err == nil {
		t.Error("a job with a key was copied: the engine would know both by it")
	}
}
