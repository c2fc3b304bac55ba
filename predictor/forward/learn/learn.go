// Package learn infers two things from the submissions, starts and ends of jobs alone: which queues of a machine
// compete for the same processors, and by which policy. A forward simulation needs both if they are not configured.
//
// The learner looks for events that contradict a policy. With the right pools, the first job of a queue does not wait
// while it fits into the free processors. If a pool is too large (two pools taken for one) or too small (one taken
// for two), this seems to happen often. A start shows which of the waiting jobs was preferred to which. It may be the
// older one (first come, first served), one that fits while the first one does not (backfilling), or one of the
// better queue.
package learn

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Job has the attributes of a job at its submission.
type Job struct {
	ID    int64
	Queue string
	// Partition is the part of the machine, if the log has it in addition to the queue (field 16 of the Standard
	// Workload Format, beside field 15); otherwise it is empty. Queues of different partitions are in different pools.
	// If the partitions are the queues, as in Slurm, they belong in Queue, because they may share nodes.
	Partition string
	Procs     int
	Limit     float64 // seconds, 0 for unknown
}

// ErrUnknownJob is the error for a start or an end of a job whose submission is unknown or that has ended before, and
// for a second start.
var ErrUnknownJob = errors.New("unknown job")

// ErrBadInput is wrapped by the errors for invalid jobs and times.
var ErrBadInput = errors.New("bad input")

const (
	grace    = 60.  // seconds that a job may wait although it fits, because schedulers run only at intervals
	most     = 2048 // the maximum number of snapshots
	relearn  = 2000 // starts between two searches for pools
	patience = 4    // number of times that a fitting job may be passed before it counts as held
	deepest  = 256  // maximum number of waiting jobs that are examined at one start
	crowd    = 256  // with n running jobs, only one start in 1 + n/crowd is checked against the rule of backfilling
	// The first search for pools comes after 2000/16 starts. The number of starts until the next search then doubles
	// after each search, up to 2000.
	firstFew = 16
	faster   = 1e-12 // tolerance with which times that differ only by rounding count as equal
)

// Learner receives events in order of time. Within one instant ends should come first, then submissions, then starts.
// It keeps the waiting and running jobs, and a few thousand snapshots. It is not safe for concurrent use.
type Learner struct {
	now      float64
	queues   []string
	index    map[string]int
	jobs     map[int64]*job
	waiting  []*job // in order of submission
	running  []*job // in order of their starts
	started  []*job // jobs that started at this instant
	used     []int  // by queue
	dirty    bool
	shots    shots
	pools    []*pool
	poolOf   []int // by queue
	starts   int
	searchAt int
}

type job struct {
	Job
	queue   int
	submit  float64
	start   float64
	running bool
	passed  int // number of starts of younger jobs while this job would have fitted
}

// plan returns the runtime in seconds that the scheduler plans.
func (k *job) plan() float64 {
	if k.Limit > 0 {
		return k.Limit
	}
	return math.Inf(1)
}

// held reports whether something other than a lack of processors seems to keep a job from starting.
func (k *job) held() bool { return k.passed > patience }

// New returns an empty Learner.
func New() *Learner {
	return &Learner{index: map[string]int{}, jobs: map[int64]*job{}, searchAt: relearn / firstFew, now: math.Inf(-1)}
}

// Submit records a job that waits from an instant on, in seconds. For a job that was held it is the instant from
// which the job competes.
func (l *Learner) Submit(at float64, j Job) error {
	if err := l.advance(at); err != nil {
		return err
	}
	if j.Procs < 1 || !(j.Limit >= 0) {
		return fmt.Errorf("%w: job %d has %d processors, limit %v s", ErrBadInput, j.ID, j.Procs, j.Limit)
	}
	if l.jobs[j.ID] != nil {
		return fmt.Errorf("%w: job %d was submitted before and has not ended", ErrBadInput, j.ID)
	}
	k := &job{Job: j, queue: l.queue(&j), submit: at}
	l.jobs[j.ID] = k
	l.waiting = append(l.waiting, k)
	l.dirty = true
	return nil
}

