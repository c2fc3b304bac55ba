// Package simulator simulates a space-sharing batch scheduler: pools of processors, jobs that hold a fixed number of
// them from start to end, queues, and a policy that decides who starts when.
//
// Time is in seconds as float64, from any origin at or above 0. The policies are [FCFS] (the default), [EASY],
// [Conservative] and [Priority]; others implement [Policy] and are proved by package policytest.
//
// The simulator is driven: nothing happens but by [Simulator.Next] or [Simulator.Advance], which return the events up
// to an instant in order; [Order] defines what comes first within an instant. Once its memory has grown to what the
// workload needs, the loop allocates nothing.
//
// [Simulator.Load] starts from any state, [Simulator.CopyFrom] copies one into memory that is there already, and
// [Replicas] runs many on all cores. [Collector] computes measures from the events, and [ScaleInterarrivals] and its
// neighbors change the load.
package simulator

import (
	"errors"
	"fmt"
	"math"
)

// Kind is the kind of an event.
type Kind uint8

// The kinds of events.
const (
	Submitted Kind = iota + 1 // the job joins the queue
	Started                   // the job takes its processors
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

// Job is the input of the simulator about a job, and its results.
type Job struct {
	ID       int64   // the caller's; need not be unique
	Submit   float64 // seconds
	Procs    int     // what it asks for, 1 up to the processors of its pool
	Runtime  float64 // seconds it runs, 0 or more; Config.Runtime may replace it at the start
	Limit    float64 // time limit in seconds, 0 for none; see Config.Kill
	Estimate float64 // seconds that policies plan with; 0 for the limit (no limit: it never ends); see Config.Estimate
	Queue    string  // one of Config.Queues; free for the caller if there are none
	User     int64   // whose it is, for fair share and measures

	Start  float64 // set when the job starts, NaN before
	End    float64 // set when the job starts: Start + Runtime; NaN before
	Killed bool    // set when the job starts: it will end at its limit, before its work is done
}

// Wait returns Start - Submit, NaN before the start.
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

// Event is one event of a simulation. Job belongs to the simulator and is reused: after a job's Ended event it is valid
// until the next call of Next or, in a function given to Advance, until that function returns. Copy it to keep it
// longer, and do not modify it.
type Event struct {
	Kind Kind
	Time float64
	Job  *Job
	Held int // processors it holds while it runs: Procs, or those of whole nodes
}

// Order defines what comes first within one instant.
type Order uint8

const (
	// EndsFirst handles all ends of an instant, then all submits in the order given, and then lets the policy schedule
	// once.
	EndsFirst Order = iota

	// SubmitsFirst is the order of pyss, the simulator of the Hebrew University: submits in the order given, then ends
	// in the order of the starts, and the policy schedules after each single one. A job that runs for just as long as
	// it was expected to has freed its processors before; one that ends early frees them when its turn comes.
	SubmitsFirst
)

// Config describes a machine and the source of its jobs. The functions must be deterministic for a simulation to be.
type Config struct {
	Procs     int          // processors of a machine of one pool
	Pools     []PoolConfig // if set, the machine's pools instead of Procs
	Queues    []Queue      // if set, the queues that jobs may name
	NodeProcs int          // if above 1, jobs take whole nodes of so many processors, and pools hold only whole ones
	Outages   []Outage     // processors of a machine of one pool that are away for a time
	Policy    Policy       // nil for FCFS; every pool gets one of its own, with the same settings
	Order     Order        // within an instant

	// Kill ends a job that would run longer than its limit at the limit.
	Kill bool

	// Arrivals, if set, is called for the next job whenever the one before has been submitted, so that an endless
	// workload needs no memory; false ends it. Its jobs must come in order of submission. They mix with those given to
	// Submit.
	Arrivals Source

	// Refused, if set, is called for every job of Arrivals that is refused, with the reason; such a job is left out.
	// Without it, Next returns the error.
	Refused func(Job, error)

	// Runtime, if set, returns the runtime of every job at its start. It must not keep or change the job.
	Runtime func(*Job) float64

	// Estimate, if set, replaces the job's estimate at its submission: ActualRuntime, or a predictor's answer. It must
	// not keep or change the job. Infinity is a job that is not expected to end.
	Estimate func(*Job) float64

	// Overrun, if set, returns how many more seconds a job is expected to run that has reached its expected end and
	// goes on; more than 0. Without it this is as long again as it has run, at least 60 s. (The first correction of D.
	// Tsafrir, Y. Etsion and D. Feitelson, IEEE TPDS 18(6), 2007, is a minute; they grow from there by fixed steps.)
	Overrun func(*Job) float64

	// Mold, if set, chooses the sizes of jobs.
	Mold *Mold
}

// Source is a stream of jobs in order of submission; false is its end.
type Source func() (Job, bool)

// ActualRuntime is an estimate that is always right, for Config.Estimate.
func ActualRuntime(j *Job) float64 { return j.Runtime }

// TooLargeError is a job that could never start.
type TooLargeError struct {
	ID             int64
	Procs, Machine int // what the job asks for, and what there is
}

// Error names the job and both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("job %d: asks for %d processors of a machine of %d", e.ID, e.Procs, e.Machine)
}

// PastError is a job submitted at an instant that is over.
type PastError struct {
	ID          int64
	Submit, Now float64 // seconds
}

// Error names the job and both times.
func (e *PastError) Error() string {
	return fmt.Sprintf("job %d: submitted at %v s, but the simulation is at %v s", e.ID, e.Submit, e.Now)
}

// ErrBadJob is wrapped by the errors about jobs whose numbers make no sense.
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
