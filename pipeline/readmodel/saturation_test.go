package readmodel

import (
	"testing"

	"github.com/waitcast/waitcast/predictor/outlook"
)

// TestSaturatedNeedsHistoryAndFutures: a queue that grew is saturated only where at least half of the simulated futures
// agree, once there are any.
func TestSaturatedNeedsHistoryAndFutures(t *testing.T) {
	grew, steady := Growth{PerWeek: 4, Weeks: 9}, Growth{PerWeek: 0.5, Weeks: 9}
	for _, c := range []struct {
		history Growth
		weeks   int
		share   float64
		want    bool
	}{
		{grew, 0, 0, true}, {grew, 12, 0.1, false}, {grew, 12, 0.5, true}, {grew, 12, 1, true},
		{steady, 0, 0, false}, {steady, 12, 1, false}, {Growth{PerWeek: 40, Weeks: 4}, 12, 1, false},
	} {
		s := Saturation{History: c.history, FutureWeeks: c.weeks, Future: outlook.Growth{Probability: c.share}}
		if got := s.Saturated(); got != c.want {
			t.Errorf("%+v: saturated %v", s, got)
		}
	}
}
