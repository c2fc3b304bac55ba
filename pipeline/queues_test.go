package pipeline

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// TestJobOfSeveralQueues proves that a waiting job that requested two queues is one job of the picture and the engine,
// whose forecast is at no level later than in either queue; that after its start, its queue is the one in which it ran,
// in the picture, the ledger and the engine; and that the start that Slurm expected is scored beside the forecast.
func TestJobOfSeveralQueues(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	facts := event(job.Machine, job.MachineID, 0)
	group := func(queue string) job.NodeGroup {
		return job.NodeGroup{Queues: []string{queue}, Count: 1, Node: job.NodeResources{Procs: 8}}
	}
	facts.Facts = &job.Facts{Nodes: []job.NodeGroup{group("a"), group("b")},
		Queues:  []job.QueueFacts{{Name: "a", Factor: 10}, {Name: "b", Factor: 100}},
		Weights: &job.Weights{Queue: 1000}}
	s.deliver(s.squeue, facts)
	s.deliver(s.log, event(job.Submit, "1", 1), event(job.Start, "1", 1), event(job.Submit, "2", 2),
		event(job.Start, "2", 2))
	one := listed{id: "1", user: "ann", procs: 8, submit: 1, eligible: 1, start: 1}
	two := listed{id: "2", user: "bob", procs: 8, submit: 2, eligible: 2, start: 2, queue: "b"}
	s.list(5, one, two)
	s.deliver(s.log, event(job.Submit, "3", 10))
	three := listed{id: "3", user: "eve", reason: "Resources", procs: 8, submit: 10, eligible: 10, queue: "a,b",
		planned: 1805}
	s.list(20, one, two, three)
	v := s.pipeline.View("c")
	if len(v.Queued) != 1 || v.Queued[0].Queue != "a" || v.Queued[0].Queues != "a,b" {
		t.Fatalf("waiting: %+v", v.Queued)
	}
	forecast := func(queue, queues string) []float64 {
		r := v.PrioritizedRequest(&job.Attributes{Queue: queue, Queues: queues, Procs: 8, User: "x", TimeLimit: 600e9})
		f := v.Engine.Forecast(&r)
		return f.Quantiles
	}
	both, inA, inB := forecast("a", "a,b"), forecast("a", ""), forecast("b", "")
	for l := range both {
		if both[l] > inA[l] || both[l] > inB[l] {
			t.Errorf("forecast for both %v, for a %v, for b %v", both, inA, inB)
		}
	}
	started := event(job.Start, "3", 700)
	started.Queue = "b"
	s.deliver(s.log, event(job.End, "2", 700), started, event(job.Submit, "4", 800))
	v = s.pipeline.View("c")
	if len(v.Queued) != 1 || v.Running[1].Queue != "b" || v.Running[1].Queues != "" {
		t.Errorf("%d wait; running: %+v", len(v.Queued), v.Running[1])
	}
	i := slices.IndexFunc(store.rows, func(r modelstore.Row) bool { return r.JobID == "3" })
	if i < 0 || store.rows[i].Queue != "b" || store.rows[i].WaitSeconds != 690 {
		t.Fatalf("rows: %+v", store.rows)
	}
	k := slices.IndexFunc(store.rows[i].Peers, func(p modelstore.Peer) bool { return p.Method == accuracy.SlurmPlan })
	if k < 0 || store.rows[i].Peers[k].Quantiles[0] != 1795 {
		t.Errorf("other methods: %+v", store.rows[i].Peers)
	}
	// A job of b now waits for job 3, and one of a does not.
	if free := v.Pool("b").Has[0] - v.Pool("b").Used[0]; free != 0 {
		t.Errorf("%d processors of b are free", free)
	}
}
