// Package simulator simulates a space-sharing batch scheduler. It has pools of processors, jobs that use a fixed
// number of processors from start to end, queues, and a policy that decides which job starts when.
//
// Time is in seconds as float64. Its origin is arbitrary; no instant is below 0. The policies are [FCFS] (the
// default), [EASY], [Conservative] and [Priority]. Other policies implement [Policy] and are tested by package
// policytest.
//
// The caller drives the simulator: events happen only in [Simulator.Next] and [Simulator.Advance], which return the
// events up to an instant in order. [Order] defines the order of events at the same instant. Once the simulator's
// memory has grown to the size that the workload needs, it allocates nothing.
//
// [Simulator.Load] starts from any state. [Simulator.CopyFrom] copies a simulator into existing memory. [Replicas]
// runs many simulations on all cores. [Collector] computes measures from the events. [ScaleInterarrivals] changes the
// load.
package simulator

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the kind of an event.
type Kind uint8

// These are the kinds of events.
const (
	Submitted Kind = iota + 1 // the job joins the queue
	Started                   // the job starts to use its processors
	Ended                     // the job frees its processors
)

// String returns the kind as a word.
func (k Kind) String() string {
	switch k {
	case Submitted:
		return "submit"
	case Started:
		return "start"
	case Ended:
		return "end"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Job is a job: the input of the simulator, and its results.
type Job struct {
	ID      int64   // chosen by the caller; need not be unique
	Submit  float64 // seconds
	Procs   int     // requested processors, from 1 to the processors of its pool
	Runtime float64 // runtime in seconds, 0 or more; Config.Runtime may replace it at the start
	Limit   float64 // time limit in seconds; 0 means none; see Config.Kill
	// Seconds that policies plan with; 0 means the limit, or forever without a limit; see Config.Estimate.
	Estimate float64
	Queue    string // name of a queue in Config.Queues; any text if there are no queues
	User     int64  // user of the job, for fair share and measures

	Start  float64 // set when the job starts, NaN before
	End    float64 // set when the job starts to Start + Runtime; NaN before
	Killed bool    // set when the job starts: true if the job will end at its limit before its work is done
}

// Wait returns Start - Submit. It is NaN before the start.
func (j *Job) Wait() float64 { return j.Start - j.Submit }

// plan returns the expected runtime of the job in seconds.
func (j *Job) plan() float64 {
	switch {
	case j.Estimate > 0:
		return j.Estimate
	case j.Limit > 0:
		return j.Limit
	}
	return math.Inf(1)
}

// Event is one event of a simulation. Job belongs to the simulator and is reused. After a job's Ended event, Job is
// valid until the next call of Next, or until the function that was passed to Advance returns. Copy it to keep it
// longer, and do not modify it.
type Event struct {
	Kind Kind
	Time float64
	Job  *Job
	Held int // processors that the job uses while it runs: Procs, or the processors of whole nodes
}

// Order defines the order of events at one instant.
type Order uint8

const (
	// EndsFirst handles all ends of an instant, then all submissions in the given order. Then the policy schedules
	// once.
	EndsFirst Order = iota

	// SubmitsFirst is the order of pyss, the simulator of the Hebrew University. Submissions come first, in the given
	// order, then ends in the order of the starts. The policy schedules after each single event. A job that runs
	// exactly as long as expected has freed its processors already. A job that ends early frees them when its end is
	// handled.
	SubmitsFirst
)

// Config describes a machine and the source of its jobs. A simulation is deterministic if its functions are.
type Config struct {
	Procs  int          // processors of a machine with one pool
	Pools  []PoolConfig // if set, the pools of the machine; then Procs is not used
	Queues []Queue      // if set, the queues that jobs may name
	// If above 1, jobs use whole nodes with this number of processors, and the size of a pool is a multiple of it.
	NodeProcs int
	Outages   []Outage // processors of a machine with one pool that are unavailable for a time
	Policy    Policy   // nil means FCFS; every pool has its own policy with the same settings
	Order     Order    // order of events at one instant

	// Kill ends a job at its limit if it would run longer.
	Kill bool

	// Arrivals, if set, is called for the next job each time the previous one has been submitted. So an endless
	// workload needs no memory. The result false ends it. Its jobs must be in order of submission. They are mixed with
	// the jobs that were passed to Submit.
	Arrivals Source

	// Refused, if set, is called for every refused job of Arrivals, with the reason. The job is left out. If Refused
	// is nil, Next returns the error.
	Refused func(Job, error)

	// Runtime, if set, returns the runtime of each job at the job's start. It must not keep or change the job.
	Runtime func(*Job) float64

	// Estimate, if set, replaces the job's estimate when the simulator receives the job. That may be before its submit
	// time: in the call of Submit, or when the previous job of Arrivals was submitted. It may be ActualRuntime, or the
	// answer of a predictor. It must not keep or change the job. +Inf means that the job is not expected to end.
	Estimate func(*Job) float64

	// Overrun, if set, is called for a job that has reached its expected end and continues. It returns how many more
	// seconds the job is expected to run, more than 0. If Overrun is nil, these are as many seconds as the job has
	// run, but at least 60. (The first correction of D. Tsafrir, Y. Etsion and D. Feitelson, IEEE TPDS 18(6), 2007,
	// is a minute; later ones grow by fixed steps.)
	Overrun func(*Job) float64

	// Mold, if set, chooses the sizes of jobs.
	Mold *Mold
}

// Source is a stream of jobs in order of submission. The result false means its end.
type Source func() (Job, bool)

// ActualRuntime is an estimate that is always exact, for Config.Estimate.
func ActualRuntime(j *Job) float64 { return j.Runtime }

// TooLargeError reports a job that could never start.
type TooLargeError struct {
	ID             int64
	Procs, Machine int // requested processors, and the most that its pool and queue allow
}

// Error returns a message with the job and both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("job %d: asks for %d processors of a machine of %d", e.ID, e.Procs, e.Machine)
}

// PastError reports a job whose submit time is in the past.
type PastError struct {
	ID          int64
	Submit, Now float64 // seconds
}

// Error returns a message with the job and both times.
func (e *PastError) Error() string {
	return fmt.Sprintf("job %d: submitted at %v s, but the simulation is at %v s", e.ID, e.Submit, e.Now)
}

// ErrBadJob is wrapped by the errors about jobs with invalid numbers.
var ErrBadJob = errors.New("bad job")

func isTime(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// check returns an error if the numbers of a job are invalid.
func (j *Job) check() error {
	switch {
	case j.Procs < 1:
		return fmt.Errorf("%w: job %d asks for %d processors, need at least 1", ErrBadJob, j.ID, j.Procs)
	case !isTime(j.Submit):
		return fmt.Errorf("%w: job %d has submit time %v, need a finite number from 0", ErrBadJob, j.ID, j.Submit)
	case !isTime(j.Runtime):
		return fmt.Errorf("%w: job %d has runtime %v, need a finite number from 0", ErrBadJob, j.ID, j.Runtime)
	case !(j.Limit >= 0):
		return fmt.Errorf("%w: job %d has time limit %v, need 0 for none, or more", ErrBadJob, j.ID, j.Limit)
	case !(j.Estimate >= 0):
		return fmt.Errorf("%w: job %d has estimate %v, need 0 for its limit, or more", ErrBadJob, j.ID, j.Estimate)
	}
	return nil
}
