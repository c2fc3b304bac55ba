// Package changes is the stream of job changes. It translates each change that the fold of a cluster made into an
// event in the life of a job. It defines the interface of the observers of these events, and it orders the events of
// one instant.
//
// The picture of a cluster (package cluster) orders nothing: its changes come in the order of the events. An [Observer]
// follows them one by one. A [Sequencer] sorts the changes of one instant: those that a forecast of that instant may
// use come first.
package changes

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// Kind is the kind of a change: what happened to a job.
type Kind uint8

// These are the kinds of changes. Before and After are the job before and after the change.
const (
	// Other changes end no wait and no lifetime: suspensions, facts of the machine, a deletion that was only
	// requested.
	Other Kind = iota
	// Submitted: the new job After waits.
	Submitted
	// Split: the job After has a record of its own now. Until now it was an element of Array.
	Split
	// Updated: the request of the job changed, or a record completed it. The job may be running or gone.
	Updated
	// Held: the job no longer competes. Released: it competes again. Like Updated, both may bring new attributes.
	Held
	Released
	// Requeued: the job Before ran, and waits again as After. Its lifetime is unknown.
	Requeued
	// Started: the job Before waited, and runs as After.
	Started
	// Ended: the job Before ran and has ended. Its lifetime is known.
	Ended
	// Lost: the job Before ran and no longer runs. The time of its end is unknown.
	Lost
	// Unseen: the job Before ran and has ended. The time of its start is unknown; it lies between Before.Waited() and
	// Before.Over. If Over is zero, Before waited at the end of the history, and whether it ran is unknown, too.
	Unseen
	// Cancelled: the job Before left the queue without a start.
	Cancelled
	// UsedUp: the array Before left the queue because all of its elements have records of their own.
	UsedUp
)

// Change is one change of a cluster, with its meaning for the job.
type Change struct {
	cluster.Change
	Kind Kind
	// Seq is the number of the event in the journal; 0 if the event is not in the journal.
	Seq int64
	// Array is set for Split: the waiting array from which the element was split.
	Array *cluster.Job
	// Over is set for Submitted, Split and Started if the log reported the job only after its end. The job was then
	// unknown while it waited or ran.
	Over bool
}

// Of classifies a change of a cluster. s is the state after the change; it may be nil if there are no arrays.
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
		case c.After != nil: // the deletion was only requested
		case c.Event.Derived:
			out.Kind = UsedUp
		default:
			out.Kind = Cancelled
		}
	case job.End:
		switch {
		case !c.Event.Derived:
			out.Kind = Ended
		case c.Before.Running():
			out.Kind = Lost
		default:
			out.Kind = Unseen
		}
	}
	return out
}

// reportedOver reports whether an event was derived from the record of its job's end.
func reportedOver(ev *job.Event) bool { return ev.Derived && !ev.Times.End.IsZero() }

// EndTime returns the time of an end: the time in the record if there is one, otherwise the time of the event.
func (c *Change) EndTime() time.Time {
	if c.Event.Times.End.IsZero() {
		return c.Event.Time
	}
	return c.Event.Times.End
}

// Left returns what the fold remembers of a job that is gone. Before must be set, and After must not.
func (c *Change) Left() cluster.Left {
	l := cluster.Left{ID: c.Before.ID, Attempt: c.Before.Attempt, Submit: c.Before.Order, At: c.Event.Time}
	if end := c.EndTime(); end.After(l.At) {
		l.At = end
	}
	if c.Before.Running() || !c.Before.Over.IsZero() {
		l.Began = c.Before.Submit
	}
	return l
}

// Observer receives the changes of one cluster. Its methods are called from one goroutine and must not block. No
// observer knows another one.
type Observer interface {
	// InstantOver is called before a change at a later instant than the open one, which is over then. at is the later
	// instant. s is the state before the change. live is true if the event of the change was read as it happened. A
	// change that the log reports late counts as one at the newest instant, so it ends no instant.
	InstantOver(at time.Time, live bool, s *cluster.State)
	// Observe reports a change; s is the state after it.
	Observe(c *Change, s *cluster.State)
}

// Observers is a list of observers. Each change is passed to them in this order.
type Observers []Observer

// Before must be called before each change, with the time of its event. It calls InstantOver if that time is later than
// the open instant.
func (o Observers) Before(at time.Time, live bool, s *cluster.State) {
	if !at.After(s.Now()) {
		return
	}
	for _, x := range o {
		x.InstantOver(at, live, s)
	}
}

// Observe passes a change to each observer.
func (o Observers) Observe(c *Change, s *cluster.State) {
	for _, x := range o {
		x.Observe(c, s)
	}
}
