package cluster

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// grace is how long a running job may take to end after its deletion was requested. The signals of an ordinary
// deletion are seconds apart (PBS kill_delay: 10 s), and an epilogue may take 5 minutes (Torque $prologalarm: 300 s).
// After that an administrator forces the deletion of a job on a dead node, and no record of its end follows.
const grace = time.Hour

// UnseenGrace is how long, in event time, the fold waits for a record with the start of a job that has ended. A listing
// of the scheduler has it, or a record of the accounting.
const UnseenGrace = DetailsGrace

// overUnseen records that a waiting job has ended, although it must have started before. The change is a Hold with the
// time of the end. The first end counts.
func (f fold) overUnseen(j *Job, ev job.Event) Verdict {
	// With an earlier end a replay could find the grace over in the middle of the changes of one record.
	ev.Times.End = later(ev.Times.End, ev.Time)
	if !j.Over.IsZero() || ev.Times.End.Before(j.Waited()) {
		return Duplicate
	}
	next := *j
	next.Over, next.Held, next.Reason = ev.Times.End, true, ""
	ev.Attempt = j.Attempt
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}

// doom records that the deletion of a running job was requested. The first request counts.
func (f fold) doom(j *Job, ev job.Event) Verdict {
	if !j.Asked.IsZero() || ev.Time.Before(j.Start) {
		return Duplicate
	}
	next := *j
	next.Asked = ev.Time
	f.before(&ev)
	f.take(j)
	f.put(&next)
	f.emit(Change{Event: ev, Before: j, After: &next})
	return Applied
}

// reconcile takes jobs out of the picture, and back into it, as the time and the job of an event require.
func (f fold) reconcile(ev *job.Event) {
	f.expire(ev)
	f.expireOverdue(ev)
	f.find(ev)
}

// expire removes the jobs whose grace is over at the time of an event: first those whose start is unknown, then those
// whose deletion was requested, in the order of their ends and requests. It does not remove the job of the event
// itself, because a late start or end is better than none; nor another job of its array, because one record may change
// several of them, and a replay has these changes one by one.
func (f fold) expire(ev *job.Event) {
	for i := 0; i < len(f.over); {
		j := f.over[i]
		over := j.Over.Add(UnseenGrace)
		if !ev.Time.After(over) {
			break
		}
		if sameArray(j.ID, ev.ID) {
			i++
			continue
		}
		f.lose(j, over, j.Over)
	}
	for i := 0; i < len(f.doomed); {
		j := f.doomed[i]
		over := j.Asked.Add(grace)
		if !ev.Time.After(over) {
			return
		}
		if j.ID == ev.ID {
			i++
			continue
		}
		f.lose(j, over, j.Asked)
	}
}

// lose removes a running job without a record of its end, or a job that is over without a record of its start. at is
// the time at which the loss was noticed, or the end of the grace. ended is the assumed end. A job that is removed
// because it is overdue counts as missing.
func (f fold) lose(j *Job, at, ended time.Time) {
	if j.Running() {
		f.count.LostEnds++
	} else {
		f.count.UnseenStarts++
		f.unseenAt = ended
	}
	f.remove(j, at, ended)
	if deadline := j.deadline(); !deadline.IsZero() && !at.Before(deadline) {
		f.missing[j.ID] = Missing{Job: j, Since: at}
	}
}

// remove removes a job by a derived end.
func (f fold) remove(j *Job, at, ended time.Time) {
	ev := job.Event{
		Kind: job.End, Cluster: f.name, ID: j.ID, Attempt: j.Attempt, Time: at, Derived: true,
		Times: job.Times{End: ended},
	}
	f.before(&ev)
	f.leave(j, ended)
	f.emit(Change{Event: ev, Before: j})
}

// sameArray reports whether two ids are of one job, or of one array.
func sameArray(a, b string) bool {
	return a == b || WholeOf(a) == b || a == WholeOf(b) || WholeOf(a) == WholeOf(b) && WholeOf(a) != ""
}
