package cluster

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// suspend takes away a running job's processors, or gives them back (resume). Three kinds of records change nothing: a
// repeated record, a record of a job that does not run, and one that is older than the job's start or its last
// suspension or resumption.
func (f fold) suspend(ev job.Event) Verdict {
	j := f.jobs[ev.ID]
	if j == nil {
		return f.stranger(ev.ID)
	}
	stops := ev.Kind == job.Suspend
	if !j.Running() || stops != j.Suspended.IsZero() || ev.Time.Before(j.Start) || ev.Time.Before(j.Switched) {
		return Duplicate
	}
	ev.Attempt = j.Attempt
	next := *j
	next.learn(&ev)
	next.Switched = ev.Time
	if stops {
		next.Suspended = ev.Time
	} else {
		next.Paused += ev.Time.Sub(j.Suspended)
		next.Suspended = time.Time{}
	}
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.raise(&next, false)
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}
