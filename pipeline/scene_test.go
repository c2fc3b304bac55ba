package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// ruled returns the event with a scheduler's report of three queues. Two of them use the same nodes, and one of these
// two has a higher tier; the third has its own nodes. Priorities depend on the wait and the queue.
func ruled() job.Event {
	ev := event(job.Machine, job.MachineID, 0)
	node := job.NodeResources{Procs: 8}
	ev.Facts = &job.Facts{
		Nodes: []job.NodeGroup{{Queues: []string{"a", "high"}, Count: 4, Node: node},
			{Queues: []string{"own"}, Count: 2, Node: node}},
		Queues:  []job.QueueFacts{{Name: "a", Factor: 1}, {Name: "high", Tier: 1, Factor: 1}, {Name: "own", Factor: 2}},
		Weights: &job.Weights{Age: 1000, Queue: 10, MaxAge: 1000 * time.Second},
	}
	return ev
}

func inQueue(ev job.Event, queue string, procs int, priority int64) job.Event {
	ev.Attributes = job.Attributes{Queue: queue, Procs: procs, Priority: priority}
	return ev
}

func ids(jobs []*cluster.Job) []string {
	out := []string{}
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

// TestWhoIsAhead proves that the jobs ahead of a request are those in its own pool that come first by the scheduler's
// rules: by tier, then by priority, then by submission.
func TestWhoIsAhead(t *testing.T) {
	cfg := testConfig()
	cfg.Clusters[0].Procs = 0
	p, src := newPipeline(cfg, nil, collector.Live)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		ruled(), inQueue(event(job.Submit, "full", 1), "a", 32, 0), event(job.Start, "full", 1),
		inQueue(event(job.Submit, "boosted", 500), "a", 1, 5000), inQueue(event(job.Submit, "low", 501), "a", 1, 1),
		inQueue(event(job.Submit, "waits", 600), "a", 2, 0), inQueue(event(job.Submit, "high", 610), "high", 2, 0),
		inQueue(event(job.Submit, "own", 620), "own", 2, 0),
		inQueue(event(job.Submit, "me", 700), "a", 4, 0), inQueue(event(job.Submit, "twin", 700), "a", 4, 0),
		inQueue(event(job.Submit, "above", 700), "high", 4, 0),
	}})
	v := p.View("c")
	if d := cmp.Diff([]string{"high", "above", "boosted", "waits", "me", "twin"},
		ids(v.Scene(at(700), job.Attributes{Queue: "a", Procs: 1}).Ahead)); d != "" {
		t.Errorf("ahead of a request (-want +got): %s", d)
	}
	own := v.Scene(at(700), job.Attributes{Queue: "own", Procs: 1})
	if d := cmp.Diff([]string{"own"}, ids(own.Ahead)); d != "" || len(own.Running) > 0 || own.Capacity() != 16 {
		t.Errorf("ahead in another pool of %d processors (-want +got): %s", own.Capacity(), d)
	}
}
