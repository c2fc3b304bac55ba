// Package users resamples a recorded workload user by user, and so makes workloads of any length and load that keep
// what the users' own sequences of jobs are like (N. Zakay and D. Feitelson, "Workload resampling for performance
// evaluation of parallel job schedulers", Concurrency and Computation 2013; "the paper" below).
//
// [Split] takes a log apart into pools of users who stay for long, who come for a while, and whose behavior is rare. A
// [Generator] puts them together again: it starts each at some week of his activity and moves his jobs by whole weeks,
// so that every job keeps its weekday and time of day, brings new temporary users every week, and starts long-term ones
// over when they are through. It yields jobs one by one in order of submission, with no end if asked to. With
// [Feedback] the users react to how fast a simulated machine is. Whether a load was more than a machine could do (the
// paper's section 6.3) is for the simulator to tell, whose Saturation counts what is left undone.
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
	Index    int   // the caller's number of the record; copies of a job keep it
	User     int64 // whose it is; negative if the log does not tell
	Queue    int64
	Procs    int     // processors it holds, as the log says that they were allocated
	Submit   float64 // from any origin
	Wait     float64 // start - submit; negative if it is not known
	Runtime  float64 // end - start; negative if it never ran, or is not known
	Estimate float64 // requested time; 0 or less for none
}

// End returns when the job ended, taking an unknown wait or runtime as 0.
func (j *Job) End() float64 { return j.Submit + max(j.Wait, 0) + max(j.Runtime, 0) }

// Trace is a recorded workload. Weeks are weeks of seconds: where the clock on the wall is put forward and back, a job
// that is moved to the other half of the year is an hour off by that clock.
type Trace struct {
	Name  string  // for errors
	Jobs  []Job   // in any order; Split does not change them
	Start float64 // when logging started: 0 in the Standard Workload Format
	End   float64 // when it ended; 0 for the end of the last job

	// Monday is how many seconds before time 0 the week of the log began, by the clock on the wall. It matters only
	// where logs are mixed, for which weekdays and hours must be known.
	Monday float64
}

// ErrNoUsers is wrapped by Split's error for a log that does not distinguish its users.
var ErrNoUsers = errors.New("the log does not tell users apart: resampling by users needs field 12 (user)")

// ErrNoJobs is wrapped by Split's error for a log without a job that ran.
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
