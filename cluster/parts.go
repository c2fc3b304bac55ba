package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
)

// sameInstant is by how much two records of one instant may differ: one source tells whole seconds, another milliseconds.
const sameInstant = time.Second

// sameSecond reports whether two records can be of one instant: one of them may tell whole seconds only. No id is used again within a second.
func sameSecond(a, b time.Time) bool {
	return a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}

// WholeOf returns the id of the whole of which id is a part, "" if it is none: "9" of task "9_1" and of component "9+1".
func WholeOf(id string) string {
	if i := strings.IndexAny(id, "_+"); i > 0 {
		return id[:i]
	}
	return ""
}

// countPart keeps count of the live parts of a whole.
func (s *State) countPart(id string, change int) {
	whole := WholeOf(id)
	if whole == "" {
		return
	}
	if s.parts[whole] += change; s.parts[whole] == 0 {
		delete(s.parts, whole)
	}
}

// wholeSubmit returns when the whole of which id is a part was submitted: a scheduler may tell that once for all parts. It is zero where that is
// not known.
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

// wholeWaiting returns the array that waits as one record and of which id is a task, nil if there is none.
func (f fold) wholeWaiting(id string) *Job {
	j := f.jobs[WholeOf(id)]
	if j == nil || j.Running() || !strings.Contains(id, "_") {
		return nil
	}
	return j
}

// ofTask returns what is known of each task of an array.
func (j *Job) ofTask() job.Attributes {
	a := j.told()
	a.Tasks, a.Reason = 0, ""
	return a
}

// splitOff counts down the waiting tasks of an array, of which one is told apart now. The last one goes by the array's own name.
func (f fold) splitOff(whole *Job, at time.Time) {
	if whole.Tasks < 2 {
		return
	}
	next := *whole
	next.Tasks--
	next.Updated = later(later(whole.Updated, at), whole.Submit) // before its submission it would look like one of an earlier life
	ev := job.Event{Kind: job.Update, Cluster: f.name, ID: whole.ID, Attempt: whole.Attempt, Time: next.Updated, Derived: true}
	ev.Tasks = next.Tasks
	f.before(&ev)
	f.take(whole)
	f.put(&next)
	f.emit(Change{Event: ev, Before: whole, After: &next})
}

// endAll ends a job and its parts that live, in the order of their submissions. A part of which something is told at or after the
// event's time is left alone: the event is told again.
func (f fold) endAll(ev job.Event) Verdict {
	ev.All = false
	verdict := f.end(ev)
	if f.parts[ev.ID] == 0 {
		return verdict
	}
	var live []*Job
	for _, j := range f.jobs {
		if WholeOf(j.ID) == ev.ID && later(j.Updated, later(j.Submit, j.Start)).Before(ev.Time) {
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

// justRequeued reports whether an end is that of a try which was requeued at the same instant: some schedulers tell both. A kill (All) is not.
func (f fold) justRequeued(ev *job.Event) bool {
	j := f.jobs[ev.ID]
	return j != nil && !j.Running() && j.Attempt > 0 && !ev.Derived && ev.Times.Start.IsZero() && ev.Time.Sub(j.Submit) <= sameInstant
}

// unseen enqueues a job that no record has told of so far, from one that says when it was submitted. It returns false if there is no such job,
// or if it left since.
func (f fold) unseen(ev job.Event) bool {
	if ev.Times.Submit.IsZero() {
		return false
	}
	if l, ok := f.gone(ev.ID); ok && !ev.Times.Submit.After(l.At) {
		return false
	}
	return f.derive(ev, ev.Time)
}

// revive takes in the requeue of a job that is not live. If that ended at the same instant the two are one thing, which
// accounting calls an end (a failed node) and the scheduler a requeue: the job waits again, as its next attempt.
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
