package cluster

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// grace is how long a running job may take to end after its deletion was requested. The signals of an ordinary
// deletion are seconds apart (PBS kill_delay: 10 s), and an epilogue may take 5 minutes (Torque $prologalarm: 300 s).
// After that an administrator forces the deletion of a job on a dead node, and no record of its end follows.
const grace = time.Hour

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

// expire removes the jobs whose grace is over at the time of an event, in the order of their deletion requests. It
// does not remove the job of the event itself, because a late end is better than none.
func (f fold) expire(ev *job.Event) {
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

// lose removes a running job without a record of its end. at is the time at which the loss was noticed, or the end of
// the grace. ended is the assumed end.
func (f fold) lose(j *Job, at, ended time.Time) {
	ev := job.Event{
		Kind: job.End, Cluster: f.name, ID: j.ID, Attempt: j.Attempt, Time: at, Derived: true,
		Times: job.Times{End: ended},
	}
	f.before(&ev)
	f.leave(j, ended)
	f.count.LostEnds++
	f.emit(Change{Event: ev, Before: j})
}
