package advice_test

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

const minute = 60.

// twoNodes returns the example of Downey 1996, sec. 1.1: a machine of two nodes, one of them busy. The program takes an
// hour on the free node, and 35 minutes on both, but then it must wait for the end of the other job.
func twoNodes(remaining advice.Wait) []advice.Candidate {
	return []advice.Candidate{
		{Name: "one node", Procs: 1, MaxProcs: 2, Run: advice.Fixed(60 * minute)},
		{Name: "two nodes", Procs: 2, MaxProcs: 2, Run: advice.Fixed(35 * minute), Wait: remaining},
	}
}

// TestTwoNodesCertain proves that if the end of the other job is certain, the advice changes at 25 minutes. At exactly
// 25 minutes both finish at the same time, and the smaller size is advised.
func TestTwoNodesCertain(t *testing.T) {
	for _, c := range []struct {
		remaining float64
		want      string
	}{{0, "two nodes"}, {24.99, "two nodes"}, {25, "one node"}, {25.01, "one node"}, {600, "one node"}} {
		r := choose(t, twoNodes(advice.Wait{Law: advice.Fixed(c.remaining * minute)}), advice.NoRequest,
			advice.Objective{})
		if got := r.Best().Name; got != c.want {
			t.Errorf("%v minutes remain: %s, want %s", c.remaining, got, c.want)
		}
	}
}

// TestTwoNodesExponential proves that the mean of the remaining time decides, not its median: the advice changes at a
// mean of 25 minutes. Here the law is exponential, and its median is then 17 minutes.
func TestTwoNodesExponential(t *testing.T) {
	for mean, want := range map[float64]string{24.8: "two nodes", 25.2: "one node"} {
		const n = 20_000
		waits, sum := make([]float64, n), 0.
		for i := range waits {
			waits[i] = -math.Log(1-(float64(i)+.5)/n) * mean * minute
			sum += waits[i] / n
		}
		near(t, "mean of the sample, minutes", sum/minute, mean, .01)
		r := choose(t, twoNodes(advice.Wait{Futures: waits}), advice.NoRequest, advice.Objective{})
		if r.Best().Name != want {
			t.Errorf("%v minutes on the average: %s, want %s", mean, r.Best().Name, want)
		}
		// Pr{remaining < 25 min} = 1 - e^(-25/mean) is how often two nodes would have been right.
		near(t, "two nodes turn out right", r.Answers[1].Best, -math.Expm1(-25/mean), 1e-3)
	}
}

// TestTwoNodesByAge proves the changes of advice by the paper's law of lifetimes. The mean remaining time first rises
// with the running job's age, and then falls towards the longest lifetime. The advice changes twice, each time where
// this mean crosses 25 minutes.
func TestTwoNodesByAge(t *testing.T) {
	m := uniformlog.Model{B0: 0, B1: 1 / math.Log(3*3600)} // from 1 s to 3 h
	flips, before := 0, ""
	for age := 2.; age < m.TMax(); age *= 1.02 {
		const n = 2000
		waits := make([]float64, n)
		for i := range waits {
			waits[i] = m.QuantileRemaining((float64(i)+.5)/n, age)
		}
		best := choose(t, twoNodes(advice.Wait{Futures: waits}), advice.NoRequest, advice.Objective{}).Best().Name
		want := "one node"
		expected := m.MeanRemaining(age)
		if expected < 25*minute {
			want = "two nodes"
		}
		if math.Abs(expected/(25*minute)-1) > .01 && best != want {
			t.Errorf("age %.0f s, %.1f minutes remain on the average: %s, want %s", age, expected/minute, best, want)
		}
		if before != "" && best != before {
			flips++
		}
		before = best
	}
	if flips != 2 {
		t.Errorf("the advice changed %d times, want 2", flips)
	}
}

// TestTwoNodesPastRepeats uses the heuristic that the past repeats: Pr{remaining > x} = a/(a+x) at age a, so the median
// remaining time is the age. (Its mean is infinite.) By the median the user waits up to an age of 25 minutes, as in the
// paper. If all jobs take 3 h this is the wrong choice, as the paper also says.
func TestTwoNodesPastRepeats(t *testing.T) {
	median := advice.Objective{Kind: advice.FinishQuantile}
	for age, want := range map[float64]string{5: "two nodes", 24: "two nodes", 26: "one node", 170: "one node"} {
		waits := make([]float64, 1000)
		for i := range waits {
			u := (float64(i) + .5) / 1000
			waits[i] = age * minute * u / (1 - u)
		}
		if got := choose(t, twoNodes(advice.Wait{Futures: waits}), advice.NoRequest, median).Best().Name; got != want {
			t.Errorf("age %v minutes: %s, want %s", age, got, want)
		}
	}
	for age, want := range map[float64]string{5: "one node", 154: "one node", 156: "two nodes", 170: "two nodes"} {
		if got := choose(t, twoNodes(advice.Wait{Law: advice.Fixed((180 - age) * minute)}), advice.NoRequest,
			median).Best().Name; got != want {
			t.Errorf("all jobs take 3 h, age %v minutes: %s, want %s", age, got, want)
		}
	}
}
