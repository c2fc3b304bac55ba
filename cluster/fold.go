package cluster

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// Verdict is the effect of an event on the picture.
type Verdict uint8

const (
	// Applied means that the event changed the picture.
	Applied Verdict = iota
	// Duplicate means that the event was applied before, or has nothing new.
	Duplicate
	// Orphan means that too little is known to assign the event to a job.
	Orphan
)

// String returns the verdict as metrics write it.
func (v Verdict) String() string {
	switch v {
	case Applied:
		return "applied"
	case Duplicate:
		return "duplicate"
	}
	return "orphan"
}

// Known looks up a job that left so long ago that the fold has forgotten it.
type Known func(id string) (Left, bool)

// Change is one event that was applied, with the job before and after it. Before is nil for a new job. After is nil for
// a job that left. Both are nil for facts about the machine.
type Change struct {
	Event  job.Event
	Before *Job
	After  *Job
}

// Hooks are callbacks of the fold while it applies an event; each may be nil.
type Hooks struct {
	// Known looks up jobs that the fold has forgotten.
	Known Known
	// Before is called before every change, with the change's event time. The picture is still unchanged then.
	Before func(at time.Time)
	// Changed is called after every change.
	Changed func(Change)
}

// Apply folds one event into the picture. It may make several changes. Derived changes, whose own records were
// missed, come before the change by the event itself. A change's event carries its attempt. If the changes' events
// are applied in their order to the state before them, without Known, they make the same changes.
//
// A record of the same kind, time and attributes as one applied before changes nothing, however late it comes. A
// repeated record cannot be recognized in two cases: if records of one job at one instant contradict each other (other
// than by its move out of the first queue), and if one of such records was lost.
//
// Apply removes a running job without an end (by a derived End, which is no lifetime; Counts.LostEnds) in three cases.
// In the first, the job is submitted again. In the second, its deletion was requested, and an event comes that is later
// than the request by more than the constant grace: a forced deletion frees the processors and writes no end. In the
// third, the job is past its limit by more than Overdue; it then counts as missing.
func (s *State) Apply(ev job.Event, hooks *Hooks) Verdict {
	// Negative amounts are ignored.
	ev.Procs, ev.Nodes, ev.TimeLimit = max(0, ev.Procs), max(0, ev.Nodes), max(0, ev.TimeLimit)
	f := fold{State: s, Hooks: hooks}
	if !ev.Derived { // the journal already has the effect of a derived event
		if !s.history {
			delete(f.imported, ev.ID)
			delete(f.imported, WholeOf(ev.ID))
		}
		f.reconcile(&ev)
	}
	f.recount(&ev)
	ev.All, ev.Ran = ev.All && ev.Kind == job.End, ev.Ran && ev.Kind == job.End
	verdict := f.apply(ev)
	switch verdict {
	case Duplicate:
		s.count.Duplicates++
	case Orphan:
		s.count.Orphans++
	}
	return verdict
}

type fold struct {
	*State
	*Hooks
}

// before must be called before every change, with its event. Only changes move the clock, so that a replay of the
// changes has the same clock.
func (f fold) before(ev *job.Event) {
	if f.Hooks != nil && f.Before != nil {
		f.Before(ev.Time)
	}
	switch {
	case ev.Derived:
		f.count.Derived++
		fallthrough
	case !ev.Time.Before(f.now):
		f.now = later(f.now, ev.Time)
	default:
		f.count.OutOfOrder++
	}
	f.press(ev.Time)
	if !f.outagesUntil.IsZero() && !f.now.Before(f.outagesUntil) {
		f.remakePools()
	}
}

func (f fold) emit(c Change) {
	if f.Hooks != nil && f.Changed != nil {
		f.Changed(c)
	}
}

func (f fold) apply(ev job.Event) Verdict {
	if j := f.jobs[ev.ID]; j != nil && !ev.Derived && f.earlier(j, &ev) {
		return Duplicate
	}
	switch ev.Kind {
	case job.Submit:
		return f.submit(ev)
	case job.Start:
		return f.start(ev)
	case job.End:
		switch {
		case ev.All:
			return f.endAll(ev)
		case f.justRequeued(&ev):
			return Duplicate
		}
		return f.end(ev)
	case job.Cancel:
		return f.cancel(ev)
	case job.Requeue:
		return f.requeue(ev)
	case job.Hold:
		if j := f.jobs[ev.ID]; j != nil && !j.Running() && !ev.Times.End.IsZero() {
			return f.overUnseen(j, ev)
		}
		return f.update(ev)
	case job.Update, job.Release:
		return f.update(ev)
	case job.Suspend, job.Resume:
		return f.suspend(ev)
	case job.Machine:
		return f.learnMachine(ev)
	}
	return Orphan
}

