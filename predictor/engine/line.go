package engine

import (
	"math"
	"slices"
)

// line is jobs in the order of their submission. Those that start or leave are passed over; one that is held, or comes back, is taken out by remove first.
type line struct{ jobs []*tracked }

// push puts a job where it belongs, which is mostly the end.
func (l *line) push(j *tracked) {
	if len(l.jobs) == cap(l.jobs) {
		l.waiting()
	}
	l.jobs = append(l.jobs, j)
	for i := len(l.jobs) - 1; i > 0 && j.before(l.jobs[i-1]); i-- {
		l.jobs[i-1], l.jobs[i] = j, l.jobs[i-1]
	}
}

// before orders jobs by their submission, those of one instant as they came.
func (j *tracked) before(other *tracked) bool {
	return j.submit < other.submit || j.submit == other.submit && j.seq < other.seq
}

func (l *line) remove(j *tracked) {
	if i := slices.Index(l.jobs, j); i >= 0 {
		l.jobs = slices.Delete(l.jobs, i, i+1)
	}
}

// waiting returns those that still wait.
func (l *line) waiting() []*tracked {
	kept := l.jobs[:0]
	for _, j := range l.jobs {
		if j.waits() {
			kept = append(kept, j)
		}
	}
	clear(l.jobs[len(kept):])
	l.jobs = kept
	return kept
}

// oldest returns when the job was submitted that has waited longest, NaN if none waits.
func (l *line) oldest() float64 {
	for len(l.jobs) > 0 {
		if j := l.jobs[0]; j.waits() {
			return j.submit
		}
		l.jobs[0] = nil
		l.jobs = l.jobs[1:]
	}
	return math.NaN()
}
