package pools

import (
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// TestReservedNodesOfAFittedPool proves that the nodes of a reservation are played if the pool's priority is fitted,
// although the ranks of its jobs, which count without a fitted priority, do not follow their order.
func TestReservedNodesOfAFittedPool(t *testing.T) {
	tr := track.NewTracker([]float64{.5}, 100, track.Memory{})
	queue, _, _ := tr.Queue("q")
	f := &Facts{Procs: 10, policy: forward.PriorityEASY, fitted: &rules.Priority{}, source: PolicyLearnt,
		outages: []Outage{{From: 0, Until: 1e6, Procs: 10, Access: Access{Open: true, Users: "ann"}}}}
	for id, rank := range []int{7, 3} {
		j := tr.Enter(uint64(id), 0, track.Request{Queue: "q", User: "ann", Procs: 10, Limit: 100}, queue)
		tr.Law(j, 0)
		w := f.member(j)
		w.rank = rank
		f.queued = append(f.queued, w)
	}
	r := &RankedRequest{Request: track.Request{Queue: "q", User: "ann", Procs: 1, Limit: 100}}
	own := f.reserved(10, 0, r)
	if own == nil {
		t.Fatal("ann may not use her reservation")
	}
	if futures, _ := own.play(10, r, &Scratch{Replicas: 8}); len(futures) != 8 {
		t.Errorf("%d futures, want 8", len(futures))
	}
}