// earlier reports whether the event belongs to an earlier attempt of a job that was submitted or requeued again.
func (f fold) earlier(j *Job, ev *job.Event) bool {
	at := instant(ev)
	if j.Attempt == 0 && ev.Kind == job.End && !ev.Times.Start.IsZero() && at.Before(j.Submit.Add(-sameInstant)) {
		return !j.Running() || !sameSecond(ev.Times.Start, j.Start) // a record with the start of j is of this attempt
	}
	if j.Attempt == 0 || ev.Kind == job.Submit || at.After(j.Submit) ||
		ev.Kind == job.Requeue && f.recordedBefore(j, ev) {
		return false
	}
	if at.Before(j.Submit) {
		return true
	}
	switch ev.Kind { // the record is of the very instant at which this attempt began
	case job.Requeue:
		return true // the event that began this attempt
	case job.Start:
		return at.Equal(j.LastStart)
	case job.End, job.Cancel:
		l, ok := f.gone(ev.ID)
		return ok && l.Attempt < j.Attempt && !l.At.Before(at)
	}
	return false
}

// gone returns the last attempt of an id that left.
func (f fold) gone(id string) (Left, bool) {
	if l, ok := f.left[id]; ok {
		return l, true
	}
	if f.Hooks != nil && f.Known != nil {
		return f.Known(id)
	}
	return Left{}, false
}

// or returns t, or u if t is zero.
func or(t, u time.Time) time.Time {
	if t.IsZero() {
		return u
	}
	return t
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}

// instant returns the time at which the event happened: the time in the record if it has one.
func instant(ev *job.Event) time.Time {
	switch ev.Kind {
	case job.Start:
		return or(ev.Times.Start, ev.Time)
	case job.End:
		if !ev.Times.Start.IsZero() { // a record without a start may be that of a Cancel, which has no other time
			return or(ev.Times.End, ev.Time)
		}
	}
	return ev.Time
}

// lateSubmit is how long after the start of a job the record of its submission may follow. slurmctld writes the record
// after it has released its locks, so that a scheduler may start the job and log that before.
const lateSubmit = 5 * time.Second

func (f fold) submit(ev job.Event) Verdict {
	at := or(ev.Times.Submit, ev.Time)
	if j := f.jobs[ev.ID]; j != nil {
		switch {
		case j.Attempt > 0 && ev.Time.Before(j.Submit):
			return Duplicate // a record of an earlier life
		case !j.Running():
			if !ev.Time.After(j.Order) && (ev.Queue == "" || ev.Queue == j.FirstQueue) {
				keepNew(&ev, j) // a repeated record; the job may have moved since
			}
			return f.update(ev) // a repeated record, or a move to another queue
		}
		if !at.After(later(j.Start, later(j.Submit, j.Order))) {
			return Duplicate
		}
		if j.Submit.Equal(j.Start) && at.Sub(j.Start) <= lateSubmit {
			return f.update(ev)
		}
		f.lose(j, at, at)
	}
	_, missing := f.missing[ev.ID]
	if l, ok := f.gone(ev.ID); ok && !(missing && ev.Derived) { // such an event brings the missing job back
		if !ev.Derived && (at.Before(l.At) || sameSecond(at, l.Submit)) {
			return Duplicate
		}
		ev.Attempt = l.Attempt + 1
	}
	f.enqueue(ev, at)
	return Applied
}

// enqueue adds a new job to the queue.
func (f fold) enqueue(ev job.Event, at time.Time) {
	f.before(&ev)
	delete(f.missing, ev.ID)
	f.seq++
	j := &Job{
		ID: ev.ID, Attempt: ev.Attempt, Seq: f.seq, Attributes: ev.Attributes,
		Order: at, Submit: at, Eligible: ev.Times.Eligible, Updated: ev.Time,
	}
	if j.Queue == "" {
		j.Queue, j.Unqueued = DefaultQueue, true
	}
	j.FirstQueue = j.Queue
	if f.history {
		f.imported[j.ID] = true
	}
	f.put(j)
	f.countSplit(&ev)
	f.count.Submitted++
	f.emit(Change{Event: ev, After: j})
}

