package readmodel

import (
	"fmt"
	"testing"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/predictor/outlook"

	"github.com/waitcast/waitcast/job"
)

// weeklyQueue returns a view of a queue after the given number of weeks. In week w, counted from 0, come(w) jobs are
// submitted an hour after the beginning of the week and start at once. They leave one and a half hours after the
// beginning of the next week, except for stay(w) jobs that never leave.
func weeklyQueue(t *testing.T, weeks int, come, stay func(week int) int) *View {
	t.Helper()
	l := newFolded(t, livemodels.Config{MinSamples: 30, HistoryJobs: 100_000})
	id := 0
	take := func(kind job.Kind, number int, at float64) {
		ev := submitted(number, "u", at, 1)
		if kind != job.Submit {
			ev = event(kind, fmt.Sprint(number), at)
		}
		l.take(ev)
	}
	for week := range weeks {
		begin := float64(week) * 7 * 86400
		first := id + 1
		for ; id < first-1+come(week); id++ {
			take(job.Submit, id+1, begin+3600)
			take(job.Start, id+1, begin+3600)
		}
		for n := first + stay(week); n <= id; n++ {
			take(job.End, n, begin+weekSeconds+5400) // after the count, so that a steady queue has a steady count
		}
	}
	return l.view()
}

// TestAFilledMachineIsNotSaturated proves that a queue does not count as growing if the log begins with an empty
// machine, which is full a week later and stays full.
func TestAFilledMachineIsNotSaturated(t *testing.T) {
	none := func(int) int { return 0 }
	for _, c := range []struct {
		name       string
		weeks      int
		come, stay func(int) int
		grew       bool
	}{
		{"steady", 12, func(int) int { return 40 }, none, false},
		{"growing", 12, func(int) int { return 40 }, func(int) int { return 3 }, true},
		{"too short", 4, func(int) int { return 40 }, func(int) int { return 3 }, false},
	} {
		g := weeklyQueue(t, c.weeks, c.come, c.stay).Growth("q")
		if g.Grew() != c.grew || g.Weeks != c.weeks-1 && g.Weeks != c.weeks {
			t.Errorf("%s: %+v, want grew %v", c.name, g, c.grew)
		}
	}
}

// TestSaturatedNeedsHistoryAndFutures proves that a queue that has grown in the history counts as saturated, unless
// futures were simulated and it grows in less than half of them.
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
