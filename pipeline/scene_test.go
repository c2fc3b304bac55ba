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

// ruled is a cluster whose scheduler tells two queues on the same nodes, one of them of a higher tier, one on its own, and that priorities come from waiting and
// the queue.
func ruled() job.Event {
	ev := event(job.Machine, job.MachineID, 0)
	node := job.NodeResources{Procs: 8}
	ev.Facts = &job.Facts{
		Nodes:   []job.NodeGroup{{Queues: []string{"a", "high"}, Count: 4, Node: node}, {Queues: []string{"own"}, Count: 2, Node: node}},
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

// Ahead of a job are those of its own pool that the scheduler's rules put before it: by tier, then by priority, then by submission. The same
// holds for a request that is not submitted.
func TestWhoIsAhead(t *testing.T) {
	cfg := testConfig()
	cfg.Clusters[0].Procs = 0
	p, src := newPipeline(cfg, nil, collector.Live)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		ruled(), inQueue(event(job.Submit, "full", 1), "a", 32, 0), event(job.Start, "full", 1),
		inQueue(event(job.Submit, "boosted", 500), "a", 1, 5000), inQueue(event(job.Submit, "low", 501), "a", 1, 1),
		inQueue(event(job.Submit, "waits", 600), "a", 2, 0), inQueue(event(job.Submit, "high", 610), "high", 2, 0), inQueue(event(job.Submit, "own", 620), "own", 2, 0),
		inQueue(event(job.Submit, "me", 700), "a", 4, 0), inQueue(event(job.Submit, "twin", 700), "a", 4, 0), inQueue(event(job.Submit, "above", 700), "high", 4, 0),
	}})
	l := p.lanes["c"]
	scene := scenes(l.state, l.models, at(700), l.state.Job("me"))
	if d := cmp.Diff([]string{"high", "boosted", "waits"}, ids(scene.Ahead)); d != "" {
		t.Errorf("ahead of the job (-want +got): %s", d)
	}
	if d := cmp.Diff([]string{"full"}, ids(scene.Running)); d != "" {
		t.Errorf("running in its pool (-want +got): %s", d)
	}
	v := p.View("c")
	if d := cmp.Diff([]string{"high", "above", "boosted", "waits", "me", "twin"}, ids(v.Scene(at(700), job.Attributes{Queue: "a", Procs: 1}).Ahead)); d != "" {
		t.Errorf("ahead of a request (-want +got): %s", d)
	}
	own := v.Scene(at(700), job.Attributes{Queue: "own", Procs: 1})
	if d := cmp.Diff([]string{"own"}, ids(own.Ahead)); d != "" || len(own.Running) > 0 || own.Capacity() != 16 {
		t.Errorf("ahead in another pool of %d processors (-want +got): %s", own.Capacity(), d)
	}
}

// A surface that is kept knows the scheduler's rules of then, also after it was saved.
func TestKeptSurfaceKnowsTheRules(t *testing.T) {
	cfg := testConfig()
	cfg.Clusters[0].Procs = 0
	p, src := newPipeline(cfg, nil, collector.Live)
	late := inQueue(event(job.Update, "me", 615), "a", 4, 0)
	bare := ruled()
	bare.Time, bare.Facts = at(605), &job.Facts{Nodes: bare.Facts.Nodes}
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{
		ruled(), inQueue(event(job.Submit, "full", 1), "a", 32, 0), event(job.Start, "full", 1),
		inQueue(event(job.Submit, "low", 501), "a", 1, 1), inQueue(event(job.Submit, "waits", 590), "a", 2, 0), event(job.Submit, "me", 600), bare,
	}})
	l := p.lanes["c"].ledger
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	fresh := newLedger("c")
	if err := fresh.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*ledger{"kept": l, "saved": fresh} {
		o := l.open["me"]
		o.Job.Attributes = late.Attributes
		if d := cmp.Diff([]string{"waits"}, ids(o.Surface.scene("c", o).Ahead)); d != "" {
			t.Errorf("%s: ahead of the job (-want +got): %s", name, d)
		}
	}
}