func (f fold) start(ev job.Event) Verdict {
	at := or(ev.Times.Start, ev.Time)
	j := f.jobs[ev.ID]
	if j != nil && !ev.Derived && !j.Over.IsZero() && at.After(j.Over.Add(UnseenGrace)) { // of the next attempt
		f.lose(j, j.Over.Add(UnseenGrace), j.Over)
		j = nil
	}
	if j == nil {
		if !f.derive(ev, at) {
			return Duplicate
		}
		j = f.jobs[ev.ID]
	}
	switch {
	case j.Running():
		return Duplicate
	case !ev.Derived && !j.Over.IsZero() && !at.After(j.Over): // the end is known already
		ev.Kind, ev.Time = job.End, later(ev.Time, j.Over)
		ev.Times.Start, ev.Times.End = at, j.Over
		f.reconcile(&ev) // as a replay of this end does
		return f.end(ev)
	}
	f.begin(j, ev, at)
	return Applied
}

// derive enqueues a job whose submission was missed. It uses a later record, which ended the job's wait at the given
// instant. It returns false if that record belongs to an attempt that is over.
func (f fold) derive(ev job.Event, at time.Time) bool {
	submit := or(ev.Times.Submit, or(f.wholeSubmit(ev.ID), at))
	if l, ok := f.gone(ev.ID); ok {
		if !at.After(l.At) || sameSecond(at, l.At) {
			return false
		}
		submit = later(submit, l.At) // the job was requeued meanwhile without a record
		ev.Attempt = l.Attempt + 1
	}
	if submit.After(at) {
		submit = at
	}
	whole := f.wholeWaiting(ev.ID)
	if whole != nil {
		ev.Attributes = whole.ofTask().Merge(ev.Attributes)
	}
	told := ev.Time
	ev.Kind, ev.Time, ev.Derived = job.Submit, submit, true
	ev.Times.Submit = submit
	f.enqueue(ev, submit)
	if whole != nil {
		f.splitOff(f.jobs[whole.ID], ev.ID, told)
	}
	return true
}

// begin starts a waiting job.
func (f fold) begin(j *Job, ev job.Event, at time.Time) {
	ev.Attempt = j.Attempt
	next := *j
	next.learn(&ev)
	next.Start, next.Given, next.Ends = at, ev.Procs > 0, !ev.Derived && !ev.Times.End.IsZero()
	next.Held, next.Reason, next.Queues, next.Tasks, next.Over = false, "", "", 0, time.Time{}
	if next.Procs < 1 {
		next.Procs, next.Unsized = 1, true
	}
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.raise(&next, ev.Derived && !ev.Times.End.IsZero())
	f.count.Started++
	f.emit(Change{Event: ev, Before: j, After: &next})
}

// endsEarlier reports whether the event is the end of an earlier attempt of a running job, which is read again.
func endsEarlier(ev *job.Event, j *Job) bool {
	return !ev.Derived && j.Running() && ev.Kind == job.End && ev.Ran && ev.Times.Start.IsZero() &&
		ev.Time.Before(j.Start)
}

func (f fold) end(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j != nil && endsEarlier(&ev, j) {
		return Duplicate
	}
	ran := ev.Ran
	ev.Ran = false
	if ev.Derived {
		if j == nil || !j.Running() && j.Over.IsZero() {
			return Duplicate
		}
		f.lose(j, ev.Time, ev.Times.End) // the journal's own event of a lost end or an unseen start
		return Applied
	}
	if j == nil || !j.Running() {
		switch {
		case !ev.Times.Start.IsZero():
		case j != nil && !j.Over.IsZero():
			return Duplicate
		case j != nil && ran:
			ev.Kind, ev.Times.End = job.Hold, or(ev.Times.End, ev.Time)
			return f.overUnseen(j, ev)
		default:
			return f.cancel(ev) // the job ended without a start
		}
		if j == nil {
			if !f.derive(ev, ev.Times.Start) {
				return f.complete(ev)
			}
			j = f.jobs[ev.ID]
		}
		begun := ev
		begun.Kind, begun.Time, begun.Derived = job.Start, ev.Times.Start, true
		f.begin(j, begun, ev.Times.Start)
		j = f.jobs[ev.ID]
	}
	f.finish(j, ev)
	return Applied
}

// finish ends a running job. The start in an accounting record is more exact than that of the live log.
func (f fold) finish(j *Job, ev job.Event) {
	j = f.fillIn(j, ev)
	ev.Attempt = j.Attempt
	ev.Times.Start = or(ev.Times.Start, j.Start)
	ev.Times.End = later(or(ev.Times.End, ev.Time), ev.Times.Start) // a lifetime is never below 0
	if j.Attempt > 0 {
		// With an earlier end the event would look like the end of an earlier attempt.
		ev.Times.End = later(ev.Times.End, j.Submit)
	}
	f.before(&ev)
	f.leave(j, later(ev.Time, ev.Times.End))
	f.count.Ended++
	f.emit(Change{Event: ev, Before: j})
}

