package cluster

import (
	"fmt"
	"slices"

	"github.com/waitcast/waitcast/job"
)

// Dimension is a resource of which a job takes a number and a pool has a number.
type Dimension uint8

// The dimensions. Memory counts bytes; as a size it is in shares of one processor's memory, see Pool.Size.
const (
	Procs Dimension = iota
	Nodes
	GPUs
	Memory
	dimensions
)

var dimensionNames = [...]string{Procs: "procs", Nodes: "nodes", GPUs: "gpus", Memory: "memory"}

// String returns the dimension as the configuration and answers write it.
func (d Dimension) String() string {
	if int(d) < len(dimensionNames) {
		return dimensionNames[d]
	}
	return fmt.Sprintf("dimension(%d)", uint8(d))
}

// ParseDimension returns the dimension of that name.
func ParseDimension(name string) (Dimension, bool) {
	i := slices.Index(dimensionNames[:], name)
	return Dimension(max(i, 0)), i >= 0
}

// Vector is an amount in every dimension; 0 means unknown in what a pool has, and none in what a job takes.
type Vector [dimensions]int64

// plus returns v and n times u.
func (v Vector) plus(n int64, u Vector) Vector {
	for d := range v {
		v[d] += n * u[d]
	}
	return v
}

func (v Vector) highest(u Vector) Vector {
	for d := range v {
		v[d] = max(v[d], u[d])
	}
	return v
}

// PoolConfig describes a pool by hand.
type PoolConfig struct {
	Name string
	// Queues use the pool; those that no pool names use the first.
	Queues []string
	// Has is what the pool has; 0 in a dimension means the highest use seen.
	Has Vector
	// Policy is the scheduling policy, for forecasts: fcfs, easy or priority (by the order of Queues if the jobs' own
	// priorities are not known); empty if it must be learnt.
	Policy string
	// Binds is what binds there; nil means that it is found.
	Binds *Dimension
}

// Where the size of a pool is known from: the values of Pool.Source.
const (
	FromConfig     = "configured"
	FromScheduler  = "scheduler"
	FromHighestUse = "highest_use"
)

// Pool is a set of nodes for which the jobs of some queues compete, and no others do: queues that share a node share
// the pool.
type Pool struct {
	Name string
	// Queues use the pool, sorted; none means all that no other pool has.
	Queues []string
	// Has is what the pool has for jobs now; nodes that are down are not in it, and neither are those of an outage that
	// goes on. Used is what running jobs hold.
	Has, Used Vector
	// Node is the most that one node has, 0 where that is not known.
	Node Vector
	// Binds is the dimension in which the jobs of the pool run short first.
	Binds Dimension
	// Pressure is, for each dimension, the part of it that was in use lately while jobs waited: what Binds is found by.
	Pressure [dimensions]float64
	// Source is where Has is known from.
	Source string
	// Own is what the nodes of a queue have, for queues that cannot use them all.
	Own map[string]Vector
	// Total is the pool's amount by the configuration or the scheduler, with nodes that are down or in an outage; 0 in
	// a dimension that neither has. OwnTotal is the same of queues that cannot use all nodes.
	Total    Vector
	OwnTotal map[string]Vector
	// Outages take away some of it, now or later; sorted by their beginnings.
	Outages []job.Outage
}

// Dimension returns what binds for such a job: what binds in the pool, but processors where the job takes nothing of
// that.
func (p *Pool) Dimension(a *job.Attributes) Dimension {
	if d := p.Binds; d != Procs && p.takes(a)[d] > 0 && p.Has[d] > 0 {
		return d
	}
	return Procs
}

// Capacity returns the size of the pool in a dimension: a number of processors, nodes, GPUs or, of memory, of one
// processor's shares.
func (p *Pool) Capacity(d Dimension) int {
	if d == Memory {
		return int(p.Has[Procs])
	}
	return int(p.Has[d])
}

// Room returns the processors of the pool and how many of them are free: none where running jobs hold more than the
// pool has. All answers have capacity and free processors from here.
func (p *Pool) Room() (procs, free int) {
	procs = p.Capacity(Procs)
	return procs, max(0, procs-int(p.Used[Procs]))
}

// Size returns the size of a job in a dimension, in the unit of Capacity; 0 means that it takes nothing of it, or that
// it is not known.
func (p *Pool) Size(a *job.Attributes, d Dimension) int {
	amount := p.takes(a)[d]
	if d == Memory && p.Has[Memory] > 0 {
		share := max(1, p.Has[Memory]/max(1, p.Has[Procs]))
		amount = (amount + share - 1) / share
	}
	return int(amount)
}

// takes returns what a job of such attributes holds while it runs.
func (p *Pool) takes(a *job.Attributes) Vector {
	v := Vector{Procs: int64(a.Procs), Nodes: int64(a.Nodes), GPUs: int64(a.GPUs), Memory: a.Memory}
	if v[Nodes] == 0 && p.Node[Procs] > 0 {
		v[Nodes] = (v[Procs] + p.Node[Procs] - 1) / p.Node[Procs]
	}
	if a.Whole {
		v = v.highest(Vector{}.plus(v[Nodes], p.Node))
	}
	return v
}

// Fits reports whether the pool, or the part of it that the queue can use, is large enough for a job of such a size.
func (p *Pool) Fits(queue string, size int, d Dimension) bool {
	return size <= p.Limit(queue, d)
}

// Limit returns the capacity of the part of the pool that the queue can use.
func (p *Pool) Limit(queue string, d Dimension) int {
	if own, ok := p.Own[queue]; ok {
		part := Pool{Has: own}
		return min(part.Capacity(d), p.Capacity(d))
	}
	return p.Capacity(d)
}

// Known returns the amount of a resource that the queue has by the configuration or the scheduler, nodes that are down
// or in an outage included. known is false if neither has it: the highest use seen is no bound.
func (p *Pool) Known(queue string, d Dimension) (amount int64, known bool) {
	total := p.Total
	if own, ok := p.OwnTotal[queue]; ok {
		total = own
	}
	// A scheduler that lists its nodes without GPUs has none; if it does not list memory, memory does not run out.
	told := total[d] > 0 || d == GPUs && p.Source == FromScheduler
	return total[d], told
}

// Grown returns the pool, or, where its size is known from use only and a job is larger, a copy that has room for the
// job.
func (p *Pool) Grown(a *job.Attributes) *Pool {
	d := p.Dimension(a)
	size := p.Size(a, d)
	if _, known := p.Known(a.Queue, d); known || d == Memory || p.Has[d] == 0 || int64(size) <= p.Has[d] {
		return p
	}
	grown := *p
	grown.Has[d] = int64(size)
	return &grown
}