// Start records the start of a job.
func (l *Learner) Start(at float64, id int64) error {
	if err := l.advance(at); err != nil {
		return err
	}
	k := l.jobs[id]
	if k == nil || k.running {
		return fmt.Errorf("start: %w: %d", ErrUnknownJob, id)
	}
	l.waiting = drop(l.waiting, k)
	k.running, k.start = true, at
	l.running = append(l.running, k)
	l.started = append(l.started, k)
	l.used[k.queue] += k.Procs
	l.shots.widest[k.queue] = max(l.shots.widest[k.queue], k.Procs)
	l.dirty = true
	return nil
}

// End records that a job has ended, or that it has been cancelled while it waited.
func (l *Learner) End(at float64, id int64) error {
	if err := l.advance(at); err != nil {
		return err
	}
	k := l.jobs[id]
	if k == nil {
		return fmt.Errorf("end: %w: %d", ErrUnknownJob, id)
	}
	delete(l.jobs, id)
	if k.running {
		l.running = drop(l.running, k)
		l.used[k.queue] -= k.Procs
	} else {
		l.waiting = drop(l.waiting, k)
	}
	l.dirty = true
	return nil
}

func drop(jobs []*job, k *job) []*job {
	if i := slices.Index(jobs, k); i >= 0 {
		return slices.Delete(jobs, i, i+1)
	}
	return jobs
}

// queue returns the index of a queue. A new queue is a pool of its own until the next search.
func (l *Learner) queue(j *Job) int {
	if i, ok := l.index[j.Queue]; ok {
		return i
	}
	i := len(l.queues)
	l.index[j.Queue] = i
	l.queues = append(l.queues, j.Queue)
	l.shots.partition = append(l.shots.partition, j.Partition)
	l.used = append(l.used, 0)
	l.shots.widest = append(l.shots.widest, 0)
	l.poolOf = append(l.poolOf, len(l.pools))
	l.pools = append(l.pools, &pool{queues: []int{i}})
	return i
}

// advance ends the present instant if now is a later one.
func (l *Learner) advance(at float64) error {
	if math.IsNaN(at) || math.IsInf(at, 0) || at < l.now {
		return fmt.Errorf("%w: something happens at %v s, after what happened at %v s", ErrBadInput, at, l.now)
	}
	if at > l.now {
		l.endInstant()
		l.shots.close(at)
		l.now = at
	}
	return nil
}

// endInstant learns from the starts and the waiting jobs of the instant that ends. After enough starts it searches for
// pools.
func (l *Learner) endInstant() {
	if !l.dirty {
		return
	}
	l.dirty = false
	for _, p := range l.pools {
		if !p.searched {
			p.highest = max(p.highest, p.used(l.used))
		}
	}
	for _, k := range l.started {
		l.judge(k)
	}
	l.starts += len(l.started)
	l.started = l.started[:0]
	l.shots.take(l)
	if l.starts >= l.searchAt {
		l.searchAt = l.starts + min(relearn, max(l.starts, relearn/firstFew))
		l.search()
	}
}

// search finds the pools again. A pool that does not change keeps its evidence.
func (l *Learner) search() {
	groups := l.shots.cluster(len(l.queues))
	old := l.pools
	l.pools = nil
	for _, g := range groups {
		p := &pool{queues: g.queues}
		for _, o := range old {
			if slices.Equal(o.queues, g.queues) {
				p = o
			}
		}
		p.highest, p.searched = g.procs, true
		for _, q := range g.queues {
			l.poolOf[q] = len(l.pools)
		}
		l.pools = append(l.pools, p)
	}
}

// Pool is a set of queues whose jobs compete for the same processors.
type Pool struct {
	Queues  []string // sorted
	Procs   int      // maximum that they held, except for 1/200 of the time, but at least the size of the widest job
	Finding Finding
}

// Pools returns the pools that are known so far, the largest first.
func (l *Learner) Pools() []Pool {
	out := make([]Pool, 0, len(l.pools))
	for _, p := range l.pools {
		names := make([]string, len(p.queues))
		for i, q := range p.queues {
			names[i] = l.queues[q]
		}
		slices.Sort(names)
		out = append(out, Pool{Queues: names, Procs: p.highest, Finding: p.find(l.queues)})
	}
	slices.SortFunc(out, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(b.Procs, a.Procs), slices.Compare(a.Queues, b.Queues))
	})
	return out
}
