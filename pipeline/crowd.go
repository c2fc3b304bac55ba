package pipeline

import (
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
	c.running, c.takes = make(map[uint64]*cluster.Job, len(v.Running)), map[string][]shape{}
	all := map[string][]shape{}
	for _, j := range v.Running {
		c.running[engineID(j)] = j
		all[j.Queue] = append(all[j.Queue], shape{j.Procs, j.TimeLimit})
	}
	for _, j := range v.Queued {
		all[j.Queue] = append(all[j.Queue], shape{j.Procs, j.TimeLimit})
	}
	for queue, shapes := range all {
		slices.SortFunc(shapes, func(a, b shape) int {
			if a.procs != b.procs {
				return b.procs - a.procs
			}
			return int(max(-1, min(1, b.limit-a.limit)))
		})
		longest := time.Duration(-1)
		c.takes[queue] = slices.DeleteFunc(shapes, func(s shape) bool {
			covered := s.limit <= longest
			longest = max(longest, s.limit)
			return covered
		})
	}
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
