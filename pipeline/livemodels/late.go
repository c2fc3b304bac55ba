package livemodels

import (
	"errors"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
)

// lateEnd is a job that ended before its size or its queue was known. Its lifetime, in Seconds, is learnt once both are
// known. At is the event time at which the end was read.
type lateEnd struct {
	Job     *cluster.Job `json:"job"`
	At      time.Time    `json:"at"`
	Start   time.Time    `json:"start"`
	Seconds float64      `json:"seconds"`
}

// finished learns the lifetime of a job that has ended. If the size or queue of the job is only guessed, and its log is
// followed live, the attributes may still come from another source. Then the lifetime is learnt later.
func (m *Models) finished(c *changes.Change) error {
	start, end := c.Event.Times.Start, c.Event.Times.End
	seconds := end.Sub(start).Seconds()
	if j := c.Before; j.Switched != (time.Time{}) { // leave out the time of suspensions
		began := *j
		began.Start = start
		seconds = began.Age(end).Seconds()
	}
	if c.Event.Live && c.Before.Guessed() {
		m.late = append(m.late, lateEnd{Job: c.Before, At: m.now, Start: start, Seconds: seconds})
		return nil
	}
	return m.ended(c.Before, start, seconds)
}

// completed learns the lifetime of a job that is in m.late, if its size and queue are known now. Otherwise it updates
// the job there.
func (m *Models) completed(j *cluster.Job) error {
	for i := range m.late {
		if m.late[i].Job.Seq != j.Seq {
			continue
		}
		e := m.late[i]
		if j.Guessed() {
			m.late[i].Job = j
			return nil
		}
		m.late = append(m.late[:i:i], m.late[i+1:]...)
		return m.ended(j, e.Start, e.Seconds)
	}
	return nil
}

// expireLate learns the lifetimes that have been in m.late for more than cluster.DetailsGrace, with the guessed size
// and queue.
func (m *Models) expireLate() error {
	var errs error
	for len(m.late) > 0 && m.now.Sub(m.late[0].At) > cluster.DetailsGrace {
		e := m.late[0]
		m.late = m.late[1:]
		errs = errors.Join(errs, m.ended(e.Job, e.Start, e.Seconds))
	}
	return errs
}
