package track

import (
	"math"
	"slices"
)

// SubmissionQueue is a list of jobs in order of submission. Jobs that have started or left are skipped. A job must be
// removed before it is pushed again.
type SubmissionQueue struct{ jobs []*Job }

// Push inserts a job at its place, which is usually the end.
func (l *SubmissionQueue) Push(j *Job) {
	if len(l.jobs) == cap(l.jobs) {
		// Keep room for at least an eighth more jobs. Otherwise after a few new jobs this would pass through all jobs
		// again.
		n := len(l.Waiting())
		l.jobs = slices.Grow(l.jobs, 1+n/8)
	}
	l.jobs = append(l.jobs, j)
	for i := len(l.jobs) - 1; i > 0 && j.before(l.jobs[i-1]); i-- {
		l.jobs[i-1], l.jobs[i] = j, l.jobs[i-1]
	}
}

// before orders jobs by their submission. Jobs of one instant are in the order in which they were taken in.
func (j *Job) before(other *Job) bool {
	return j.Submit < other.Submit || j.Submit == other.Submit && j.Number < other.Number
}

// Remove removes a job.
func (l *SubmissionQueue) Remove(j *Job) {
	if i := slices.Index(l.jobs, j); i >= 0 {
		l.jobs = slices.Delete(l.jobs, i, i+1)
	}
}

// Waiting returns the jobs that still wait, and drops the others from the list.
func (l *SubmissionQueue) Waiting() []*Job {
	kept := l.jobs[:0]
	for _, j := range l.jobs {
		if j.Waits() {
			kept = append(kept, j)
		}
	}
	clear(l.jobs[len(kept):])
	l.jobs = kept
	return kept
}

// oldest returns the submission of the job that has waited longest, or NaN if none waits. It drops the jobs before that
// job from the list.
func (l *SubmissionQueue) oldest() float64 {
	for len(l.jobs) > 0 {
		if j := l.jobs[0]; j.Waits() {
			return j.Submit
		}
		l.jobs[0] = nil
		l.jobs = l.jobs[1:]
	}
	return math.NaN()
}
