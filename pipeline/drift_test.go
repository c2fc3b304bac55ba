package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// TestToldChanges proves that the engine gets the scheduler's reports of a queue's time limit and nodes. The view shows
// another limit, or the loss of a third of the nodes, as a drift. A first or repeated report is no drift.
func TestToldChanges(t *testing.T) {
	cfg := testConfig()
	cfg.Clusters[0].Procs = 0
	p, src := newPipeline(cfg, nil, collector.Live)
	tell := func(second float64, change func(*job.Facts)) []ensemble.Drift {
		t.Helper()
		ev := ruled()
		ev.Time = at(second)
		for i := range ev.Facts.Queues {
			ev.Facts.Queues[i].MaxTime = time.Hour
		}
		change(ev.Facts)
		take(t, p, &source.Delivery{Source: src, Events: []job.Event{
			ev, inQueue(event(job.Submit, fmt.Sprint("j", second), second+1), "a", 1, 0),
			inQueue(event(job.Submit, fmt.Sprint("k", second), second+2), "a", 1, 0),
		}})
		return p.View("c").Drifts
	}
	count := func(all []ensemble.Drift, queue string, why ensemble.Reason) int {
		for _, d := range all {
			if d.Queue == queue {
				return d.Alarms[why]
			}
		}
		return 0
	}
	none := func(*job.Facts) {}
	for second, step := range []struct {
		change          func(*job.Facts)
		limit, capacity int
	}{
		{none, 0, 0},
		{none, 0, 0},
		{func(f *job.Facts) { f.Queues[0].MaxTime = 2 * time.Hour }, 1, 0},
		{func(f *job.Facts) { f.Queues[0].MaxTime = 2 * time.Hour; f.Nodes[0].Count = 2 }, 1, 1},
	} {
		all := tell(float64(second)*100, step.change)
		if l, c := count(all, "a", ensemble.Limit), count(all, "a", ensemble.Capacity); l != step.limit ||
			c != step.capacity {
			t.Errorf("step %d: %d changes of the limit, %d of the capacity, want %d, %d", second, l, c, step.limit,
				step.capacity)
		}
		if count(all, "own", ensemble.Limit) != 0 {
			t.Errorf("step %d: a change in queue own, which has none", second)
		}
	}
}
