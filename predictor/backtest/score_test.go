package backtest

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestScores checks the figures of four forecasts, worked out by hand from their definitions.
func TestScores(t *testing.T) {
	m, err := newMethodScore("test", 1)
	if err != nil {
		t.Fatal(err)
	}
	q := []float64{60, 120, 240, 540} // with 60 s added: 120, 180, 300, 600
	for i, wait := range []float64{0, 60, 180, 3600} {
		if err := m.add(float64(i), wait, q); err != nil {
			t.Fatal(err)
		}
	}
	m.cancelled(100, q) // the wait was longer than the median only
	r := m.result()
	if r.N != 4 {
		t.Fatalf("n is %d, want 4", r.N)
	}
	// With 60 s added the waits are 60, 120, 240, 3660, and the median is 120. The loss is of their logarithms.
	near(t, "loss of the median", r.LogPinball["0.5"], (.5*math.Log(2)+0+.5*math.Log(2)+.5*math.Log(3660./120))/4)
	near(t, "loss at .95", r.LogPinball["0.95"],
		(.05*math.Log(10)+.05*math.Log(5)+.05*math.Log(2.5)+.95*math.Log(3660./600))/4)
	if got, want := r.Coverage["0.5"], [2]float64{.25, .5}; got != want {
		t.Errorf("coverage of the median is %v, want %v", got, want)
	}
	near(t, "within a factor 2", r.Within2, .75) // 60 and 240 are half and twice 120
	near(t, "within a factor 3", r.Within3, .75)
	near(t, "median of the errors", *r.MedianAbsError, 60)
	near(t, "width", *r.Interval, 480)
	if r.R != nil || r.RLog != nil {
		t.Error("a forecast that never varies has no correlation")
	}
	if s := r.Strata; s.UpToMinute.N != 2 || s.UpToHour.N != 2 || s.Longer.N != 0 {
		t.Errorf("strata have %d, %d, %d jobs, want 2, 2, 0", s.UpToMinute.N, s.UpToHour.N, s.Longer.N)
	}
	if got, want := r.WithCancelled.Coverage["0.5"], [2]float64{.2, .4}; got != want || r.WithCancelled.Cancelled != 1 {
		t.Errorf("with the cancelled job coverage of the median is %v of %d, want %v of 1", got,
			r.WithCancelled.Cancelled, want)
	}
	// Three jobs waited for 100 s, and one of them was cancelled then. So each of the two misses at 120 s has the
	// weight 3/2.
	high := r.WithCancelled.Coverage["0.75"]
	near(t, "coverage at .75 with the cancelled job", high[1], 2./(2+3))
	if got, want := r.WithCancelled.Unweighted["0.75"], [2]float64{.5, .5}; got != want ||
		r.WithCancelled.Censored["0.75"] != 1 || r.WithCancelled.Censored["0.5"] != 0 {
		t.Errorf("without the cancelled job coverage at .75 is %v, want %v; censored are %v", got, want,
			r.WithCancelled.Censored)
	}
}

// TestBestConstant checks the constant that is within a factor 2 of the most waits, with 60 s added.
func TestBestConstant(t *testing.T) {
	// With 60 s added the waits are 60, 100, 240, 241, 10000. From 60 to 240 is a factor 4, so 120 is within a factor 2
	// of three of them, but not of 241.
	got := bestConstant([]float64{0, 40, 180, 181, 9940})
	near(t, "share", got.Within2, .6)
	if c := got.Seconds + 60; math.Abs(c-120) > 1e-6 && !(c >= 120.5 && c <= 200) {
		t.Errorf("the constant is %v s and 60: not within a factor 2 of three waits", got.Seconds)
	}
}
