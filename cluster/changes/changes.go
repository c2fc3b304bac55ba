// Package changes is the stream of job changes: one translation of what the fold of a cluster did into what happened to
// jobs, one interface for those that follow it, and one rule for the order within an instant.
//
// The picture of a cluster (package cluster) orders nothing: its changes come in the order of the events. An [Observer]
// follows them one by one. A [Sequencer] puts the changes of one instant into the order in which a forecast may know of
// them.
package changes

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// Kind is what happened to a job.
type Kind uint8

// The kinds of changes. Before and After are the job before and after the change.
const (
	// Other changes end no wait and no lifetime: suspensions, facts of the machine, a deletion that was only asked for.
	Other Kind = iota
	// Submitted: After waits.
	Submitted
	// Split: After has a record of its own now. Until now it was an element of Array.
	Split
	// Updated: After asks for something else than Before, or more is known of it. The job may have started or left.
	Updated
	// Held and Released: After competes no more, or again; more may be known of it, as with Updated.
	Held
	Released
	// Requeued: Before ran, After waits again. Its lifetime is unknown.
	Requeued
	// Started: Before waited, After runs.
	Started
	// Ended: Before ran, and its lifetime is known.
	Ended
	// Lost: Before ran and runs no more. When it ended is unknown.
	Lost
	// Cancelled: Before left the queue without a start.
	Cancelled
	// UsedUp: the array Before left the queue because all of its elements have records of their own.
	UsedUp
)

// Change is one change of a cluster, and what it means for its job.
type Change struct {
	cluster.Change
	Kind Kind
	// Seq is the number of the event in the journal; 0 where there is none.
	Seq int64
	// Array is of Split: the array as it waited until now.
	Array *cluster.Job
	// Over is of Submitted, Split and Started: the log reported the job only after its end, so that nobody could have
	// known of it while it waited or ran.
	Over bool
}

// Of returns what a change of a cluster means. s is the state after the change; nil if there are no arrays.
func Of(c cluster.Change, s *cluster.State) Change {
	out := Change{Change: c}
	switch c.Event.Kind {
	case job.Submit:
		out.Kind, out.Over = Submitted, reportedOver(&c.Event)
		if c.Event.Derived && s != nil {
			if out.Array = s.WaitingArray(c.After.ID); out.Array != nil {
				out.Kind = Split
			}
		}
	case job.Requeue:
		out.Kind = Requeued
	case job.Update:
		out.Kind = Updated
	case job.Hold:
		out.Kind = Held
	case job.Release:
		out.Kind = Released
	case job.Start:
		out.Kind, out.Over = Started, reportedOver(&c.Event)
	case job.Cancel:
		switch {
		case c.After != nil: // it was only asked for
		case c.Event.Derived:
			out.Kind = UsedUp
		default:
			out.Kind = Cancelled
		}
	case job.End:
		out.Kind = Ended
		if c.Event.Derived {
			out.Kind = Lost
		}
	}
	return out
}

// reportedOver reports whether an event was derived from the record of its job's end.
func reportedOver(ev *job.Event) bool { return ev.Derived && !ev.Times.End.IsZero() }

// EndTime returns the instant of an end: of the record where that has one.
func (c *Change) EndTime() time.Time {
	if c.Event.Times.End.IsZero() {
		return c.Event.Time
	}
	return c.Event.Times.End
}

// Left returns what is to be remembered of a job that is gone: Before is set and After is not.
func (c *Change) Left() cluster.Left {
	l := cluster.Left{ID: c.Before.ID, Attempt: c.Before.Attempt, Submit: c.Before.Order, At: c.Event.Time}
	if end := c.EndTime(); end.After(l.At) {
		l.At = end
	}
	if c.Before.Running() {
		l.Began = c.Before.Submit
	}
	return l
}

// Observer follows the changes of one cluster. Its methods are called in one goroutine; they do not block and return
// nothing. Observers do not know each other.
type Observer interface {
	// InstantOver reports that the open instant is over, because the next change is at the later instant at. A change
	// that the log reports late counts at the newest instant. s is the state before that change, and live says that its
	// event was read as it happened.
	InstantOver(at time.Time, live bool, s *cluster.State)
	// Observe reports a change; s is the state after it.
	Observe(c *Change, s *cluster.State)
}

// Observers are observers in the order in which they get each change.
type Observers []Observer

// Before must be called ahead of each change, with the instant of its event. It reports an instant that is over.
func (o Observers) Before(at time.Time, live bool, s *cluster.State) {
	if !at.After(s.Now()) {
		return
	}
	for _, x := range o {
		x.InstantOver(at, live, s)
	}
}

// Observe reports a change to each of them.
func (o Observers) Observe(c *Change, s *cluster.State) {
	for _, x := range o {
		x.Observe(c, s)
	}
}
