package track

import (
	"math"
	"math/bits"
	"strings"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job/waittime"
)

// Request has the requested resources and the attributes of a job.
type Request struct {
	// Queue is the queue of the request, User its submitter and App its program; empty if unknown.
	Queue, User, App string
	// Partition names the part of the machine that the queue's jobs run on, if the log has it.
	Partition string
	// Procs is the number of processors, at least 1. Limit is the time limit in seconds, 0 without one.
	Procs int
	Limit float64
	// Priority is the scheduler's own priority. A job with a higher one starts sooner; 0 means unknown. A pool is
	// simulated in the order of priorities if the newest priority of one of its queues is known, unless a policy
	// without priorities is configured.
	Priority float64
	// Account, QOS (the quality of service) and Group decide, together with the user, which limits apply; empty if
	// unknown. Nodes, GPUs, Memory (in bytes) and GPUType are the requested resources besides processors, which
	// limits may bound.
	Account, QOS, GPUType string
	Group                 string
	Nodes, GPUs           int
	Memory                int64
	// Whole is true if no other job runs on the job's nodes.
	Whole bool
	// Name is the job's id in the form of the scheduler. Array is the id of its array if it is a task. After has the
	// names of the jobs that must have ended before it may start, see job.Attributes. They are empty if there are
	// none, and for a request that was not submitted.
	Name, Array, After string
	// Throttle is the maximum number of the array's tasks that run at once, 0 without a bound. Tasks is the number of
	// tasks of this size that the request stands for; 0 means 1. The wait of the request is the wait of the last
	// task.
	Throttle, Tasks int
	// Queues are the queues in which the job may start, if it requested several (see JoinPlaces); otherwise empty.
	// Queue is one of them.
	Queues string
	// Begin is the instant before which the job may not start, 0 for none. Only forecasts use it. A waiting job has
	// this instant in its Hold.
	Begin float64
}

// Delay returns the number of seconds after an instant for which the job may not start because of its begin time.
func (r *Request) Delay(at float64) float64 {
	if r.Begin == 0 {
		return 0
	}
	return math.Max(0, r.Begin-at)
}

// mostAfter is the maximum length of Request.After in bytes. A longer text is ignored.
const mostAfter = 1 << 14

// kin returns the request without the fields that belong to a single job or array: names, dependencies, throttle,
// tasks, begin time and alternative queues.
func (r *Request) kin() Request {
	out := *r
	out.Name, out.Array, out.After, out.Throttle, out.Tasks, out.Begin, out.Queues = "", "", "", 0, 0, 0, ""
	return out
}

const (
	mostProcs = 1 << 24 // maximum for a job; a larger job counts with this number
	mostName  = 256     // maximum length of a name in bytes; the rest does not distinguish names
	// mostMemory is the maximum memory of a job, in bytes, so that sums of thousands of jobs do not overflow.
	mostMemory = 1 << 49
)

// Farthest is the maximum of instants, in seconds.
const Farthest = 1e12

// MostPriority is the highest priority that is distinguished. Slurm's priorities have 32 bits. Higher bits may stand
// for attributes that count before them (tiers).
const MostPriority = 1 << 52

