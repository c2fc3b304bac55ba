package ask

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/predictor/outlook"
)

// TestBestHours proves that the hours near the lowest median are marked as best if that median is below the median of
// all hours by at least a minute, and by at least a fifth of the latter. No hour is best if all are similar, or if the
// job never starts.
func TestBestHours(t *testing.T) {
	never := math.Inf(1)
	for _, c := range []struct {
		medians []float64
		want    string
	}{
		{[]float64{3600, 600, 3600, 890, 3600, 910}, "[false true false true false false]"},
		{[]float64{3600, 3000, 3600}, "[false false false]"},
		{[]float64{3600, 2880, 3600}, "[false true false]"},
		{[]float64{50, 0, 50}, "[false false false]"},
		{[]float64{never, 600, never}, "[false true false]"},
		{[]float64{never, never}, "[false false]"},
		{[]float64{0}, "[false]"},
	} {
		waits := make([]outlook.Quantiles, len(c.medians))
		for i, m := range c.medians {
			waits[i][2] = m
		}
		if got := fmt.Sprint(bestOf(waits)); got != c.want {
			t.Errorf("%v: %s, want %s", c.medians, got, c.want)
		}
	}
}

// TestSubmissionsBeginNow proves that no hour of the answer has passed, even if the forecast of the load is older.
func TestSubmissionsBeginNow(t *testing.T) {
	made := time.Date(2026, 3, 2, 11, 25, 0, 0, time.UTC)
	for _, c := range []struct {
		age   time.Duration
		first int // hour of the day
		want  []float64
	}{
		{-time.Minute, 12, []float64{0, 2100, 5700}},
		{10 * time.Minute, 12, []float64{600, 2100, 5700}},
		{4 * time.Hour, 16, []float64{14400, 16500, 20100}},
	} {
		first, horizons := submissions(made, made.Add(c.age), 2)
		if first.Hour() != c.first || !slices.Equal(horizons, c.want) {
			t.Errorf("%v later: from %v, %v; want from %d h, %v", c.age, first, horizons, c.first, c.want)
		}
	}
}

// TestWaitsAgree proves that two waits agree, in either order, if they are within a factor of 2 after 60 s are added to
// each.
func TestWaitsAgree(t *testing.T) {
	never := math.Inf(1)
	for _, c := range []struct {
		a, b float64
		want bool
	}{
		{0, 0, true}, {0, 60, true}, {0, 61, false}, {540, 1140, true}, {540, 1141, false}, {never, never, true},
		{0, never, false},
	} {
		if agree(c.a, c.b) != c.want || agree(c.b, c.a) != c.want {
			t.Errorf("%v and %v agree: want %v", c.a, c.b, c.want)
		}
	}
}