// leave takes a job out of the picture.
func (f fold) leave(j *Job, at time.Time) {
	f.take(j)
	delete(f.imported, j.ID)
	l := Left{
		ID: j.ID, Attempt: j.Attempt, Submit: j.Order,
		At: later(later(at, j.Start), later(j.Submit, j.Order)),
	}
	if j.Running() || !j.Over.IsZero() {
		l.Began = j.Submit
	}
	if j.incomplete() {
		l.Job = j
	}
	f.remember(l)
}

// cancel removes a waiting job. For a running job the event is a request to delete it; the end follows.
func (f fold) cancel(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j == nil {
		if !f.unseen(ev) {
			return f.complete(ev)
		}
		j = f.jobs[ev.ID]
	}
	ev.Kind, ev.Attempt = job.Cancel, j.Attempt
	switch {
	case j.Running():
		return f.doom(j, ev)
	case ev.Derived: // an event of the journal about an array without waiting elements
		f.useUp(j, ev.Time)
		return Applied
	}
	j = f.fillIn(j, ev)
	f.before(&ev)
	f.leave(j, ev.Time)
	f.count.Cancelled++
	f.emit(Change{Event: ev, Before: j})
	return Applied
}

// stranger returns the verdict on an event of a job that is not in the picture: Duplicate if the job has left,
// otherwise Orphan.
func (f fold) stranger(id string) Verdict {
	if _, ok := f.gone(id); ok {
		return Duplicate
	}
	return Orphan
}

func (f fold) requeue(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j == nil {
		return f.revive(ev)
	}
	switch {
	case !j.Running():
		return f.requeuedBefore(j, ev)
	case ev.Time.Before(j.Start):
		return Duplicate
	}
	ev.Attempt = j.Attempt
	next := *j
	next.learn(&ev)
	next.Attempt++
	next.Submit, next.Start, next.LastStart, next.Asked = ev.Time, time.Time{}, j.Start, time.Time{}
	if j.Unsized && ev.Procs < 1 {
		next.Procs = 0 // the size was a guess
	}
	next.Given, next.Unsized, next.Suspended, next.Paused, next.Switched = false, false, time.Time{}, 0, time.Time{}
	next.Settled, next.Planned = "", time.Time{} // they belong to an earlier wait
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.count.Requeued++
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}

func (f fold) update(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	derived := j == nil
	if derived {
		if !f.unseen(ev) {
			return f.complete(ev)
		}
		j = f.jobs[ev.ID]
	}
	next := *j
	switch {
	case ev.Kind == job.Release && ev.Time.Before(j.Over):
		ev.Kind = job.Update // a listing from before the end
	case ev.Kind == job.Hold:
		ev.Times.End = time.Time{} // only an overUnseen has one
	}
	if next.learn(&ev) {
		switch ev.Kind {
		case job.Hold:
			next.Held = !j.Running()
		case job.Release: // even a job that was held to be over waits again
			next.Held, next.Over = false, time.Time{}
		}
	}
	if !next.Held {
		next.Reason = "" // a reason is kept only for a held job
	}
	if next.Running() {
		next.Queues = ""
	}
	said := next
	said.Updated = j.Updated
	if said == *j {
		if derived {
			return Applied
		}
		return Duplicate
	}
	if ev.Kind == job.Submit {
		ev.Kind = job.Update
	}
	ev.Attempt = j.Attempt
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.raise(&next, false)
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}

// keepNew removes from an event the attributes, and the eligible time, that are known of its job, even if they differ.
func keepNew(ev *job.Event, j *Job) {
	ev.Attributes = ev.Without(j.Attributes)
	if !j.Eligible.IsZero() {
		ev.Times.Eligible = time.Time{}
	}
}

// learn merges the attributes of a record into the job. A record older than the newest one only fills gaps and replaces
// guesses, so that reading it again does no harm; learn then returns false.
func (j *Job) learn(ev *job.Event) bool {
	j.replaceGuesses(ev)
	if ev.Time.Before(j.Updated) {
		j.Attributes = ev.Attributes.Merge(j.Attributes)
		j.Eligible = or(j.Eligible, ev.Times.Eligible)
		return false
	}
	j.Attributes = j.Merge(ev.Attributes)
	j.Eligible = or(ev.Times.Eligible, j.Eligible)
	j.Updated = ev.Time
	return true
}
