package cluster

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Missing is a job that is open by its records but is not in the picture, because no live source knows it: it was open
// at the end of the history, or it is long past its limit. It holds no processors. A later record of the job brings it
// back.
type Missing struct {
	Job *Job `json:"job"`
	// Since is the time at which the job was removed from the picture. For a job of the history it is zero.
	Since time.Time `json:"since,omitzero"`
}

// Overdue returns the time past its limit after which a running job counts as missing: a quarter of the limit, at least
// an hour and at most a day. Schedulers kill jobs within minutes, but administrators extend limits without a record.
func Overdue(limit time.Duration) time.Duration { return min(max(limit/4, time.Hour), aDay) }

const aDay = 24 * time.Hour

// deadline returns the time after which a running job counts as missing; zero if there is none. A record after the end
// of the limit shows that the job is not killed; then it is a day after that record. A job without a limit, a suspended
// one, one whose deletion was requested (see expire), and one whose end is known have no deadline.
func (j *Job) deadline() time.Time {
	if !j.Holds() || j.TimeLimit <= 0 || !j.Asked.IsZero() || j.Ends {
		return time.Time{}
	}
	at := j.limitEnd().Add(Overdue(j.TimeLimit))
	if j.Updated.After(j.limitEnd()) {
		at = later(at, j.Updated.Add(aDay))
	}
	return at
}

// limitEnd returns the time at which a running job reaches its limit.
func (j *Job) limitEnd() time.Time { return j.Start.Add(j.Paused).Add(j.TimeLimit) }

// noteDeadline must be called for each running job that is put into the picture.
func (s *State) noteDeadline(j *Job) {
	if at := j.deadline(); !at.IsZero() && (s.firstDeadline.IsZero() || at.Before(s.firstDeadline)) {
		s.firstDeadline = at
	}
}

// expireOverdue removes the running jobs whose deadlines have passed at the time of an event, in the order of the
// deadlines. It does not remove the job of the event itself, nor another one of its array (see expire).
func (f fold) expireOverdue(ev *job.Event) {
	if f.firstDeadline.IsZero() || !ev.Time.After(f.firstDeadline) {
		return
	}
	f.firstDeadline = time.Time{}
	var over []*Job
	for _, j := range f.running {
		if at := j.deadline(); !at.IsZero() && ev.Time.After(at) && !sameArray(j.ID, ev.ID) {
			over = append(over, j)
		} else {
			f.noteDeadline(j)
		}
	}
	slices.SortStableFunc(over, func(a, b *Job) int { return a.deadline().Compare(b.deadline()) })
	for _, j := range over {
		f.lose(j, j.deadline(), j.limitEnd())
	}
}

// ReadsHistory sets whether the next events come from imported logs, which no live source reports.
func (s *State) ReadsHistory(yes bool) { s.history = yes }

// EndHistory must be called after the last event of the history. It removes from the picture the open jobs that no live
// source has reported, because the history may have ended long ago. Their changes are derived ends. A later record of a
// live source brings a job back.
func (s *State) EndHistory(hooks *Hooks) {
	f := fold{State: s, Hooks: hooks}
	for _, list := range [...][]*Job{slices.Clone(s.running), slices.Clone(s.queued)} {
		for _, j := range list {
			if s.imported[j.ID] {
				f.remove(j, s.now, s.now)
				s.missing[j.ID] = Missing{Job: j}
			}
		}
	}
}

// find brings a missing job back if the event is a record of it that was not read before.
func (f fold) find(ev *job.Event) {
	for _, id := range [...]string{WholeOf(ev.ID), ev.ID} {
		m, ok := f.missing[id]
		at := instant(ev)
		switch {
		case !ok, !(ev.Kind == job.End && id == ev.ID) && !ev.Time.After(m.Since):
			continue
		case id == ev.ID && ev.Kind == job.Submit && at.After(later(m.Job.Start, m.Job.Order)):
			continue // the id is used again: see submit
		case endsEarlier(ev, m.Job):
			continue
		}
		j := m.Job
		known := job.Event{Kind: job.Submit, Cluster: f.name, ID: id, Attempt: j.Attempt, Time: j.Submit,
			Attributes: j.recorded(), Times: job.Times{Submit: j.Submit, Eligible: j.Eligible}, Derived: true}
		over := ev.Kind == job.End && id == ev.ID
		if over { // the job is known only when it is over
			known.Times.End = ev.Time
		}
		f.enqueue(known, j.Submit)
		if j.Running() {
			known.Kind, known.Time, known.Times.Start = job.Start, later(j.Start, ev.Time), j.Start
			if over {
				known.Time = j.Start
			}
			f.begin(f.jobs[id], known, j.Start)
		}
	}
}
