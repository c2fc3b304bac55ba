package downey_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/research/papers/downey"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// TestTable6 compares the correlations of Downey's methods with his Table 6. As in his section 6, the parameters are
// those of 1995, without a new fit, and the batch jobs of the Paragon from 1 January to 15 May 1996 run strictly first
// come, first served on 368 processors. His correlations for A, B and their combination are .56, .50 and .58. They must
// be correlations of logarithms. An independent program, with logarithms and the log of the archive, got .54, .52 and
// .56.
func TestTable6(t *testing.T) {
	f, err := swf.Open(refdata.Shared(t, "traces/SDSC-Par-1996-3.1-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var records []swf.Record
	var r swf.Record
	for f.Next(&r) == nil {
		records = append(records, r)
	}
	jobs, laws, err := downey.Batch1996(f.Header(), records)
	if err != nil {
		t.Fatal(err)
	}
	pairs := downey.AtHead(jobs, laws, downey.Procs)
	for name, want := range map[string][2]float64{
		headqueue.NameA: {.56, .54}, headqueue.NameB: {.50, .52}, headqueue.NameCombined: {.58, .56},
	} {
		got := stat.Correlation(pairs[name].Forecast, pairs[name].Wait, nil)
		t.Logf("%s: %.3f of %d, paper %.2f, independent %.2f", name, got, len(pairs[name].Wait), want[0], want[1])
		if math.Abs(got-want[0]) > .05 || math.Abs(got-want[1]) > .01 {
			t.Errorf("%s: %.3f, want the paper's %.2f within .05 and the independent run's %.2f within .01", name, got,
				want[0], want[1])
		}
	}
}

// TestAtHeadOfOne covers a job that waits at the head for the end of one other job, which has the age a. It proves that
// the forecast of predictor A is the median of the other job's residual lifetime, sqrt(tmax a) - a. The first job, and
// a job that starts at once, have no forecast.
func TestAtHeadOfOne(t *testing.T) {
	law := uniformlog.Model{B0: -.183, B1: .104}
	jobs := []simulator.Job{
		{ID: 0, Submit: 0, Start: 0, End: 100, Procs: 6},
		{ID: 1, Submit: 10, Start: 10, End: 500, Procs: 2}, // fits beside the first
		{ID: 2, Submit: 20, Start: 100, End: 200, Procs: 6},
	}
	laws := map[int64]headqueue.Lifetime{0: law, 1: uniformlog.Model{B0: -.50, B1: .14}, 2: law}
	got := downey.AtHead(jobs, laws, 8)[headqueue.NameA]
	if len(got.Forecast) != 1 || len(got.Wait) != 1 {
		t.Fatalf("%d forecasts and %d waits, want one", len(got.Forecast), len(got.Wait))
	}
	median := math.Sqrt(law.TMax()*20) - 20
	if math.Abs(got.Forecast[0]-math.Log(median)) > headqueue.RelTolerance || got.Wait[0] != math.Log(80) {
		t.Errorf("forecast e^%v s before a wait of e^%v s, want %v and 80 s", got.Forecast[0], got.Wait[0], median)
	}
}

// TestClass proves that the classes of jobs follow from the names of the queues in the log, and that an unknown queue
// is a class of its own.
func TestClass(t *testing.T) {
	for _, c := range []struct {
		queue string
		procs int64
		want  string
	}{
		{"q32s", 32, "short"}, {"q8m", 8, "medium"}, {"q256l", 100, "long"}, {"q1l", 1, "sequential"},
		{"interactive", 1, "interactive"}, {"standby", 1, "standby"}, {"q4t", 4, "q4t"}, {"", 4, ""},
	} {
		if got := downey.Class(c.queue, c.procs); got != c.want {
			t.Errorf("class of %d processors in %q is %q, want %q", c.procs, c.queue, got, c.want)
		}
	}
}

// TestHeads proves that a job that lacks 5 processors has one benefactor if only one of the two running jobs holds at
// least 5 processors.
func TestHeads(t *testing.T) {
	jobs := []simulator.Job{
		{ID: 0, Submit: 0, Start: 0, End: 100, Procs: 5},
		{ID: 1, Submit: 10, Start: 10, End: 500, Procs: 2},
		{ID: 2, Submit: 20, Start: 100, End: 200, Procs: 6},
	}
	missing, benefactors := downey.Heads(jobs, 8)
	if !slices.Equal(missing, []float64{5}) || !slices.Equal(benefactors, []float64{1}) {
		t.Errorf("missing %v, benefactors %v", missing, benefactors)
	}
}

// TestParagon1996 compares fits of Downey's classes on the Paragon's log of the next year, all jobs with runtime > 0.
// An independent fit, with the empirical cdf at the middle of its steps, gave these b0, b1 and R2. Ours are within .01.
func TestParagon1996(t *testing.T) {
	f, err := swf.Open(refdata.Shared(t, "traces/SDSC-Par-1996-3.1-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lifetimes := map[string][]float64{}
	var r swf.Record
	for f.Next(&r) == nil {
		if r.Runtime > 0 {
			c := downey.Class(f.Header().QueueName(&r), r.Allocated)
			lifetimes[c] = append(lifetimes[c], float64(r.Runtime))
		}
	}
	for class, want := range map[string]uniformlog.Fit{
		"short":       {Model: uniformlog.Model{B0: -.569, B1: .222}, R2: .971},
		"long":        {Model: uniformlog.Model{B0: -.408, B1: .103}, R2: .728},
		"interactive": {Model: uniformlog.Model{B0: -.082, B1: .193}, R2: .948},
		"sequential":  {Model: uniformlog.Model{B0: -.608, B1: .137}, R2: .940},
	} {
		fit, err := uniformlog.FitValues(lifetimes[class])
		if err != nil {
			t.Fatal(class, ": ", err)
		}
		m := fit.Midpoint()
		t.Logf("%s: %.4f %.4f %.4f of %d", class, m.B0, m.B1, fit.R2, fit.N)
		if math.Abs(m.B0-want.B0) > .01 || math.Abs(m.B1-want.B1) > .01 || math.Abs(fit.R2-want.R2) > .01 {
			t.Errorf("%s: %.4f %.4f %.4f, want %v within .01", class, m.B0, m.B1, fit.R2, want)
		}
	}
}
