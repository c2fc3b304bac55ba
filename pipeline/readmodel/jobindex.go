package readmodel

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
)

// jobIndex indexes a view's jobs for the requests to the view. The first request builds it. Parts that only some
// requests need are added by these.
type jobIndex struct {
	once sync.Once
	// running are the running jobs by EngineID.
	running map[uint64]*cluster.Job
	// takes has the shapes (size and time limit) of the largest jobs of each queue, without shapes that another one
	// equals or exceeds in both size and limit. The widest comes first, the longest last.
	takes map[string][]shape
	// unsized has the number of waiting jobs whose size is in no record yet, by queue. Jobs whose queue is unknown,
	// too, are counted under "".
	unsized map[string]int
	// queues has the names of all queues, sorted. reported has the queues whose limits the scheduler reports, by name.
	queuesOnce sync.Once
	queues     []string
	reported   map[string]*job.QueueFacts
	// beyond caches, by owner, the amount by which reported priorities exceed those of the rules.
	beyond sync.Map
	// rests caches the remaining waits of waiting jobs in the simulated futures, by EngineID.
	rests sync.Map
	// waiting are the waiting jobs with the number of jobs ahead of each.
	waitingOnce sync.Once
	waiting     []Waiting
	// submissions are the limits on running and waiting jobs.
	submissionsOnce sync.Once
	submissions     *joblimits.Set
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
	// Grouping the jobs by queue and processors first takes a third of the time of sorting them all, because there are
	// few sizes. Requests wait during that time.
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
	c.unsized = map[string]int{}
	for _, j := range v.Queued {
		if j.Held || j.Procs >= 1 && !j.Guessed() {
			continue
		}
		queue := j.Queue
		if j.Unqueued {
			queue = ""
		}
		c.unsized[queue]++
	}
	c.takes = make(map[string][]shape, len(longest))
	for queue, sizes := range longest {
		c.takes[queue] = largest(sizes)
	}
}

// buildQueues indexes the queues of a view, at its first call.
func (c *jobIndex) buildQueues(v *View) {
	c.queuesOnce.Do(func() {
		c.queues, c.reported = v.Queues(), map[string]*job.QueueFacts{}
		if v.Facts == nil {
			return
		}
		for i := range v.Facts.Queues {
			c.reported[v.Facts.Queues[i].Name] = &v.Facts.Queues[i]
		}
	})
}

// largest returns the maximal pairs of size and time limit, the widest first.
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

// took reports whether a queue has a job with at least the given number of processors and the given limit.
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

// Unsized returns the number of waiting jobs that may be in the pool of a queue, and whose size is in no record yet. A
// source of listings reports the size of a new job a few seconds after its submission.
func (v *View) Unsized(queue string) int {
	n := 0
	for name, jobs := range v.index().unsized {
		if name == "" || name == queue || v.Engine != nil && v.Engine.SamePool(name, queue) {
			n += jobs
		}
	}
	return n
}
