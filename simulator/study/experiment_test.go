package study

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
)

// small returns a trace on 4 processors with two long jobs, and one that fits beside the first if it is expected to be
// short.
func small() *swfload.Trace {
	return &swfload.Trace{Procs: 4, Jobs: []simulator.Job{
		{ID: 7, Submit: 100, Procs: 3, Runtime: 100, Estimate: 100, Limit: 100, User: 1},
		{ID: 7, Submit: 110, Procs: 4, Runtime: 50, Estimate: 50, Limit: 50, User: 2},
		{ID: 8, Submit: 120, Procs: 1, Runtime: 30, Estimate: 200, Limit: 200, User: 3},
	}}
}

// TestEstimates proves by hand that the estimates used by the policy decide which job overtakes, and that two jobs with
// one number are two jobs.
func TestEstimates(t *testing.T) {
	for _, c := range []struct {
		e    Experiment
		want []float64
	}{
		{Experiment{Policy: "easy"}, []float64{100, 200, 250}},
		{Experiment{Policy: "easy", Estimates: "actual"}, []float64{100, 200, 120}},
		{Experiment{Policy: "fcfs", Estimates: "actual"}, []float64{100, 200, 250}},
	} {
		trace := small()
		r, err := c.e.Simulate(trace)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, r.Start); d != "" {
			t.Errorf("%+v: starts (-want +got): %s", c.e, d)
		}
		if d := cmp.Diff(small().Jobs, trace.Jobs); d != "" {
			t.Errorf("the trace was changed: %s", d)
		}
	}
}

// TestRecentRuntimes proves that the estimate of a user's next job is the mean of the last two runtimes, at most the
// limit. Before the first runtime it is the limit.
func TestRecentRuntimes(t *testing.T) {
	r := newRecentRuntimes()
	next := &simulator.Job{User: 1, Limit: 100}
	var got []float64
	for _, runtime := range []float64{10, 30, 50, 400, 0} {
		got = append(got, r.estimate(next))
		r.ended(&simulator.Job{User: 1, Start: 5, End: 5 + runtime})
	}
	r.ended(&simulator.Job{User: 1, Start: 5, End: 5})
	got = append(got, r.estimate(next), r.estimate(&simulator.Job{User: 2}))
	if want := []float64{100, 10, 20, 40, 100, 1, math.Inf(1)}; !slices.Equal(got, want) {
		t.Errorf("estimates %v, want %v", got, want)
	}
}

// TestLoad proves that a load is reached by scaling the times between submissions, and that the waits follow.
func TestLoad(t *testing.T) {
	trace := small()
	offered := simulator.OfferedLoad(trace.Jobs, trace.Procs)
	r, err := (&Experiment{Policy: "fcfs", Load: offered / 100}).Simulate(trace)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{100, 1100, 2100}, r.Start); d != "" || math.Abs(r.Factor-100) > 1e-9 {
		t.Errorf("factor %v, starts (-want +got): %s", r.Factor, d)
	}
}

// TestCheck proves that impossible settings are refused by name.
func TestCheck(t *testing.T) {
	for _, e := range []Experiment{{Policy: "x"}, {Estimates: "x"}, {Load: -1}, {Load: math.NaN()}, {WarmUp: 1}} {
		_, err := e.Simulate(small())
		var option *OptionError
		if !errors.As(err, &option) || option.Allowed == "" {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
