package track

import (
	"math"
	"math/bits"
	"strings"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job/waittime"
)

// Request is what a job asks for.
type Request struct {
	// Queue is the queue of the request, User its submitter and App its program; empty if not known.
	Queue, User, App string
	// Partition names the part of the machine that the queue's jobs run on, if the log has it.
	Partition string
	// Procs is the number of processors, at least 1. Limit is the time limit in seconds, 0 without one.
	Procs int
	Limit float64
	// Priority is the scheduler's own, the higher the sooner; 0 where that is not known. Where any job that waits in a
	// pool of up to 300 jobs has one, the pool is played in that order.
	Priority float64
	// Account, QOS (the quality of service) and Group decide, together with the user, which limits apply; empty if not
	// known. Nodes, GPUs, Memory (in bytes) and GPUType are the requested resources besides processors, which limits
	// may bound.
	Account, QOS, GPUType string
	Group                 string
	Nodes, GPUs           int
	Memory                int64
	// Whole is whether the job gets its nodes for itself.
	Whole bool
	// Name is the job's id as the scheduler writes it, and Array that of its array if it is a task. After has the names
	// of the jobs that must have ended before it may start, see job.Attributes. They are empty if there are none, and
	// for a request that nobody has submitted.
	Name, Array, After string
	// Throttle is the maximum number of the array's tasks that run at once, 0 without a bound. Tasks is the number of
	// tasks, all of this size, that the request stands for: its wait is that of the last one. 0 means 1.
	Throttle, Tasks int
	// Begin is the instant before which the job may not start, 0 without one. Only forecasts use it: waiting jobs have
	// this instant in their Hold.
	Begin float64
}

// Delay returns for how many seconds from an instant on the job may not start because of its begin time.
func (r *Request) Delay(at float64) float64 {
	if r.Begin == 0 {
		return 0
	}
	return math.Max(0, r.Begin-at)
}

// mostAfter bounds the length of the names of other jobs, in bytes. Beyond it nothing is known about these jobs.
const mostAfter = 1 << 14

// kin returns the request as another job of the same user may repeat it.
func (r *Request) kin() Request {
	out := *r
	out.Name, out.Array, out.After, out.Throttle, out.Tasks, out.Begin = "", "", "", 0, 0, 0
	return out
}

const (
	mostProcs = 1 << 24 // of a job; a job that asks for more counts with this number
	mostName  = 256     // the bytes of a name that distinguish it from others
	// mostMemory is the maximum memory of a job, in bytes, so that sums of thousands of jobs do not overflow.
	mostMemory = 1 << 49
)

// Farthest bounds instants, in seconds.
const Farthest = 1e12

// MostPriority is the highest priority that is distinguished: Slurm's have 32 bits, and what counts before them (tiers)
// may stand above.
const MostPriority = 1 << 52

// Clean returns the request with what makes no sense taken out.
func (r *Request) Clean() Request {
	out := *r
	out.Procs = min(max(1, out.Procs), mostProcs)
	switch {
	case !(out.Limit > 0):
		out.Limit = 0
	case out.Limit > waittime.Longest:
		out.Limit = waittime.Longest
	}
	if !(out.Priority > 0) {
		out.Priority = 0
	}
	out.Priority = math.Min(out.Priority, MostPriority)
	out.Nodes, out.GPUs = min(max(0, out.Nodes), mostProcs), min(max(0, out.GPUs), mostProcs)
	out.Memory = min(max(0, out.Memory), mostMemory)
	if len(out.After) > mostAfter {
		out.After = ""
	}
	out.Throttle, out.Tasks = min(max(0, out.Throttle), mostProcs), min(max(0, out.Tasks), mostProcs)
	if out.Begin = math.Min(out.Begin, Farthest); !(out.Begin > 0) {
		out.Begin = 0
	}
	for _, name := range [...]*string{
		&out.Queue, &out.User, &out.App, &out.Partition, &out.Account, &out.QOS, &out.GPUType,
		&out.Group, &out.Name, &out.Array,
	} {
		if len(*name) > mostName {
			*name = strings.Clone((*name)[:mostName])
		}
	}
	return out
}

// Classes in which waiting jobs are counted: sizes by powers of two, limits by halves of them from a minute on; the
// last limit class is for jobs without.
const (
	SizeClasses  = 20
	LimitClasses = 28
	Unlimited    = LimitClasses - 1
)

// SizeClass returns the class of a size: 1, 2, 3-4, 5-8, ...
func SizeClass(procs int) int { return min(bits.Len(uint(max(procs, 1)-1)), SizeClasses-1) }

// LimitClass returns the class of a time limit.
func LimitClass(limit float64) int {
	if limit <= 0 {
		return Unlimited
	}
	return int(math.Min(math.Max(0, math.Ceil(2*math.Log2(limit/60))), Unlimited-1))
}

