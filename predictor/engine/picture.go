package engine

import (
	"math"
	"math/bits"
	"strings"
)

// Request is what a job asks for.
type Request struct {
	// Queue, User and App name what it was submitted to, who did and what it runs; empty where that is not known.
	Queue, User, App string
	// Partition names the part of the machine that the queue's jobs run on, where the log tells it.
	Partition string
	// Procs is the number of processors, at least 1. Limit is the time limit in seconds, 0 where there is none.
	Procs int
	Limit float64
	// Priority is the scheduler's own, the higher the sooner; 0 where that is not known. Where any job that waits in a pool of up to 300 jobs has one, the pool is played in that order.
	Priority float64
}

const (
	mostProcs = 1 << 24 // of a job; what asks for more counts as that
	mostName  = 256     // bytes of a name that tell it from others
)

// clean returns the request with what makes no sense taken out.
func (r *Request) clean() Request {
	out := *r
	out.Procs = min(max(1, out.Procs), mostProcs)
	switch {
	case !(out.Limit > 0):
		out.Limit = 0
	case out.Limit > longest:
		out.Limit = longest
	}
	if !(out.Priority > 0) {
		out.Priority = 0
	}
	out.Priority = math.Min(out.Priority, mostPriority)
	for _, name := range [...]*string{&out.Queue, &out.User, &out.App, &out.Partition} {
		if len(*name) > mostName {
			*name = strings.Clone((*name)[:mostName])
		}
	}
	return out
}

// Classes in which waiting jobs are counted: sizes by powers of two, limits by halves of them from a minute on; the last limit class is for jobs without.
const (
	sizeClasses  = 20
	limitClasses = 28
	unlimited    = limitClasses - 1
)

// sizeClass returns the class of a size: 1, 2, 3-4, 5-8, ...
func sizeClass(procs int) int { return min(bits.Len(uint(max(procs, 1)-1)), sizeClasses-1) }

// limitClass returns the class of a time limit.
func limitClass(limit float64) int {
	if limit <= 0 {
		return unlimited
	}
	return int(math.Min(math.Max(0, math.Ceil(2*math.Log2(limit/60))), unlimited-1))
}

// amount is a number of jobs and what they ask for.
type amount struct{ jobs, procs, work float64 }

// add adds a job, or takes it away. The work is in whole units of 1/64 s (see expect), so that sums are exact and do not depend on their order.
func (a *amount) add(j *tracked, sign float64) {
	a.jobs += sign
	a.procs += sign * float64(j.Procs)
	a.work += sign * math.Min(float64(j.Procs)*j.expected, mostWork)
}

// mostWork bounds what one job counts for, in processor seconds: 100,000 processors for 30 years.
const mostWork = 1e14 / 64

func (a *amount) plus(b amount) {
	a.jobs += b.jobs
	a.procs += b.procs
	a.work += b.work
}

// tally counts jobs by size and limit.
type tally struct {
	total amount
	cells [sizeClasses][limitClasses]amount
}

func (t *tally) add(j *tracked, sign float64) {
	t.total.add(j, sign)
	t.cells[j.size][j.limit].add(j, sign)
}

// upTo returns the jobs of at most the given classes; and those of any limit, and of any size.
func (t *tally) upTo(size, limit int) (both, bySize, byLimit amount) {
	for s := range t.cells {
		for l := range t.cells[s] {
			c := t.cells[s][l]
			if c.jobs == 0 {
				continue
			}
			if s <= size {
				bySize.plus(c)
				if l <= limit {
					both.plus(c)
				}
			}
			if l <= limit {
				byLimit.plus(c)
			}
		}
	}
	return both, bySize, byLimit
}

// bySize returns the jobs of one size class.
func (t *tally) bySize(size int) amount {
	var out amount
	for l := range t.cells[size] {
		out.plus(t.cells[size][l])
	}
	return out
}

// state says where a job is.
type state uint8

const (
	waiting state = iota
	held          // it waits, but does not compete
	running
	left
)

// tracked is a job that waits or runs.
type tracked struct {
	Request
	id            uint64
	seq           uint64 // in the order in which jobs were taken in
	state         state
	told          bool // to those that learn the pools
	submit, start float64
	expected      float64 // runtime, as it was expected at the submission
	size, limit   int     // classes
	queue         *queue
	user          *user
	given         *given // nil where nothing is to be learnt from its start
	law           *law
}

func (j *tracked) waits() bool { return j.state == waiting || j.state == held }

// mean is an exponentially forgetting mean.
type mean struct{ sum, weight float64 }

func (m *mean) add(v, keep float64) {
	m.sum, m.weight = m.sum*keep+v, m.weight*keep+1
}

func (m *mean) value() float64 { return m.sum / m.weight } // NaN where there is none

// recent is what the newest starts of a kind waited, in logarithms.
type recent struct {
	fast, slow, nothing mean
}

func (r *recent) add(z float64) {
	r.fast.add(z, .8)
	r.slow.add(z, .98)
	none := 0.0
	if z <= math.Log(Shift+1) {
		none = 1
	}
	r.nothing.add(none, .95)
}
