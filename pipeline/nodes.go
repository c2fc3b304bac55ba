package pipeline

import (
	"slices"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// nodeSource has the inputs from which the nodes of a pool are derived (see nodesOf). If none of them has changed, the
// nodes have not changed.
type nodeSource struct {
	facts  *job.Facts
	source string
	total  cluster.Vector
}

// nodesOf returns the nodes of a pool for the engine, nil if nothing is known. They are the nodes that the scheduler
// reports, without those that are down. For a pool that is configured with GPUs or memory, the nodes are assumed to be
// equal, each with an equal part of the pool. If processors or GPUs cannot be divided so, or the number of nodes is
// unknown, one node stands for the whole pool.
func nodesOf(facts *job.Facts, p *cluster.Pool) *engine.Nodes {
	out := &engine.Nodes{Queues: queueRules(facts, p)}
	switch {
	case p.Source == cluster.FromScheduler && facts != nil:
		for _, g := range facts.Nodes {
			if !slices.ContainsFunc(g.Queues, func(q string) bool { return slices.Contains(p.Queues, q) }) {
				continue
			}
			out.Groups = append(out.Groups, engine.NodeGroup{Queues: g.Queues, Count: g.Count - g.Down,
				Procs: g.Node.Procs, GPUs: g.Node.GPUs, Memory: g.Node.Memory, GPUType: g.Node.GPUType,
				Names: g.Names})
		}
	case p.Source == cluster.FromConfig && (p.Total[cluster.GPUs] > 0 || p.Total[cluster.Memory] > 0):
		count := max(1, p.Total[cluster.Nodes])
		if p.Total[cluster.Procs]%count != 0 || p.Total[cluster.GPUs]%count != 0 {
			count = 1
		}
		out.Totals = count == 1 && p.Total[cluster.Nodes] != 1
		out.Groups = []engine.NodeGroup{{Count: int(count), Procs: int(p.Total[cluster.Procs] / count),
			GPUs: int(p.Total[cluster.GPUs] / count), Memory: p.Total[cluster.Memory] / count}}
	}
	if len(out.Groups) == 0 {
		return nil
	}
	return out
}

// queueRules returns, by queue, the rules of a pool's queues about the use of nodes; nil if there are none.
func queueRules(facts *job.Facts, p *cluster.Pool) map[string]engine.QueueRules {
	if facts == nil {
		return nil
	}
	var out map[string]engine.QueueRules
	for i := range facts.Queues {
		q := &facts.Queues[i]
		rules := engine.QueueRules{Whole: q.Whole, ProcMemory: max(0, q.ProcMemory), NodeMemory: max(0, q.NodeMemory)}
		if rules == (engine.QueueRules{}) || !slices.Contains(p.Queues, q.Name) {
			continue
		}
		if out == nil {
			out = map[string]engine.QueueRules{}
		}
		out[q.Name] = rules
	}
	return out
}
