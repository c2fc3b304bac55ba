package track

import (
	"math"
	"slices"
)

// SubmissionQueue is jobs in the order of their submission. Those that start or leave are passed over; one that is
// held, or comes back, is taken out by remove first.
type SubmissionQueue struct{ jobs []*Job }

// Push puts a job where it belongs, which is mostly the end.
func (l *SubmissionQueue) Push(j *Job) {
	if len(l.jobs) == cap(l.jobs) {
		l.Waiting()
	}
	l.jobs = append(l.jobs, j)
	for i := len(l.jobs) - 1; i > 0 && j.before(l.jobs[i-1]); i-- {
		l.jobs[i-1], l.jobs[i] = j, l.jobs[i-1]
	}
}

// before orders jobs by their submission, those of one instant as they came.
func (j *Job) before(other *Job) bool {
	return j.Submit < other.Submit || j.Submit == other.Submit && j.Number < other.Number
}

// Remove takes a job out.
func (l *SubmissionQueue) Remove(j *Job) {
	if i := slices.Index(l.jobs, j); i >= 0 {
		l.jobs = slices.Delete(l.jobs, i, i+1)
	}
}

// Waiting returns those that still wait.
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

// oldest returns when the job was submitted that has waited longest, NaN if none waits.
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
