package cluster

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// replaceGuesses replaces guessed attributes of a job by those of a record, however old the record is.
func (j *Job) replaceGuesses(ev *job.Event) {
	if j.Unqueued && ev.Queue != "" { // the record has the queue to which the job was submitted
		j.Queue, j.FirstQueue, j.Unqueued = ev.Queue, ev.Queue, false
	}
	if j.Running() && !j.Given && ev.Procs > 0 && (j.Unsized || !ev.Time.Before(j.Start)) {
		j.Procs, j.Given, j.Unsized = ev.Procs, true, false
	}
}

// incomplete reports whether the records so far lack an attribute that every complete record has.
func (j *Job) incomplete() bool {
	return j.Unqueued || j.User == "" || j.Running() && !j.Given
}

// filled returns the job, completed with the attributes of a record.
func (j *Job) filled(ev *job.Event) Job {
	next := *j
	next.replaceGuesses(ev)
	next.Attributes = ev.Attributes.Merge(next.Attributes)
	next.Eligible = or(next.Eligible, ev.Times.Eligible)
	return next
}

// fillIn applies the attributes in the record of a job's end, as an update before the end, and returns the job.
func (f fold) fillIn(j *Job, ev job.Event) *Job {
	next := j.filled(&ev)
	if next == *j {
		return j
	}
	ev.Kind, ev.Attempt = job.Update, j.Attempt
	if j.Attempt > 0 && ev.Time.Before(j.Submit) {
		ev.Time, ev.Derived = j.Submit, true // with its own time it would look like a record of an earlier attempt
	}
	ev.Times = job.Times{Eligible: ev.Times.Eligible}
	keepNew(&ev, &Job{Attributes: j.recorded(), Eligible: j.Eligible})
	if ev.Procs != next.Procs { // the record is from before the start: the guess stays
		ev.Procs = 0
	}
	next.Updated = later(next.Updated, ev.Time)
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.raise(&next, false)
	f.emit(Change{Event: ev, Before: j, After: &next})
	return &next
}

// recorded returns the attributes that are in records, without guesses.
func (j *Job) recorded() job.Attributes {
	a := j.Attributes
	if j.Unqueued {
		a.Queue = ""
	}
	if j.Running() && !j.Given {
		a.Procs = 0
	}
	return a
}

// complete applies a record of a job that has left. It does so if too little was known when the job left, and if the
// record belongs to the same attempt. The change is then an update of a job that is gone: Before is the job as it was
// when it left, After is that job with the new attributes.
func (f fold) complete(ev job.Event) Verdict {
	l, ok := f.left[ev.ID]
	if !ok || l.Job == nil || !l.isOf(&ev) {
		return f.stranger(ev.ID)
	}
	next := l.Job.filled(&ev)
	if next == *l.Job {
		return Duplicate
	}
	before := l.Job
	ev.Kind, ev.Attempt = job.Update, l.Attempt
	ev.Times.End = time.Time{}
	if before.Running() { // a job that ran is identified by its start
		ev.Times.Submit = time.Time{}
	}
	f.before(&ev)
	l.Job = nil
	if next.incomplete() {
		l.Job = &next
	}
	f.left[ev.ID] = l
	f.emit(Change{Event: ev, Before: before, After: &next})
	return Applied
}

// isOf reports whether a record belongs to the last attempt of a job that left. It compares the start, or the
// submission if the job never ran. For an attempt other than the first, the times must agree to the second, so that a
// record of the previous attempt is not taken for one of this attempt.
func (l *Left) isOf(ev *job.Event) bool {
	known, told := l.Job.Start, ev.Times.Start
	if known.IsZero() {
		known, told = l.Job.Submit, ev.Times.Submit
	}
	if told.IsZero() || told.After(l.At) {
		return false
	}
	apart := known.Truncate(time.Second).Sub(told.Truncate(time.Second)).Abs()
	if l.Attempt > 0 {
		return apart == 0 && !ev.Time.Before(l.At.Truncate(time.Second))
	}
	return apart <= sameInstant
}

// recordedBefore reports whether a record is of the requeue that began the current attempt.
func (f fold) recordedBefore(j *Job, ev *job.Event) bool {
	return j.Attempt > 0 && !j.Running() && ev.Time.Sub(j.Submit).Abs() <= sameInstant
}

// requeuedBefore handles a second record of a requeue: it applies only attributes that the first record lacked.
func (f fold) requeuedBefore(j *Job, ev job.Event) Verdict {
	if !f.recordedBefore(j, &ev) {
		return Duplicate
	}
	// The event gets a later time and becomes an event of its own. Derived keeps its replay from calling expire, which
	// at the later time could remove more jobs than it did at the time of the record.
	ev.Kind, ev.Time, ev.Derived = job.Update, later(ev.Time, j.Submit), true
	ev.Times = job.Times{Eligible: ev.Times.Eligible}
	keepNew(&ev, &Job{Attributes: j.recorded(), Eligible: j.Eligible})
	return f.update(ev)
}
