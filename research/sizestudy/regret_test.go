package sizestudy

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/moldable"
)

// TestRegretsAreOfTheRun proves that regrets are about the sizes that were chosen in the run: if a simulator gives jobs
// these sizes, their turnarounds are the reported ones. The best size is never worse than the chosen one.
func TestRegretsAreOfTheRun(t *testing.T) {
	w := stretch(t, 1500, .8, 5)
	regrets := must(w.Regrets(5, nil))(t)
	sizes := map[int64]int{}
	for _, g := range regrets {
		sizes[g.ID] = g.Chosen
	}
	turnaround := make([]float64, len(w.Jobs))
	s := must(simulator.New(simulator.Config{
		Procs: w.Procs, Policy: new(simulator.EASY), Arrivals: simulator.FromSlice(w.Jobs),
		Mold: &simulator.Mold{When: simulator.AtHead, Choose: func(_ *simulator.Pool, j *simulator.Job) {
			if n := sizes[j.ID]; n > 0 {
				if err := resize(&w.Molds[j.ID], j, n); err != nil {
					t.Fatal(err)
				}
			}
		}},
	}))(t)
	if err := s.Advance(math.Inf(1), func(e simulator.Event) {
		turnaround[e.Job.ID] = e.Job.End - e.Job.Submit
	}); err != nil {
		t.Fatal(err)
	}
	played := must(w.Play(Settings{Rule: AtHead, Share: 1, Seed: 5, Once: true}))(t)
	for _, g := range regrets {
		if p := played.Turnaround[g.ID]; math.Abs(g.Whole-p) > 1e-6*p {
			t.Fatalf("job %d: %v s, played by the same rule %v", g.ID, g.Whole, p)
		}
		if math.Abs(g.Whole-turnaround[g.ID]) > 1e-6*g.Whole {
			t.Fatalf("job %d: %v s on %d, the run says %v", g.ID, g.Whole, g.Chosen, turnaround[g.ID])
		}
		if g.Least > g.Turnaround || g.LeastCost > g.Cost || g.Turnaround > g.Whole+1e-6 {
			t.Fatalf("%+v", g)
		}
	}
	if len(regrets) < 300 {
		t.Errorf("only %d advices", len(regrets))
	}
}

// TestRegretByHand compares regrets with values worked out by hand. One of two processors is busy for another 100 s,
// and a job takes 80 s on both processors or 160 s on one. Its turnaround is 160 s if it starts at once on one
// processor, and 180 s if it waits for both. If the processor is busy for 50 s only, waiting gives 130 s.
func TestRegretByHand(t *testing.T) {
	for _, c := range []struct{ other, least float64 }{{100, 160}, {50, 130}} {
		w := &Workload{
			Procs: 2, luck: make([]float64, 2), belief: []float64{1, 1},
			Jobs: []simulator.Job{
				{ID: 0, Procs: 1, Runtime: c.other, Limit: 1000, Estimate: 1000},
				{ID: 1, Submit: 0.5, Procs: 2, Runtime: 80, Limit: 80, Estimate: 80},
			},
		}
		rule := moldable.Rule{Machine: 2, MaxSigma: 1e-9, MaxA: 2, LeastEfficiency: .999999}
		var err error
		w.Molds, err = rule.Make([]moldable.Recorded{{Procs: 1, Runtime: c.other}, {Procs: 2, Runtime: 80, Limit: 80}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.think(); err != nil {
			t.Fatal(err)
		}
		regrets := must(w.Regrets(0, Selfish))(t)
		if len(regrets) != 1 {
			t.Fatalf("%d advices, want that of job 1", len(regrets))
		}
		wait := 0.
		if c.other == 50 {
			wait = .5 // the job is submitted after 0.5 s of the wait
		}
		if g := regrets[0]; math.Abs(g.Least-(c.least-wait)) > 1e-3 {
			t.Errorf("the other runs %v s: %+v, want a least of %v", c.other, g, c.least-wait)
		}
	}
}

// TestHindsight proves the promised regret in a run of all of KTH-SP2 with moldable jobs, with the recorded times
// between submissions. For at least half of the advices at the head, the best size in hindsight would have reduced the
// turnaround by less than a tenth. This holds both for the objective that is served and for the job's own finish alone.
func TestHindsight(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole trace takes seconds")
	}
	w := must(kth(t).Make(Whole, 0, 0, 1, Model{}))(t)
	for name, o := range map[string]Settings{"served": {}, "selfish": {Objective: Selfish}} {
		r := Summarize(must(w.Regrets(1, o.Objective))(t))
		t.Logf("%s: %+v", name, r)
		if !(r.Median < .1 && r.WholeMedian < .1) || r.Advices < 5000 {
			t.Errorf("%s: median regret %v of the turnaround from the advice, %v from the submission, of %d advices",
				name, r.Median, r.WholeMedian, r.Advices)
		}
	}
}
