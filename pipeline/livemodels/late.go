package livemodels

import (
	"errors"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
)

// lateEnd is a job that ended before its size or its queue was known. Its lifetime is learnt once both are known.
type lateEnd struct {
	Job     *cluster.Job `json:"job"`
	At      time.Time    `json:"at"`
	Start   time.Time    `json:"start"`
	Seconds float64      `json:"seconds"`
}

// finished records an end. In a log that is followed live, the end may arrive slightly before the job's attributes from
// another source, so the lifetime is learnt after a delay. In history the lifetime is learnt at once.
func (m *Models) finished(c *changes.Change) error {
	start, end := c.Event.Times.Start, c.Event.Times.End
	seconds := end.Sub(start).Seconds()
	if j := c.Before; j.Switched != (time.Time{}) { // the time of suspensions is no part of a lifetime
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

// completed learns the lifetime of a job that had ended before enough was known of it.
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

// expireLate learns the lifetimes that have waited too long for a size or a queue, with the guessed size and queue.
func (m *Models) expireLate() error {
	var errs error
	for len(m.late) > 0 && m.now.Sub(m.late[0].At) > cluster.DetailsGrace {
		e := m.late[0]
		m.late = m.late[1:]
		errs = errors.Join(errs, m.ended(e.Job, e.Start, e.Seconds))
	}
	return errs
}
