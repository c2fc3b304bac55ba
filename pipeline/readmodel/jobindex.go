package readmodel

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waitcast/waitcast/cluster"
)

// jobIndex indexes a view's jobs for the requests to it. It is built at the first request; beyond alone grows
// afterwards.
type jobIndex struct {
	once sync.Once
	// running are the running jobs by EngineID.
	running map[uint64]*cluster.Job
	// takes are the largest jobs of each queue: none is as large and as long as another. The widest comes first, the
	// longest last.
	takes map[string][]shape
	// beyond are the corrections of the rules' priorities by owner, as far as they were asked for.
	beyond sync.Map
}

// shape is a size and a time limit.
type shape struct {
	procs int
	limit time.Duration
}

func (c *jobIndex) build(v *cluster.View) {
	c.running = make(map[uint64]*cluster.Job, len(v.Running))
	for _, j := range v.Running {
		c.running[EngineID(j)] = j
	}
	// By queue and processors. There are few sizes, so that this takes a third of the time of sorting all jobs, for
	// which requests would wait.
	longest := map[string]map[int]time.Duration{}
	for _, jobs := range [][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range jobs {
			sizes := longest[j.Queue]
			if sizes == nil {
				sizes = map[int]time.Duration{}
				longest[j.Queue] = sizes
			}
			if limit, ok := sizes[j.Procs]; !ok || limit < j.TimeLimit {
				sizes[j.Procs] = j.TimeLimit
			}
		}
	}
	c.takes = make(map[string][]shape, len(longest))
	for queue, sizes := range longest {
		c.takes[queue] = largest(sizes)
	}
}

// largest returns the sizes with their longest limits of which none is as large and as long as another, the widest
// first.
func largest(sizes map[int]time.Duration) []shape {
	var out []shape
	longest := time.Duration(-1)
	for _, procs := range slices.Backward(slices.Sorted(maps.Keys(sizes))) {
		if limit := sizes[procs]; limit > longest {
			out = append(out, shape{procs, limit})
			longest = limit
		}
	}
	return out
}

// took reports whether a queue has a job of at least so many processors and at least so long a limit.
func (c *jobIndex) took(queue string, procs int, limit time.Duration) bool {
	for _, s := range c.takes[queue] {
		if s.procs < procs {
			return false
		}
		if s.limit >= limit {
			return true
		}
	}
	return false
}
