package advice_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/advice"
)

// expand returns the result for a job that finishes in an hour as it is, and sooner by the given share of the hour if
// it expands.
func expand(t interface{ Fatal(...any) }, gain float64) *advice.Result {
	return must[*advice.Result](t)(advice.Resize(advice.Running{Procs: 8, Left: advice.Fixed(3600)},
		[]advice.Size{{Procs: 16, Left: advice.Fixed(3600 * (1 - gain))}}, advice.Objective{}))
}

// changes returns how often advice changes over forecasts a minute apart, each with a newly drawn gain. The job has its
// present size when the first forecast comes.
func changes(t interface{ Fatal(...any) }, s advice.Steady, steps int, gain func() float64) int {
	standing, n := advice.Standing{Name: advice.SizeName(8)}, 0
	for step := range steps {
		next := must[advice.Standing](t)(s.Settle(standing, float64(60*step), expand(t, gain())))
		if next != standing {
			n++
		}
		standing = next
	}
	return n
}

// TestNoiseDoesNotFlap proves that noise in forecasts does not make advice alternate. With gains of 0.1 +- 0.09, advice
// with a minimum gain of 0.1 changes once in 5,000 forecasts. Around 0 it does not change at all. Without hysteresis it
// changes every other time around 0.
func TestNoiseDoesNotFlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	around := func(middle float64) func() float64 {
		return func() float64 { return middle + .09*(2*rng.Float64()-1) }
	}
	if n := changes(t, advice.Steady{Gain: .1}, 5000, around(.1)); n != 1 {
		t.Errorf("around the threshold: %d changes, want 1", n)
	}
	if n := changes(t, advice.Steady{Gain: .1}, 5000, around(0)); n != 0 {
		t.Errorf("around 0: %d changes, want none", n)
	}
	if n := changes(t, advice.Steady{}, 5000, around(0)); n < 2000 {
		t.Errorf("without hysteresis: %d changes; this test can tell nothing", n)
	}
}

// TestHold proves that noise of any size changes advice at most once per Hold, and that this bound is nearly reached:
// with a hold of an hour and forecasts that favor the other advice every minute, it changes 60 to 84 times in 5,000
// minutes.
func TestHold(t *testing.T) {
	sign := 1.
	n := changes(t, advice.Steady{Gain: .1, Hold: 3600}, 5000, func() float64 { sign = -sign; return sign * .5 })
	if n > 5000/60+1 || n < 60 {
		t.Errorf("%d changes, want 60 to 84", n)
	}
}

// TestNoReturn proves that no former advice comes back as long as the noise moves scores by less than half of the
// threshold, for any candidates. Advice that changes has always gained at least the threshold.
func TestNoReturn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gain := rapid.Float64Range(.02, .5).Draw(t, "gain")
		s := advice.Steady{Gain: gain}
		truth := rapid.SliceOfN(rapid.Float64Range(100, 1e4), 2, 5).Draw(t, "truth")
		// Scores are off by a factor of at most 1 + noise either way. So the ratio of two scores is off by a factor of
		// less than (1 + noise)^2 = 1/(1 - gain).
		noise := 1/math.Sqrt(1-gain) - 1
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		standing, left := advice.Standing{}, map[string]bool{}
		for now := range 200 {
			c := make([]advice.Candidate, len(truth))
			for i, x := range truth {
				f := math.Pow(1+noise*.999, 2*rng.Float64()-1)
				c[i] = advice.Candidate{Name: fmt.Sprint(i), Procs: 1 + i, Run: advice.Fixed(x * f)}
			}
			r := choose(t, c, advice.NoRequest, advice.Objective{})
			next := must[advice.Standing](t)(s.Settle(standing, float64(now), r))
			if next != standing && standing.Name != "" {
				left[standing.Name] = true
			}
			if left[next.Name] {
				t.Fatalf("advice %s came back", next.Name)
			}
			standing = next
		}
	})
}

// TestReplacedAtOnce proves that advice that is no longer possible, infinitely bad, or missing is replaced at once,
// whatever the hold.
func TestReplacedAtOnce(t *testing.T) {
	s := advice.Steady{Gain: .5, Hold: 1e6}
	r := expand(t, .01)
	for _, standing := range []advice.Standing{{}, {Name: "64 processors", Since: 5}} {
		if got, err := s.Settle(standing, 10, r); err != nil ||
			got != (advice.Standing{Name: advice.SizeName(16), Since: 10}) {
			t.Errorf("%+v: %+v, %v", standing, got, err)
		}
	}
	never := choose(t, []advice.Candidate{
		{Name: "never", Procs: 1, Run: advice.Fixed(1), Wait: advice.Wait{Law: advice.Fixed(math.Inf(1))}},
		{Name: "other", Procs: 1, Run: advice.Fixed(1e9)},
	}, advice.NoRequest, advice.Objective{})
	if got, err := s.Settle(advice.Standing{Name: "never", Since: 9}, 10, never); err != nil || got.Name != "other" {
		t.Errorf("an advice that never starts: %+v, %v", got, err)
	}
}

// TestSteadyDeadline proves that under a deadline the minimum gain applies to the probability: an increase from 0.5 to
// 0.7 is enough for a minimum of 0.15, but not of 0.25.
func TestSteadyDeadline(t *testing.T) {
	futures := func(late int) advice.Wait {
		w := make([]float64, 10)
		for i := range late {
			w[i] = 1000
		}
		return advice.Wait{Futures: w}
	}
	r := choose(t, []advice.Candidate{
		{Name: "a", Procs: 1, Run: advice.Fixed(10), Wait: futures(5)},
		{Name: "b", Procs: 2, Run: advice.Fixed(10), Wait: futures(3)},
	}, advice.NoRequest, advice.Objective{Kind: advice.ByDeadline, Deadline: 100})
	for gain, want := range map[float64]string{.15: "b", .25: "a"} {
		if got, err := (advice.Steady{Gain: gain}).Settle(advice.Standing{Name: "a"}, 1, r); err != nil ||
			got.Name != want {
			t.Errorf("least gain %v: %+v, %v, want %s", gain, got, err, want)
		}
	}
}

// TestBadSteady proves that impossible settings and times are refused, and that the advice stays.
func TestBadSteady(t *testing.T) {
	r := expand(t, .5)
	standing := advice.Standing{Name: advice.SizeName(8), Since: 100}
	for _, c := range []struct {
		s   advice.Steady
		now float64
	}{
		{advice.Steady{Gain: math.NaN()}, 200}, {advice.Steady{Gain: 1}, 200}, {advice.Steady{Gain: -.1}, 200},
		{advice.Steady{Hold: math.NaN()}, 200}, {advice.Steady{Hold: -1}, 200}, {advice.Steady{}, math.NaN()},
		{advice.Steady{}, math.Inf(1)},
	} {
		got, err := c.s.Settle(standing, c.now, r)
		var bad *advice.ObjectiveError
		if !errors.As(err, &bad) || got != standing {
			t.Errorf("%+v at %v: %+v, %v, want an *ObjectiveError", c.s, c.now, got, err)
		}
	}
	var back *advice.ClockError
	if got, err := (advice.Steady{}).Settle(standing, 99, r); !errors.As(err, &back) || got != standing {
		t.Errorf("a time before: %+v, %v, want a *ClockError", got, err)
	}
}
