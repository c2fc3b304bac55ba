package sizestudy

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/simulator"
)

func small(t *testing.T) *Grid {
	return &Grid{
		Traces: []*Trace{kth(t)}, Jobs: 3000, Loads: []float64{.5, .7, .95}, Seeds: 3,
		Choices: []Choice{
			{Rule: Request}, {Rule: Efficient, Share: 1}, {Rule: Knee, Share: 1}, {Rule: Largest, Share: 1},
			{Rule: AtHead, Share: 1}, {Rule: AtHead, Share: .2},
		},
	}
}

// TestAdvicePays proves the promised gain on a small grid of KTH-SP2. At a load of 0.7, advice at the head lowers the
// mean turnaround by at least a fifth compared with the requests, and at no load is a fixed rule better than advice by
// more than 2 %. The reason is the price of processors: if advice minimizes only the job's own finish, turnaround rises
// at loads from 0.7 on.
func TestAdvicePays(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 63 workloads")
	}
	g := small(t)
	g.Choices[5] = Choice{Rule: AtHead, Share: 1, Alone: true}
	cells := must(g.Run(t.Context()))(t)
	change := func(o *Outcome) float64 { return o.Change }
	for i := 0; i < len(cells); i += len(g.Choices) {
		head, load := cells[i+4].Mean(change), cells[i].Load
		t.Logf("load %v: head %+v, alone %+v", load, head, cells[i+5].Mean(change))
		for _, fixed := range cells[i : i+4] {
			if f := fixed.Mean(change); 1+head.Mean > 1.02*(1+f.Mean) {
				t.Errorf("load %v: advice changes turnaround by %v, %v by %v", load, head, fixed.Choice.Rule, f)
			}
		}
		if load == .7 && head.Mean > -.2 {
			t.Errorf("at load .7 advice changes turnaround by %v", head)
		}
		if alone := cells[i+5].Mean(change); load >= .7 && alone.Mean < 0 {
			t.Errorf("load %v: by their own finish alone turnaround changes by %v", load, alone)
		}
	}
}

// TestGrid proves that the outcomes do not depend on the number of workers, that the rule Request changes nothing, and
// that the interval of a cell is computed from its outcomes.
func TestGrid(t *testing.T) {
	g := small(t)
	g.Jobs, g.Loads, g.Seeds = 600, []float64{.8}, 2
	g.Workers = 1
	one := must(g.Run(t.Context()))(t)
	g.Workers = 2
	if d := cmp.Diff(one, must(g.Run(t.Context()))(t), cmpopts.IgnoreFields(Choice{}, "Objective")); d != "" {
		t.Errorf("two workers:\n%s", d)
	}
	for _, o := range one[0].Outcomes {
		if o.Change != 0 || o.P95Change != 0 || o.Others != 0 || o.Worse != 0 || o.Work != 1 {
			t.Errorf("requests against themselves: %+v", o)
		}
	}
	a, b := one[1].Outcomes[0].Mean, one[1].Outcomes[1].Mean
	got := one[1].Mean(func(o *Outcome) float64 { return o.Mean })
	// The 0.975 quantile of Student's t with one degree of freedom is 12.706, and the standard deviation of two values
	// is |a-b|/sqrt(2).
	if half := 12.7062 * math.Abs(a-b) / 2; got.N != 2 || math.Abs(got.Mean-(a+b)/2) > 1e-9*a ||
		math.Abs(got.High-got.Mean-half) > 1e-4*half {
		t.Errorf("interval %+v of %v and %v", got, a, b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestScore checks a score that was worked out by hand. The turnaround of one user's jobs falls from 100 to 50, and
// that of the other user's jobs rises from 100 to 120. So the mean turnaround falls by 15 %, and half of the users are
// worse off.
func TestScore(t *testing.T) {
	var jobs []simulator.Job
	var here, base []float64
	for i := range 20 {
		user := int64(1 + i%2)
		jobs = append(jobs, simulator.Job{ID: int64(i), Submit: float64(i), User: user})
		base = append(base, 100)
		here = append(here, map[int64]float64{1: 50, 2: 120}[user])
	}
	g, h := newGroups(), newGroups()
	for i := range jobs {
		g.add(jobs[i].User, here[i], base[i])
		h.add(0, here[i], base[i])
	}
	if got := g.worse(10, .05); got != .5 {
		t.Errorf("%v of the users are worse off", got)
	}
	if got := g.worse(11, .05); got != 0 {
		t.Errorf("%v of no users", got)
	}
	if got := h.change(); math.Abs(got+.15) > 1e-12 {
		t.Errorf("change %v, want -.15", got)
	}
}

// TestChosenIsServed proves that the objective with the weights of Chosen is the one that the daemon serves.
func TestChosenIsServed(t *testing.T) {
	for _, q := range []Queue{
		{Machine: 100}, {Machine: 100, Waiting: 7, Mean: 3.5}, {Machine: 430, Waiting: 1, Mean: 99},
	} {
		a, b := Chosen().Objective(q), Served(q)
		if math.Abs(a.ProcHour-b.ProcHour) > 1e-12 || a.Kind != b.Kind || b.Kind != advice.Cost || a.Hour != b.Hour {
			t.Errorf("%+v: %+v, served %+v", q, a, b)
		}
	}
}

// TestBest checks a choice that was worked out by hand. The trials have the scores .849 (with the regret .01), .671
// (.09), .5 (.1), .675 (.08) and .676 (.05). Of those with a regret below .1 the second has the lowest score. Of those
// within 1 % of this score the last has the lowest regret.
func TestBest(t *testing.T) {
	trials := []Trial{
		{Weights{1, 0, 0}, .8, .9, .01}, {Weights{2, 0, 0}, .5, .9, .09}, {Weights{3, 0, 0}, .5, .5, .1},
		{Weights{4, 0, 0}, .675, .675, .08}, {Weights{5, 0, 0}, .676, .676, .05},
	}
	if best, serve, ok := Best(trials, .1, .01); !ok || best.Base != 2 || serve.Base != 5 {
		t.Errorf("best %+v, served %+v, %v", best, serve, ok)
	}
	if _, _, ok := Best(trials, .005, .01); ok {
		t.Error("none is that good")
	}
}
