package uniformlog_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

// TestStagesOfOne proves that stages of two knots are Downey's law between them, and that the drawn lifetimes of a
// class with stages follow the stages.
func TestStagesOfOne(t *testing.T) {
	m := uniformlog.Model{B0: -.183, B1: .104}
	s := uniformlog.Stages{Log: []float64{math.Log(m.TMin()), math.Log(m.TMax())}, CDF: []float64{0, 1}}
	for _, p := range []float64{0, .1, .5, .99, 1} {
		if a, b := s.Quantile(p), m.Quantile(p); math.Abs(a/b-1) > 1e-9 {
			t.Errorf("at %v: %v s, by the law %v s", p, a, b)
		}
	}
}

// TestStagesKeepTheMean proves that stages keep the mean of a log that is no line in ln t: jobs of about 20 s, and jobs
// that a limit ends at 10 h. One law does not keep this mean.
func TestStagesKeepTheMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 5000)
	mean := 0.0
	for i := range values {
		values[i] = math.Exp(3 + .5*rng.NormFloat64())
		if rng.IntN(8) == 0 {
			values[i] = min(36000, math.Exp(10.4+.3*rng.NormFloat64()))
		}
		mean += values[i] / float64(len(values))
	}
	s, err := uniformlog.FitStages(values)
	if err != nil {
		t.Fatal(err)
	}
	line, err := uniformlog.FitValues(values)
	if err != nil {
		t.Fatal(err)
	}
	meanOf := func(c uniformlog.Class) (sum float64) {
		c.Weight = 1
		g, err := uniformlog.NewGenerator(rand.New(rand.NewPCG(1, 1)), c)
		if err != nil {
			t.Fatal(err)
		}
		for range 100_000 {
			_, seconds := g.Next()
			sum += seconds / 100_000
		}
		return sum
	}
	if got := meanOf(uniformlog.Class{Stages: &s}); math.Abs(got/mean-1) > .04 {
		t.Errorf("in stages the mean is %v s, of the log %v s", got, mean)
	}
	if got := meanOf(uniformlog.Class{Model: line.Model}); math.Abs(got/mean-1) < .3 {
		t.Errorf("by one law the mean is %v s, of the log %v s: this log shows nothing", got, mean)
	}
}

// TestStagesRefused proves that too few lifetimes, and knots that are no law, are refused.
func TestStagesRefused(t *testing.T) {
	if _, err := uniformlog.FitStages(make([]float64, uniformlog.MinSamples-1)); !errors.Is(err, uniformlog.ErrTooFew) {
		t.Errorf("too few: %v", err)
	}
	if _, err := uniformlog.FitStages([]float64{-1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); !errors.Is(err,
		uniformlog.ErrLifetime) {
		t.Errorf("negative: %v", err)
	}
	for problem, s := range map[string]uniformlog.Stages{
		"from 0 to 1": {Log: []float64{1, 2}, CDF: []float64{0, .9}},
		"must rise":   {Log: []float64{2, 1}, CDF: []float64{0, 1}},
	} {
		_, err := uniformlog.NewGenerator(rand.New(rand.NewPCG(1, 1)), uniformlog.Class{Weight: 1, Stages: &s})
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
}
