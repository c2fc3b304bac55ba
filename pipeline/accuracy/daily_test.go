package accuracy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/modelstore"
)

// TestDailyWaits proves that a wait counts on the day of the start in the cluster's zone, that the quantiles are
// observed waits, and that a job that never started does not count.
func TestDailyWaits(t *testing.T) {
	d := NewDailyWaits(time.FixedZone("east", 2*60*60))
	late := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC) // 01:00 of March 2 in the zone
	add := func(queue, outcome string, at time.Time, wait float64) {
		d.Add(&modelstore.Row{Queue: queue, Outcome: outcome, Start: at, WaitSeconds: wait})
	}
	for wait := range 10 {
		add("b", modelstore.Started, late, float64(10-wait))
	}
	add("a", modelstore.Started, late, 7)
	add("a", modelstore.Cancelled, time.Time{}, 1000)
	add("b", modelstore.Started, late.Add(-2*time.Hour), 3)
	want := []DayOfWaits{
		{Day: "2026-03-02", Queue: "a", Started: 1, Median: 7, P90: 7},
		{Day: "2026-03-02", Queue: "b", Started: 10, Median: 5, P90: 9},
		{Day: "2026-03-01", Queue: "b", Started: 1, Median: 3, P90: 3},
	}
	if diff := cmp.Diff(want, d.Days()); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if days := NewDailyWaits(time.UTC).Days(); len(days) != 0 {
		t.Errorf("without rows: %v", days)
	}
}