// LongestOf returns the longest time limit of a class, in seconds; +Inf for jobs without one.
func LongestOf(class int) float64 {
	switch {
	case class >= Unlimited:
		return math.Inf(1)
	case class == Unlimited-1:
		return waittime.Longest
	}
	return 60 * math.Exp2(float64(class)/2)
}

// Amount is a number of jobs and what they ask for.
type Amount struct{ Jobs, Procs, Work float64 }

// Add adds a job, or takes it away. The work is in whole units of 1/64 s (see Expected), so that sums are exact and do
// not depend on their order.
func (a *Amount) Add(j *Job, sign float64) {
	a.Jobs += sign
	a.Procs += sign * float64(j.Procs)
	a.Work += sign * math.Min(float64(j.Procs)*j.ExpectedRuntime, mostWork)
}

// mostWork bounds the work that one job counts for, in processor seconds: 100,000 processors for 30 years.
const mostWork = 1e14 / 64

// Plus adds another amount.
func (a *Amount) Plus(b Amount) {
	a.Jobs += b.Jobs
	a.Procs += b.Procs
	a.Work += b.Work
}

// JobCounts counts jobs by size and limit.
type JobCounts struct {
	Total Amount
	cells [SizeClasses][LimitClasses]Amount
}

// Add counts a job, or takes it away where sign is -1.
func (t *JobCounts) Add(j *Job, sign float64) {
	t.Total.Add(j, sign)
	t.cells[j.SizeClass][j.LimitClass].Add(j, sign)
}

// UpTo returns the jobs of at most the given classes; and those of any limit, and of any size.
func (t *JobCounts) UpTo(size, limit int) (both, bySize, byLimit Amount) {
	for s := range t.cells {
		for l := range t.cells[s] {
			c := t.cells[s][l]
			if c.Jobs == 0 {
				continue
			}
			if s <= size {
				bySize.Plus(c)
				if l <= limit {
					both.Plus(c)
				}
			}
			if l <= limit {
				byLimit.Plus(c)
			}
		}
	}
	return both, bySize, byLimit
}

// BySize returns the jobs of one size class.
func (t *JobCounts) BySize(size int) Amount {
	var out Amount
	for l := range t.cells[size] {
		out.Plus(t.cells[size][l])
	}
	return out
}

// JobState is the phase of a job's life.
type JobState uint8

// The states of a job.
const (
	Waiting JobState = iota
	Held             // it waits, but does not compete
	Running
	Left
)

// Job is a job that waits or runs.
type Job struct {
	Request
	ID                    uint64
	Number                uint64 // in the order in which jobs were taken in
	State                 JobState
	Observed              bool // to those that learn the pools
	Submit, Start         float64
	ExpectedRuntime       float64 // runtime, as it was expected at the submission
	SizeClass, LimitClass int     // classes
	QueueState            *Queue
	UserState             *user
	Pending               *PendingForecast // nil where nothing is to be learned from its start
	FactsOnly             bool             // its wait is learned although there is no row of its features
	Law                   *Law
	Hold                  Hold              // of one that is held
	Bounds                []joblimits.Bound // the limits that hold for it
	NodeNames             string            // of those that it runs on, between commas; empty where nobody knows
	Prioritized           float64           // when its priority was reported
}

// Hold is what is known of why a job does not compete.
type Hold struct {
	// Limit is whether a limit on what runs at once keeps it: simulations play it by the limits then.
	Limit bool
	// Until is when it competes again, in seconds; 0 where nobody knows.
	Until float64
	// After names the jobs for whose ends alone it waits, as Request.After; empty for none.
	After string
}

// isKnown reports whether it is known what keeps the job from starting.
func (h *Hold) isKnown() bool { return h.Limit || h.Until > 0 || h.After != "" }

// Waits reports whether the job waits, held or not.
func (j *Job) Waits() bool { return j.State == Waiting || j.State == Held }

// ForgettingMean is an exponentially forgetting mean.
type ForgettingMean struct{ sum, weight float64 }

// Add adds a value; earlier ones keep the given part of their weight.
func (m *ForgettingMean) Add(v, keep float64) {
	m.sum, m.weight = m.sum*keep+v, m.weight*keep+1
}

// Value returns the mean, or NaN without any value.
func (m *ForgettingMean) Value() float64 { return m.sum / m.weight } // NaN without any value

// RecentWaits is what the newest starts of a kind waited, in logarithms.
type RecentWaits struct {
	Fast, Slow, Nothing ForgettingMean
}

func (r *RecentWaits) add(z float64) {
	r.Fast.Add(z, .8)
	r.Slow.Add(z, .98)
	none := 0.0
	if z <= math.Log(waittime.Shift+1) {
		none = 1
	}
	r.Nothing.Add(none, .95)
}

// PendingForecast is the part of a forecast that is kept until the wait is known. It is immutable.
type PendingForecast struct {
	Answers []float64 // of the experts, by level
	Groups  []string  // of the job, for the experts' weights
	Row     []float32 // the features
	Said    []float64 // the logarithms of the served quantiles; nil where nothing was served
}
