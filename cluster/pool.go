package cluster

import (
	"fmt"
	"slices"

	"github.com/waitcast/waitcast/job"
)

// Dimension is a countable resource of jobs and pools.
type Dimension uint8

// These are the dimensions. A Vector has Memory in bytes. Pool.Size returns the size of a job in Memory in shares: a
// share is the pool's memory for each of its processors.
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

// Vector is an amount in every dimension. In a pool 0 means unknown, in a job it means none.
type Vector [dimensions]int64

// plus returns v plus n times u.
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

// PoolConfig describes a configured pool.
type PoolConfig struct {
	Name string
	// Queues use the pool. Queues that no pool names use the first pool.
	Queues []string
	// Has is the capacity of the pool. 0 in a dimension means the highest use seen.
	Has Vector
	// Policy is the scheduling policy, for forecasts: fcfs, easy or priority; empty if it must be learnt. If the
	// jobs' own priorities are unknown, the policy priority uses the order of Queues.
	Policy string
	// Binds is the binding dimension; nil means that it is measured.
	Binds *Dimension
}

// These are the origins of the size of a pool: the values of Pool.Source.
const (
	FromConfig     = "configured"
	FromScheduler  = "scheduler"
	FromHighestUse = "highest_use"
)

// Pool is a set of nodes for which only the jobs of some queues compete. Queues that share a node share the pool.
type Pool struct {
	Name string
	// Queues use the pool; they are sorted. Queues that no pool names use the first pool.
	Queues []string
	// Has is what jobs can use now, without nodes that are down or in a current outage. Used is what running jobs
	// hold.
	Has, Used Vector
	// Node is the largest amount of one node, 0 if unknown.
	Node Vector
	// Binds is the dimension that jobs of the pool run short of first.
	Binds Dimension
	// Pressure is the recent average use of each dimension while jobs waited, as a part of its capacity. It
	// determines Binds.
	Pressure [dimensions]float64
	// Source is the origin of Has.
	Source string
	// Own has the capacity of the nodes of a queue, for queues that cannot use all nodes of the pool.
	Own map[string]Vector
	// Total is the configured or reported capacity, including nodes that are down or in an outage; 0 in a dimension
	// means that none is known. OwnTotal has the same capacity of the nodes of a queue, for queues that cannot use all
	// nodes.
	Total    Vector
	OwnTotal map[string]Vector
	// Outages reduce the capacity now or later; sorted by their beginnings.
	Outages []job.Outage
}

// Dimension returns the dimension in which a job with these attributes is measured. It is the binding dimension, or
// processors if the job needs nothing of the binding one.
func (p *Pool) Dimension(a *job.Attributes) Dimension {
	if d := p.Binds; d != Procs && p.takes(a)[d] > 0 && p.Has[d] > 0 {
		return d
	}
	return Procs
}

// Capacity returns the size of the pool in a dimension: a number of processors, of nodes or of GPUs. For memory it is
// the number of processors, because each processor has one share of the memory.
func (p *Pool) Capacity(d Dimension) int {
	if d == Memory {
		return int(p.Has[Procs])
	}
	return int(p.Has[d])
}

// Room returns the number of processors of the pool, and how many of them are free. free is 0 if running jobs hold more
// than the pool has. All answers take capacity and free processors from this method.
func (p *Pool) Room() (procs, free int) {
	procs = p.Capacity(Procs)
	return procs, max(0, procs-int(p.Used[Procs]))
}

// Size returns the size of a job in a dimension, in the unit of Capacity; 0 means none or unknown.
func (p *Pool) Size(a *job.Attributes, d Dimension) int {
	amount := p.takes(a)[d]
	if d == Memory && p.Has[Memory] > 0 {
		share := max(1, p.Has[Memory]/max(1, p.Has[Procs]))
		amount = (amount + share - 1) / share
	}
	return int(amount)
}

// takes returns the amounts that a job with these attributes holds while it runs.
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

// Fits reports whether the pool, or the part of it that the queue can use, is large enough for a job of the given size.
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

// Known returns the configured or reported amount of a resource for the queue, including nodes that are down or in an
// outage. known is false if there is no such value, because the highest use seen is no bound.
func (p *Pool) Known(queue string, d Dimension) (amount int64, known bool) {
	total := p.Total
	if own, ok := p.OwnTotal[queue]; ok {
		total = own
	}
	// A scheduler that lists nodes without GPUs has no GPUs. If it lists nodes without memory, memory is not limited.
	told := total[d] > 0 || d == GPUs && p.Source == FromScheduler
	return total[d], told
}

// Grown returns the pool. If the pool's size is known only from its use and the job is larger, it returns a copy that
// is enlarged to the job's size. It never enlarges memory, nor a pool that has had no use yet.
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
