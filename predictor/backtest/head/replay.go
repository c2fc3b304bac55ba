package head

import (
	"cmp"
	"math"
	"slices"
)

// ask is a job that has reached the head of the queue and cannot start, with the data known at that instant. Times are
// in seconds.
type ask struct {
	job        *Job
	at         float64
	need, free int
	running    []*Job // in order of start
	lastStart  float64
	lastEnd    float64
	wait       float64 // the outcome: the wait from then on, which is unknown at that instant
	passed     int     // number of asks before this one
}

// watcher receives the events of a replay.
type watcher interface {
	started(index int64, j *Job)
	ended(index int64, j *Job)
	asked(a *ask) error
}

// replay passes the ends, starts and asks of a trace to a watcher, until the last job has reached the head of the
// queue. An ask is passed before the events that happen after it. jobs are in order of start, with their times.
func replay(jobs []Job, procs int, w watcher) error {
	r := replayer{jobs: jobs, watcher: w, free: procs, lastEnd: math.NaN()}
	for i := range jobs {
		j := &jobs[i]
		head := j.Submit
		if i > 0 {
			r.start(i - 1)
			head = max(head, jobs[i-1].Start)
		}
		r.ends(head)
		if j.Procs <= r.free {
			continue
		}
		a := ask{
			job: j, at: head, need: j.Procs - r.free, free: r.free, running: r.order(), wait: j.Start - head,
			lastStart: jobs[max(0, i-1)].Start, lastEnd: r.lastEnd, passed: r.asks,
		}
		if err := w.asked(&a); err != nil {
			return err
		}
		r.asks++
	}
	return nil
}

type replayer struct {
	jobs    []Job
	watcher watcher
	running []int // indices of running jobs; the first to end is the last element
	free    int
	lastEnd float64
	asks    int
	sorted  []*Job
}

func (r *replayer) start(i int) {
	j := &r.jobs[i]
	r.ends(j.Start)
	at, _ := slices.BinarySearchFunc(r.running, i, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.jobs[b].End, r.jobs[a].End), cmp.Compare(b, a))
	})
	r.running = slices.Insert(r.running, at, i)
	r.free -= j.Procs
	r.watcher.started(int64(i), j)
}

// ends passes the ends up to an instant to the watcher.
func (r *replayer) ends(until float64) {
	for len(r.running) > 0 {
		i := r.running[len(r.running)-1]
		j := &r.jobs[i]
		if j.End > until {
			return
		}
		r.running = r.running[:len(r.running)-1]
		r.free += j.Procs
		r.lastEnd = j.End
		r.watcher.ended(int64(i), j)
	}
}

// order returns the running jobs in order of start, so that the order tells nothing about their ends.
func (r *replayer) order() []*Job {
	indices := slices.Clone(r.running)
	slices.Sort(indices)
	r.sorted = r.sorted[:0]
	for _, i := range indices {
		r.sorted = append(r.sorted, &r.jobs[i])
	}
	return r.sorted
}
