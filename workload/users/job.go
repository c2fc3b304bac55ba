// Package users resamples a recorded workload user by user. It makes workloads of any length and load in which each
// user's own sequence of jobs is kept (N. Zakay and D. Feitelson, "Workload resampling for performance evaluation of
// parallel job schedulers", Concurrency and Computation 2013; called "the paper" below).
//
// [Split] divides the users of a log into pools: users who stay for long, users who come for a while, and users with
// rare behavior. A [Generator] combines them again. It starts each user at some week of the user's activity. It moves
// the user's jobs by whole weeks, so that every job keeps its weekday and time of day. Each week it brings new
// temporary users. It starts long-term users again when they have no more jobs. It returns the jobs one by one in
// order of submission, without end if requested. With [Feedback] the users react to the speed of a simulated machine.
// Whether the load was more than the machine could process (the paper's section 6.3) is found by Saturation of the
// simulator, which counts the unfinished jobs.
package users

import (
	"errors"
	"slices"
)

const (
	day  = 86400.
	week = 7 * day
)

// Job is one job of a workload. All times are in seconds.
type Job struct {
	Index    int   // number that the caller gives to the record; copies of a job keep it
	User     int64 // user of the job; negative if the log does not have it
	Queue    int64
	Procs    int     // allocated processors according to the log
	Submit   float64 // submit time; its origin is arbitrary
	Wait     float64 // start - submit; negative if unknown
	Runtime  float64 // end - start; negative if the job never ran, or if the runtime is unknown
	Estimate float64 // requested time; 0 or less means none
}

// End returns the end of the job. An unknown wait or runtime counts as 0.
func (j *Job) End() float64 { return j.Submit + max(j.Wait, 0) + max(j.Runtime, 0) }

// Trace is a recorded workload. All weeks have the same number of seconds. So in a zone with daylight saving, a job
// that is moved to the other half of the year differs by an hour in local time.
type Trace struct {
	Name  string  // name in errors
	Jobs  []Job   // jobs in any order; Split does not change them
	Start float64 // beginning of the log: 0 in the Standard Workload Format
	End   float64 // end of the log; 0 means the latest end of a job

	// Monday is the number of seconds from the beginning of the log's week, in local time, to time 0. It matters only
	// if logs are mixed, because then weekdays and hours must be known.
	Monday float64
}

// ErrNoUsers is wrapped by the error of Split for a log that does not distinguish its users.
var ErrNoUsers = errors.New("the log does not tell users apart: resampling by users needs field 12 (user)")

// ErrNoJobs is wrapped by the error of Split for a log without a job that ran.
var ErrNoJobs = errors.New("no job that ran")

// bySubmit sorts jobs by submission, and keeps the order of jobs with equal times.
func bySubmit(jobs []Job) {
	slices.SortStableFunc(jobs, func(a, b Job) int {
		switch {
		case a.Submit < b.Submit:
			return -1
		case a.Submit > b.Submit:
			return 1
		}
		return 0
	})
}
