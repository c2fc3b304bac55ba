package pipeline

import (
	"reflect"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// TestNodesOfPools proves that for a pool the engine gets the scheduler's nodes that are up and belong to the pool's
// queues. For a configured pool with GPUs or memory it gets equal nodes.
func TestNodesOfPools(t *testing.T) {
	facts := &job.Facts{
		Nodes: []job.NodeGroup{
			{Queues: []string{"gpu", "short"}, Count: 5, Down: 2,
				Node: job.NodeResources{Procs: 16, GPUs: 4, GPUType: "a100", Memory: 64 << 30}},
			{Queues: []string{"other"}, Count: 9, Node: job.NodeResources{Procs: 8}},
		},
		Queues: []job.QueueFacts{{Name: "gpu", Whole: true}, {Name: "short", ProcMemory: 1 << 30},
			{Name: "other", NodeMemory: 1 << 40}},
	}
	gpus := []engine.NodeGroup{{Queues: []string{"gpu", "short"}, Count: 3, Procs: 16, GPUs: 4, GPUType: "a100",
		Memory: 64 << 30}}
	rules := map[string]engine.QueueRules{"gpu": {Whole: true}, "short": {ProcMemory: 1 << 30}}
	byHand := func(v cluster.Vector) *cluster.Pool {
		return &cluster.Pool{Queues: []string{"gpu"}, Source: cluster.FromConfig, Total: v}
	}
	for name, c := range map[string]struct {
		facts *job.Facts
		pool  *cluster.Pool
		want  *engine.Nodes
	}{
		"reported": {facts, &cluster.Pool{Queues: []string{"gpu", "short"}, Source: cluster.FromScheduler},
			&engine.Nodes{Groups: gpus, Queues: rules}},
		"known from use": {nil, &cluster.Pool{Source: cluster.FromHighestUse}, nil},
		"configured": {nil, byHand(cluster.Vector{cluster.Procs: 128, cluster.Nodes: 4, cluster.GPUs: 16,
			cluster.Memory: 1 << 40}),
			&engine.Nodes{Groups: []engine.NodeGroup{{Count: 4, Procs: 32, GPUs: 4, Memory: 1 << 38}}}},
		"configured without nodes": {nil, byHand(cluster.Vector{cluster.Procs: 128, cluster.GPUs: 16}),
			&engine.Nodes{Groups: []engine.NodeGroup{{Count: 1, Procs: 128, GPUs: 16}}, Totals: true}},
		"unequal nodes": {nil, byHand(cluster.Vector{cluster.Procs: 129, cluster.Nodes: 4, cluster.GPUs: 16}),
			&engine.Nodes{Groups: []engine.NodeGroup{{Count: 1, Procs: 129, GPUs: 16}}, Totals: true}},
		"processors alone": {nil, byHand(cluster.Vector{cluster.Procs: 128, cluster.Nodes: 4}), nil},
	} {
		if got := nodesOf(c.facts, c.pool); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestNodesOfJobs proves that a forecast uses the nodes that the records of running jobs' starts name, even if the
// sizes of these jobs become known later. Two of four GPUs are in use on each of three nodes, so no node has four free
// GPUs. If only the sizes were known, two of the jobs could share a node.
func TestNodesOfJobs(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	for name, c := range map[string]struct {
		nodes       []string
		late, waits bool
	}{"known": {nodes, false, true}, "known before the sizes": {nodes, true, true},
		"unknown": {[]string{"", "", ""}, false, false}} {
		cfg := testConfig()
		cfg.Clusters[0].Procs = 0
		p, src := newPipeline(cfg, nil, collector.Live)
		facts := event(job.Machine, job.MachineID, 0)
		facts.Facts = &job.Facts{Nodes: []job.NodeGroup{{Queues: []string{"a"}, Count: 3,
			Names: []string{"n1", "n2", "n3"}, Node: job.NodeResources{Procs: 16, GPUs: 4}}}}
		events, late := []job.Event{facts}, []job.Event(nil)
		for i, node := range c.nodes {
			id := string(rune('1' + i))
			submit, start := sized(event(job.Submit, id, 1), 1), event(job.Start, id, 2)
			submit.Queue, submit.Nodes, submit.GPUs, submit.TimeLimit = "a", 1, 2, time.Hour
			start.NodeNames = node
			if c.late { // by a listing that was taken before the start
				details := submit
				details.Kind, details.Time, details.Times = job.Update, at(3), job.Times{}
				submit = event(job.Submit, id, 1)
				late = append(late, details)
			}
			events = append(events, submit, start)
		}
		events = append(events, late...)
		take(t, p, &source.Delivery{Source: src, Events: append(events, sized(event(job.Submit, "x", 9), 1))})
		holders := func(gpus int) int {
			r := readmodel.EngineRequest(&job.Attributes{Queue: "a", Procs: 1, GPUs: gpus, Nodes: 1})
			return len(p.View("c").Engine.Pivots(&r))
		}
		if holders(2) > 0 || (holders(4) > 0) != c.waits {
			t.Errorf("nodes %s: two GPUs wait for %d jobs, four for %d; want none, and some: %v", name, holders(2),
				holders(4), c.waits)
		}
	}
}