// Clean returns the request with invalid values replaced.
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
	if len(out.Queues) > mostAfter || out.Places() == nil {
		out.Queues = ""
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

// These are the numbers of classes in which waiting jobs are counted. The largest sizes of the classes are the powers
// of two. The longest limits of neighbouring classes differ by a factor of the square root of two, from a minute on;
// the last class is for jobs without a limit.
const (
	SizeClasses  = 20
	LimitClasses = 28
	Unlimited    = LimitClasses - 1
)

// SizeClass returns the class of a size: 1, 2, 3-4, 5-8, ...
func SizeClass(procs int) int { return min(bits.Len(uint(max(procs, 1)-1)), SizeClasses-1) }

// LimitClass returns the class of a time limit in seconds; 0 or less means no limit.
func LimitClass(limit float64) int {
	if limit <= 0 {
		return Unlimited
	}
	return int(math.Min(math.Max(0, math.Ceil(2*math.Log2(limit/60))), Unlimited-1))
}

// LongestOf returns the longest time limit of a class, in seconds; +Inf for the class of jobs without a limit.
func LongestOf(class int) float64 {
	switch {
	case class >= Unlimited:
		return math.Inf(1)
	case class == Unlimited-1:
		return waittime.Longest
	}
	return 60 * math.Exp2(float64(class)/2)
}

// Amount is a number of jobs, the sum of the processors that they request, and their work by their expected runtimes,
// in processor-seconds.
type Amount struct{ Jobs, Procs, Work float64 }

// Add adds a job, or subtracts it if sign is -1. The work is in whole units of 1/64 s (see Expected), so that sums
// are exact and do not depend on their order.
func (a *Amount) Add(j *Job, sign float64) {
	a.Jobs += sign
	a.Procs += sign * float64(j.Procs)
	a.Work += sign * math.Min(float64(j.Procs)*j.ExpectedRuntime, mostWork)
}

// mostWork is the maximum work that one job counts for, in processor-seconds: 100,000 processors for half a year.
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

// Add counts a job, or subtracts it if sign is -1.
func (t *JobCounts) Add(j *Job, sign float64) {
	t.Total.Add(j, sign)
	t.cells[j.SizeClass][j.LimitClass].Add(j, sign)
}

// UpTo returns the jobs of at most the given classes. bySize ignores the limits, and byLimit ignores the sizes.
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
	Number                uint64 // place in the order in which jobs were taken in
	State                 JobState
	Observed              bool // true if the learners of pools have received the job
	Submit, Start         float64
	ExpectedRuntime       float64 // expected runtime at the submission
	SizeClass, LimitClass int
	QueueState            *Queue
	UserState             *user
	Pending               *PendingForecast // nil if nothing is learned from a forecast of the job
	FactsOnly             bool             // only facts are learned from the wait: the job has no row of features
	Law                   *Law
	Hold                  Hold              // reason why a held job does not compete
	Bounds                []joblimits.Bound // limits that apply to the job
	// Names of the nodes on which the job runs, separated by commas; empty if unknown.
	NodeNames   string
	Prioritized float64 // time at which the priority was reported
}

// Hold is the known reason why a job does not compete.
type Hold struct {
	// Limit is true if a limit on running jobs keeps the job from starting. Simulations then simulate the limits.
	Limit bool
	// Until is the instant at which the job competes again, in seconds; 0 if unknown.
	Until float64
	// After has the names of the jobs for whose ends the job waits (see Request.After), if it waits for nothing else.
	After string
}

// isKnown reports whether the reason that keeps the job from starting is known.
func (h *Hold) isKnown() bool { return h.Limit || h.Until > 0 || h.After != "" }

// Waits reports whether the job waits, whether held or not.
func (j *Job) Waits() bool { return j.State == Waiting || j.State == Held }

// ForgettingMean is a mean in which the weights of older values decrease exponentially.
type ForgettingMean struct{ sum, weight float64 }

// Add adds a value. The earlier values keep the given part of their weight.
func (m *ForgettingMean) Add(v, keep float64) {
	m.sum, m.weight = m.sum*keep+v, m.weight*keep+1
}

// Value returns the mean, or NaN without any value.
func (m *ForgettingMean) Value() float64 { return m.sum / m.weight }

// RecentWaits has means over the starts of a kind of jobs, in which newer starts count more. Fast and Slow are means of
// ln(wait + 60 s); Fast forgets older starts sooner. Nothing is the share of waits up to a second.
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
	Answers []float64 // logarithms of the experts' quantiles, by level and then expert
	Groups  []string  // groups of the job, for the experts' weights
	Row     []float32 // the features
	Said    []float64 // logarithms of the quantiles for learning; nil if nothing was served
}
