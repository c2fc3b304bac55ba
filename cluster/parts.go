package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
)

// sameInstant is the largest difference between the times of two records of one instant. It is not 0, because one
// source may have whole seconds and another one milliseconds.
const sameInstant = time.Second

// sameSecond reports whether two records can be of one instant, although one of them may have whole seconds only. No
// id is used again within a second.
func sameSecond(a, b time.Time) bool {
	return a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}

// partKind is the kind of a part of an array or heterogeneous job.
type partKind uint8

const (
	noPart    partKind = iota
	component          // a component of a heterogeneous job: Slurm's "9+1"
	task               // a task of an array whose last task keeps the array's own id: Slurm's "9_1"
	// An element belongs to an array whose elements all have ids of their own: "7[3]" (LSF), "7[3].server" (PBS),
	// "7.3" (Grid Engine).
	element
)

// partOf parses an id. It returns the id of the whole: "9" for "9_1", "9+1", "9[1]" and "9.1", and "9[].server" for
// "9[1].server". It returns "" if the id does not name a part.
func partOf(id string) (whole string, kind partKind) {
	n := leadingDigits(id)
	if n == 0 || n == len(id) {
		return "", noPart
	}
	index := leadingDigits(id[n+1:])
	if index == 0 {
		return "", noPart
	}
	rest := id[n+1+index:]
	switch sep := id[n]; {
	case sep == '[' && rest == "]":
		return id[:n], element
	case sep == '[' && strings.HasPrefix(rest, "]."):
		return id[:n] + "[" + rest, element
	case rest != "":
	case sep == '_':
		return id[:n], task
	case sep == '+':
		return id[:n], component
	case sep == '.':
		return id[:n], element
	}
	return "", noPart
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// WholeOf returns the id of the array or heterogeneous job that has id as a part, or "" if there is none (partOf).
func WholeOf(id string) string {
	whole, _ := partOf(id)
	return whole
}

// ArrayOf returns the id of the array that has id as an element, or "" if there is none. Components of heterogeneous
// jobs have no array.
func ArrayOf(id string) string {
	whole, kind := partOf(id)
	if kind == component {
		return ""
	}
	return whole
}

// TakesLast reports whether the array's record ends when the element id gets a record of its own. That is so if id is
// the last waiting element, and all elements of such arrays have ids of their own.
func TakesLast(id string, array *Job) bool {
	_, kind := partOf(id)
	return kind == element && array.Tasks < 2
}

// Uncounted reports whether id is an element of an array of a scheduler whose logs do not count elements: Grid Engine's
// "7.3".
func Uncounted(id string) bool {
	_, kind := partOf(id)
	return kind == element && !strings.Contains(id, "[")
}

// countPart counts the live parts of an array or heterogeneous job.
func (s *State) countPart(id string, change int) {
	whole := WholeOf(id)
	if whole == "" {
		return
	}
	if s.parts[whole] += change; s.parts[whole] == 0 {
		delete(s.parts, whole)
	}
}

// wholeSubmit returns the submission time of the whole to which an id belongs, zero if it is unknown. A scheduler may
// log the submission once for all parts.
func (f fold) wholeSubmit(id string) time.Time {
	whole := WholeOf(id)
	if whole == "" {
		return time.Time{}
	}
	if j := f.jobs[whole]; j != nil {
		return j.Order
	}
	l, _ := f.gone(whole)
	return l.Submit
}

// wholeWaiting returns the array to which an id belongs, if the array waits as one record; otherwise nil.
func (s *State) wholeWaiting(id string) *Job {
	array := ArrayOf(id)
	if array == "" {
		return nil
	}
	if j := s.jobs[array]; j != nil && !j.Running() {
		return j
	}
	return nil
}

// WaitingArray returns the array to which an id belongs, if the array waits as one record; otherwise nil.
func (s *State) WaitingArray(id string) *Job { return s.wholeWaiting(id) }

// ofTask returns the attributes of an array that each of its tasks has.
func (j *Job) ofTask() job.Attributes {
	a := j.recorded()
	a.Tasks, a.Reason = 0, ""
	return a
}

// countSplit counts the task of a derived submission in the record of its array. A later attempt of a task does not
// count, because the task left that record with its first one.
func (f fold) countSplit(ev *job.Event) {
	if !ev.Derived || ev.Attempt > 0 {
		return
	}
	if whole := f.wholeWaiting(ev.ID); whole != nil {
		next := *whole
		next.Split++
		f.take(whole)
		f.put(&next)
	}
}

// recount replaces the Total of an event by the number of tasks that wait now, at least 1. That number is lower than
// the reported one if tasks have left the record of the array since then. If the record of the array itself runs, no
// task waits, and the event counts none.
func (f fold) recount(ev *job.Event) {
	j := f.jobs[ev.ID]
	switch {
	case ev.Total <= 0 || j == nil:
	case j.Running():
		ev.Tasks = 0
	default:
		ev.Tasks = max(1, ev.Total-j.Split)
	}
	ev.Total = 0
}

// splitOff decrements the number of waiting elements of an array when the element id gets a record of its own. The last
// element usually takes over the array's record. If it has an id of its own, splitOff removes that record.
func (f fold) splitOff(whole *Job, id string, at time.Time) {
	if TakesLast(id, whole) {
		f.useUp(whole, at)
		return
	}
	if whole.Tasks < 2 {
		return
	}
	next := *whole
	next.Tasks--
	// With a time before the array's submission the record would look like one of an earlier attempt.
	next.Updated = later(later(whole.Updated, at), whole.Submit)
	ev := job.Event{Kind: job.Update, Cluster: f.name, ID: whole.ID, Attempt: whole.Attempt, Time: next.Updated,
		Derived: true}
	ev.Tasks = next.Tasks
	f.before(&ev)
	f.take(whole)
	f.put(&next)
	f.emit(Change{Event: ev, Before: whole, After: &next})
}

// useUp removes an array, because no element waits under the array's own id any more. The event of the removal is a
// derived Cancel. This is no cancellation, because every element has a record of its own. An array whose log does not
// count its elements (Grid Engine) is removed with the first element.
func (f fold) useUp(whole *Job, at time.Time) {
	ev := job.Event{
		Kind: job.Cancel, Cluster: f.name, ID: whole.ID, Attempt: whole.Attempt, Derived: true,
		Time: later(later(whole.Updated, at), whole.Submit),
	}
	f.before(&ev)
	f.leave(whole, ev.Time)
	f.count.Submitted-- // the submission of the last element was counted just now
	f.emit(Change{Event: ev, Before: whole})
}

// endAll ends a job and its live parts, in the order of their submissions. It does not end a part that has a record
// at or after the event's time, because the event is then a repeated one.
func (f fold) endAll(ev job.Event) Verdict {
	ev.All = false
	verdict := f.end(ev)
	if f.parts[ev.ID] == 0 {
		return verdict
	}
	var live []*Job
	for _, j := range f.jobs {
		if WholeOf(j.ID) == ev.ID && !later(j.Updated, later(j.Submit, j.Start)).After(ev.Time) {
			live = append(live, j)
		}
	}
	slices.SortFunc(live, func(a, b *Job) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, j := range live {
		one := job.Event{Kind: job.End, Cluster: ev.Cluster, ID: j.ID, Time: ev.Time, Live: ev.Live}
		if !f.earlier(j, &one) && f.end(one) == Applied {
			verdict = Applied
		}
	}
	return verdict
}

// justRequeued reports whether an end belongs to an attempt that was requeued at the same instant. Some schedulers
// log both. A kill (All) does not count.
func (f fold) justRequeued(ev *job.Event) bool {
	j := f.jobs[ev.ID]
	return j != nil && !j.Running() && j.Attempt > 0 && !ev.Derived && ev.Times.Start.IsZero() &&
		ev.Time.Sub(j.Submit) <= sameInstant
}

// unseen enqueues a job that has no earlier record, from a record that has its submission. It returns false if the
// record has none, or if the job has left. For an element of a waiting array the record needs no submission.
func (f fold) unseen(ev job.Event) bool {
	if ev.Times.Submit.IsZero() && !f.countedOut(ev.ID) {
		return false
	}
	if l, ok := f.gone(ev.ID); ok && !ev.Times.Submit.After(l.At) {
		return false
	}
	return f.derive(ev, ev.Time)
}

// countedOut reports whether an unknown job is an element of a waiting array that has been counted already. It is
// false for Slurm's tasks: the next listing shows their state, and a log also names tasks whose deletion was only
// requested.
func (f fold) countedOut(id string) bool {
	_, kind := partOf(id)
	return kind == element && f.wholeWaiting(id) != nil
}

// revive applies the requeue of a job that is not live. If the job ended at the same instant, end and requeue are one
// event (a failed node): the accounting logs an end, and the scheduler a requeue. The job then waits again as its
// next attempt.
func (f fold) revive(ev job.Event) Verdict {
	l, ok := f.gone(ev.ID)
	switch {
	case !ok:
		return Orphan
	case l.Began.IsZero(), !ev.Time.After(l.Began), ev.Time.Before(l.At), ev.Time.Sub(l.At) > sameInstant:
		return Duplicate
	}
	ev.Kind, ev.Derived, ev.Attempt = job.Submit, true, l.Attempt+1
	ev.Times = job.Times{Submit: ev.Time, Eligible: ev.Times.Eligible}
	f.enqueue(ev, ev.Time)
	return Applied
}
