package readmodel

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job/waittime"
)

// Figures worked out by hand: halfway between two quantiles in ln(wait + 60 s) is halfway between their levels.
func TestCurve(t *testing.T) {
	c := NewCurve([]float64{.5, .9}, []float64{0, 540}) // ln 60, ln 600
	for wait, want := range map[float64]float64{
		-1: 0, 0: .5, math.Sqrt(60*600) - 60: .7, 540: .9,
		5940: 1 - .1*math.Exp(-math.Log(5)), // as far again: .5 fell to .1, .1 falls to .02
	} {
		if got := c.Within(wait); math.Abs(got-want) > 1e-9 {
			t.Errorf("within %v s: %v, want %v", wait, got, want)
		}
	}
	// After 540 s a tenth is left; its median is where half of that is, .05.
	want := 60*math.Exp(math.Log(10)*(1+math.Log(2)/math.Log(5))) - 60 - 540
	if got := c.Rest(540)[0]; math.Abs(got-want) > 1e-6*want {
		t.Errorf("half of those that have waited 540 s wait %v s more, want %v", got, want)
	}
}

// Whatever the quantiles, probabilities rise from 0 to below 1, quantiles undo them, and what is left of a wait is
// never negative, not a number, or crossing.
func TestCurveLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := waittime.Levels()
		q := make([]float64, len(levels))
		sum := 0.0
		for i := range q {
			if rapid.Bool().Draw(t, "more") {
				sum += rapid.Float64Range(0, 1e6).Draw(t, "by")
			}
			q[i] = sum
		}
		c := NewCurve(levels, q)
		last := -1.0
		for _, wait := range []float64{0, .5, 60, 600, 1e4, 1e6, 1e8} {
			p := c.Within(wait)
			if math.IsNaN(p) || p < last || p < 0 || p > 1 {
				t.Fatalf("within %v s of %v: %v after %v", wait, q, p, last)
			}
			last = p
			rest := c.Rest(wait)
			for i, r := range rest {
				if math.IsNaN(r) || math.IsInf(r, 0) || r < 0 || i > 0 && r < rest[i-1]-1e-6*rest[i] {
					t.Fatalf("after %v s of %v: %v", wait, q, rest)
				}
			}
		}
		for i, level := range levels {
			if got := c.Quantile(level); math.Abs(got-q[i]) > 1e-6*(q[i]+1) {
				t.Fatalf("level %v of %v: %v", level, q, got)
			}
		}
	})
}
