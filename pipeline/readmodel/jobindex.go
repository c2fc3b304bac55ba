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

// jobIndex has data about the jobs of a view that would take too long to find for each query. The first query that
// needs them computes them.
type jobIndex struct {
	once sync.Once
	// running has the running jobs by EngineID.
	running map[uint64]*cluster.Job
	// takes has, by queue, the shapes (size and time limit) of its largest running and waiting jobs. Shapes that
	// another shape equals or exceeds in both size and limit are left out. The shape with the most processors is the
	// first, the one with the longest limit the last.
	takes map[string][]shape
	// unsized has, by queue, the number of waiting jobs that are not held and whose size or queue is in no record yet.
	// Jobs of unknown queue are counted under "".
	unsized map[string]int
	// queues has the names of all queues, sorted. reported has the queues whose limits the scheduler reports, by name.
	queuesOnce sync.Once
	queues     []string
	reported   map[string]*job.QueueFacts
	// beyond caches the results of beyondRules, by owner.
	beyond sync.Map
	// rests caches the results of simulatedRest, by EngineID.
	rests sync.Map
	// waiting has the result of View.Waiting.
	waitingOnce sync.Once
	waiting     []Waiting
	// submissions has the result of submissionLimits.
	submissionsOnce sync.Once
	submissions     *joblimits.Set
}

// shape is the number of processors and the time limit of a job.
type shape struct {
	procs int
	limit time.Duration
}

func (c *jobIndex) build(v *cluster.View) {
	c.running = make(map[uint64]*cluster.Job, len(v.Running))
	for _, j := range v.Running {
		c.running[EngineID(j)] = j
	}
	// Group the jobs by queue and processors first. That takes a third of the time of sorting all jobs, because there
	// are few sizes, and queries wait meanwhile.
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

// buildQueues sets queues and reported at the first call.
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

// largest returns the shapes that no other shape equals or exceeds in both size and limit, the one with the most
// processors first. sizes has the longest time limit by number of processors.
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

// took reports whether a queue has a running or waiting job with at least the given number of processors and at least
// the given limit.
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

// Unsized returns the number of waiting jobs that are not held, whose size or queue is in no record yet, and that may
// be in the pool of a queue. Listings report the size of a new job a few seconds after its submission.
func (v *View) Unsized(queue string) int {
	n := 0
	for name, jobs := range v.index().unsized {
		if name == "" || name == queue || v.Engine != nil && v.Engine.SamePool(name, queue) {
			n += jobs
		}
	}
	return n
}
