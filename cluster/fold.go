package cluster

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// Verdict says what the fold made of an event.
type Verdict uint8

const (
	// Applied says that the event changed the picture.
	Applied Verdict = iota
	// Duplicate says that it was told before, or tells nothing new.
	Duplicate
	// Orphan says that it speaks of a job of which too little is known.
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

// Known looks further back than the fold's own memory for a job that left long ago.
type Known func(id string) (Left, bool)

// Change is one event that was applied, with the job as it was before and after. Before is nil for a new job, After is nil for
// one that left.
type Change struct {
	Event  job.Event
	Before *Job
	After  *Job
}

// Hooks are what the fold calls while it applies an event; each may be nil.
type Hooks struct {
	// Known looks up jobs that the fold has forgotten.
	Known Known
	// Before is called ahead of every change, with the change's event time, while the picture is still as it was.
	Before func(at time.Time)
	// Changed is called after every change.
	Changed func(Change)
}

// Apply folds one event into the picture. It may make several changes: those that had to be derived, because their own
// records were missed, come before the event itself. A change's event carries its attempt; applying the changes' events
// to the same state again in the same order makes the same changes.
func (s *State) Apply(ev job.Event, hooks *Hooks) Verdict {
	if ev.Time.Before(s.now) && !ev.Derived {
		s.count.OutOfOrder++
	}
	if ev.Time.After(s.now) {
		s.now = ev.Time
	}
	f := fold{State: s, Hooks: hooks}
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

func (f fold) before(at time.Time) {
	if f.Before != nil {
		f.Before(at)
	}
}

func (f fold) emit(c Change) {
	if f.Changed != nil {
		f.Changed(c)
	}
}

func (f fold) apply(ev job.Event) Verdict {
	if j := f.jobs[ev.ID]; j != nil && j.Attempt > 0 && ev.Kind != job.Submit && instant(ev).Before(j.Submit) {
		return Duplicate // of an earlier life of the same id
	}
	switch ev.Kind {
	case job.Submit:
		return f.submit(ev)
	case job.Start:
		return f.start(ev)
	case job.End:
		return f.end(ev)
	case job.Cancel:
		return f.cancel(ev)
	case job.Requeue:
		return f.requeue(ev)
	case job.Update, job.Hold, job.Release:
		return f.update(ev)
	}
	return Orphan
}

// gone returns what is known of the last life of an id that is not live.
func (f fold) gone(id string) (Left, bool) {
	if l, ok := f.left[id]; ok {
		return l, true
	}
	if f.Known != nil {
		return f.Known(id)
	}
	return Left{}, false
}

// or returns t, or u where t is not known.
func or(t, u time.Time) time.Time {
	if t.IsZero() {
		return u
	}
	return t
}

// instant returns when the event happened, by the record's own word where it has one.
func instant(ev job.Event) time.Time {
	switch ev.Kind {
	case job.Start:
		return or(ev.Times.Start, ev.Time)
	case job.End:
		return or(ev.Times.End, ev.Time)
	}
	return ev.Time
}

func (f fold) submit(ev job.Event) Verdict {
	at := or(ev.Times.Submit, ev.Time)
	if j := f.jobs[ev.ID]; j != nil {
		if !j.Running() {
			return f.update(ev) // told again, or moved to another queue
		}
		if !at.After(j.Start) {
			return Duplicate
		}
		f.lose(j, at)
	}
	if l, ok := f.gone(ev.ID); ok {
		if at.Before(l.At) || at.Equal(l.Submit) {
			return Duplicate
		}
		ev.Attempt = l.Attempt + 1
	}
	f.enqueue(ev, at)
	return Applied
}

// enqueue adds a new job to the queue.
func (f fold) enqueue(ev job.Event, at time.Time) {
	f.before(ev.Time)
	f.seq++
	j := &Job{
		ID: ev.ID, Attempt: ev.Attempt, Seq: f.seq, Attributes: ev.Attributes,
		Order: at, Submit: at, Eligible: ev.Times.Eligible,
	}
	if j.Queue == "" {
		j.Queue = DefaultQueue
	}
	j.FirstQueue = j.Queue
	f.put(j)
	f.count.Submitted++
	if ev.Derived {
		f.count.Derived++
	}
	f.emit(Change{Event: ev, After: j})
}

// lose drops a running job whose end was never told.
func (f fold) lose(j *Job, at time.Time) {
	f.before(at)
	f.take(j)
	f.remember(Left{ID: j.ID, Attempt: j.Attempt, Submit: j.Submit, At: or(j.Start, at)})
	f.count.LostEnds++
	f.emit(Change{Event: job.Event{
		Kind: job.Cancel, Cluster: f.name, ID: j.ID, Attempt: j.Attempt, Time: at, Derived: true,
	}, Before: j})
}

func (f fold) start(ev job.Event) Verdict {
	at := or(ev.Times.Start, ev.Time)
	j := f.jobs[ev.ID]
	if j == nil {
		if !f.derive(ev, at) {
			return Duplicate
		}
		j = f.jobs[ev.ID]
	}
	if j.Running() {
		return Duplicate
	}
	f.begin(j, ev, at)
	return Applied
}

// derive enqueues a job whose submission was missed, from a later record that ended its wait at the given instant. It
// returns false if that record speaks of a life that is over.
func (f fold) derive(ev job.Event, at time.Time) bool {
	submit := or(ev.Times.Submit, at)
	if l, ok := f.gone(ev.ID); ok {
		if !at.After(l.At) {
			return false
		}
		if submit.Before(l.At) { // requeued meanwhile, unseen
			submit = l.At
		}
		ev.Attempt = l.Attempt + 1
	}
	if submit.After(at) {
		submit = at
	}
	ev.Kind, ev.Time, ev.Derived = job.Submit, submit, true
	ev.Times.Submit = submit
	f.enqueue(ev, submit)
	return true
}

// begin starts a waiting job.
func (f fold) begin(j *Job, ev job.Event, at time.Time) {
	ev.Attempt = j.Attempt
	next := *j
	next.Attributes = j.Attributes.Merge(ev.Attributes)
	next.Eligible = or(ev.Times.Eligible, j.Eligible)
	next.Start = at
	next.Held = false
	if next.Procs < 1 {
		next.Procs = 1
	}
	f.before(ev.Time)
	f.take(j)
	f.put(&next)
	f.count.Started++
	if ev.Derived {
		f.count.Derived++
	}
	f.emit(Change{Event: ev, Before: j, After: &next})
}

func (f fold) end(ev job.Event) Verdict {
	at := or(ev.Times.End, ev.Time)
	j := f.jobs[ev.ID]
	if j == nil || !j.Running() {
		if ev.Times.Start.IsZero() {
			return f.cancel(ev) // it ended without ever having started
		}
		if j == nil {
			if !f.derive(ev, ev.Times.Start) {
				return Duplicate
			}
			j = f.jobs[ev.ID]
		}
		begun := ev
		begun.Kind, begun.Time, begun.Derived = job.Start, ev.Times.Start, true
		f.begin(j, begun, ev.Times.Start)
		j = f.jobs[ev.ID]
	}
	f.finish(j, ev, at)
	return Applied
}

// finish ends a running job. Accounting knows the start better than the log of the moment.
func (f fold) finish(j *Job, ev job.Event, at time.Time) {
	ev.Attempt = j.Attempt
	ev.Times.Start = or(ev.Times.Start, j.Start)
	ev.Times.End = at
	if ev.Times.Start.After(at) {
		ev.Times.Start = at
	}
	f.before(ev.Time)
	f.take(j)
	f.remember(Left{ID: j.ID, Attempt: j.Attempt, Submit: j.Submit, At: at})
	f.count.Ended++
	f.emit(Change{Event: ev, Before: j})
}

func (f fold) cancel(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j == nil {
		if _, ok := f.gone(ev.ID); ok {
			return Duplicate
		}
		return Orphan
	}
	if j.Running() {
		if !ev.Derived {
			return Duplicate // a request to delete it; its end follows
		}
		f.lose(j, ev.Time) // the journal of a lost end
		return Applied
	}
	ev.Kind, ev.Attempt = job.Cancel, j.Attempt
	f.before(ev.Time)
	f.take(j)
	f.remember(Left{ID: j.ID, Attempt: j.Attempt, Submit: j.Submit, At: ev.Time})
	f.count.Cancelled++
	f.emit(Change{Event: ev, Before: j})
	return Applied
}

func (f fold) requeue(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j == nil {
		if _, ok := f.gone(ev.ID); ok {
			return Duplicate
		}
		return Orphan
	}
	if !j.Running() {
		return Duplicate
	}
	ev.Attempt = j.Attempt
	next := *j
	next.Attributes = j.Attributes.Merge(ev.Attributes)
	next.Attempt++
	next.Submit, next.Start = ev.Time, time.Time{}
	f.before(ev.Time)
	f.take(j)
	f.put(&next)
	f.count.Requeued++
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}

func (f fold) update(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j == nil {
		if _, ok := f.gone(ev.ID); ok {
			return Duplicate
		}
		return Orphan
	}
	next := *j
	next.Attributes = j.Attributes.Merge(ev.Attributes)
	next.Eligible = or(ev.Times.Eligible, j.Eligible)
	switch ev.Kind {
	case job.Hold:
		next.Held = true
	case job.Release:
		next.Held = false
	}
	if next == *j {
		return Duplicate
	}
	if ev.Kind == job.Submit {
		ev.Kind = job.Update
	}
	ev.Attempt = j.Attempt
	f.before(ev.Time)
	f.take(j)
	f.put(&next)
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}
