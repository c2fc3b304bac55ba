package waittime_test

import (
	"math"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
)

func TestLevels(t *testing.T) {
	levels := waittime.Levels()
	if !slices.IsSorted(levels) || levels[waittime.Median] != .5 {
		t.Errorf("levels %v, the median is said to be number %d", levels, waittime.Median)
	}
	for _, level := range waittime.ScoredLevels() {
		if !slices.Contains(levels, level) {
			t.Errorf("level %g is scored but not forecast", level)
		}
	}
	levels[0] = 7
	if waittime.Levels()[0] == 7 {
		t.Error("the slice is shared")
	}
}

// TestScale proves that the scale and its inverse agree, and that no wait is negative.
func TestScale(t *testing.T) {
	for _, seconds := range []float64{0, 1, 59.5, 3600, waittime.Longest} {
		if back := waittime.Unlog(waittime.Log(seconds)); math.Abs(back-seconds) > 1e-9*(1+seconds) {
			t.Errorf("%g s become %g s", seconds, back)
		}
	}
	if w := waittime.Unlog(math.Log(waittime.Shift) - 1); w != 0 {
		t.Errorf("below the scale: %g s, want 0", w)
	}
}

// TestNever proves that a bound that was converted to the logarithmic scale and back still means never, and that a year
// does not.
func TestNever(t *testing.T) {
	for seconds, want := range map[float64]bool{
		0: false, waittime.ScoredNever: false, waittime.Longest: true,
		waittime.Unlog(waittime.Log(waittime.Longest)): true, math.Inf(1): true, math.NaN(): true,
	} {
		if got := waittime.IsNever(seconds); got != want {
			t.Errorf("%g s means never: %t, want %t", seconds, got, want)
		}
	}
}

func TestSizeClass(t *testing.T) {
	for procs, want := range map[int]string{
		-1: "1", 0: "1", 1: "1", 2: "2-8", 8: "2-8", 9: "9-64", 64: "9-64", 65: "65-512", 512: "65-512",
		513: "513-4096", 4096: "513-4096", 4097: "4097+", math.MaxInt: "4097+",
	} {
		if got := waittime.SizeClass(procs); got != want {
			t.Errorf("%d processors are of class %s, want %s", procs, got, want)
		}
	}
}

// TestPinball proves that the mean loss over a sample is least at the sample's quantile.
func TestPinball(t *testing.T) {
	sample := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for _, level := range waittime.Levels() {
		best, least := 0., math.Inf(1)
		for _, q := range sample {
			sum := 0.
			for _, y := range sample {
				sum += waittime.Pinball(level, q, y)
			}
			if sum < least {
				best, least = q, sum
			}
		}
		if want := sample[int(math.Ceil(level*float64(len(sample))))-1]; best != want {
			t.Errorf("level %g: the least loss is at %g, want %g", level, best, want)
		}
	}
}
