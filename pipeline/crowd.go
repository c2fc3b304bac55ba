package pipeline

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waitcast/waitcast/cluster"
)

// crowd is what many requests to one view look up among its jobs. It is made at the first.
type crowd struct {
	once sync.Once
	// running are the jobs that run, by the engine's names.
	running map[uint64]*cluster.Job
	// takes are the largest jobs that each queue has: none is as large and as long as another. The widest comes first, the longest last.
	takes map[string][]shape
}

// shape is a size and a time limit.
type shape struct {
	procs int
	limit time.Duration
}

// crowded returns the index of a view's jobs.
func (v *View) crowded() *crowd {
	c := v.crowd
	if c == nil { // a view that nobody published
		c = &crowd{}
	}
	c.once.Do(func() { c.look(v) })
	return c
}

func (c *crowd) look(v *View) {
	c.running = make(map[uint64]*cluster.Job, len(v.Running))
	for _, j := range v.Running {
		c.running[engineID(j)] = j
	}
	longest := map[string]map[int]time.Duration{} // by queue and processors: there are few sizes, so that this takes a third of what sorting the jobs does, for which requests would wait
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

// largest returns the sizes with their longest limits of which none is as large and as long as another, the widest first.
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
func (c *crowd) took(queue string, procs int, limit time.Duration) bool {
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
