// Package job is the vocabulary of waitcast: what a scheduler's log has of a job (Event), and what someone asks about
// one (Request). It knows nothing of log formats, models or predictions.
package job

import (
	"fmt"
	"time"
)

// Kind is what happened to a job.
type Kind uint8

// The kinds of events, in the order of a job's life.
const (
	// Submit: the job entered a queue.
	Submit Kind = iota + 1
	// Update: an attribute of a waiting or running job changed, or became known late.
	Update
	// Hold: the job waits for something else than processors (held, dependency, begin time).
	Hold
	// Release: the job competes for processors again.
	Release
	// Start: the job got its processors.
	Start
	// End: a job that had started gave its processors back for good.
	End
	// Cancel: the job left the queue without a start. Its wait is a lower bound, never an observation.
	Cancel
	// Requeue: a job that had started gave its processors back and waits again, as its next attempt.
	Requeue
	// Suspend: a running job gave its processors back for a while; Resume: it has them again.
	Suspend
	Resume
	// Machine: the scheduler reported facts about the machine itself (Event.Facts); the event is of no job.
	Machine
)

var kindNames = [...]string{
	Submit: "submit", Update: "update", Hold: "hold", Release: "release",
	Start: "start", End: "end", Cancel: "cancel", Requeue: "requeue",
	Suspend: "suspend", Resume: "resume", Machine: "machine",
}

// String returns the kind's name as metrics, logs and the journal write it.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Repeats reports whether events of this kind may happen many times in one life of a job, so that (cluster, id,
// attempt, kind) does not identify them. A repeated one is known by changing nothing.
func (k Kind) Repeats() bool {
	switch k {
	case Update, Hold, Release, Suspend, Resume, Machine:
		return true
	}
	return false
}

// MachineID stands in the place of a job's id in a Machine event.
const MachineID = "machine"

// Attributes are what a record has of a job. The zero value of a field means that the record lacks it.
type Attributes struct {
	Queue   string
	User    string
	Account string
	QOS     string
	Name    string
	// Procs is the size: the number of processors asked for, or given once the job has started.
	Procs int
	// Nodes is the number of nodes, where the log has it.
	Nodes int
	// Memory is the memory of the whole job in bytes.
	Memory int64
	// GPUs is the number of accelerators of the whole job, GPUType their type where the job asks for one type alone.
	GPUs    int
	GPUType string
	// Whole is true where the job gets its nodes for itself.
	Whole bool
	// TimeLimit is the requested wall-clock time.
	TimeLimit time.Duration
	// Tasks is the number of waiting tasks that the record of an array stands for, each of the size given here; 0 where
	// it is one job.
	Tasks int
	// Priority is the scheduler's own; higher starts sooner. It is reported again only after a large change.
	Priority int64
	// Reason is why the job is held, in the scheduler's word; of jobs that compete it is not kept.
	Reason string
}

// Merge returns a with every field that b knows taken from b: the later record wins.
func (a Attributes) Merge(b Attributes) Attributes {
	pick(&a.Queue, b.Queue)
	pick(&a.User, b.User)
	pick(&a.Account, b.Account)
	pick(&a.QOS, b.QOS)
	pick(&a.Name, b.Name)
	pick(&a.Procs, b.Procs)
	pick(&a.Nodes, b.Nodes)
	pick(&a.Memory, b.Memory)
	pick(&a.GPUs, b.GPUs)
	pick(&a.GPUType, b.GPUType)
	pick(&a.Whole, b.Whole)
	pick(&a.TimeLimit, b.TimeLimit)
	pick(&a.Tasks, b.Tasks)
	pick(&a.Priority, b.Priority)
	pick(&a.Reason, b.Reason)
	return a
}

func pick[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

// Times are the four instants of a job in one record; the zero time means that the record lacks it. A log often repeats
// earlier instants in a later record, which is how a job is understood whose first records were missed.
type Times struct {
	Submit   time.Time
	Eligible time.Time
	Start    time.Time
	End      time.Time
}

// Merge returns t with every instant that u knows taken from u.
func (t Times) Merge(u Times) Times {
	pick(&t.Submit, u.Submit)
	pick(&t.Eligible, u.Eligible)
	pick(&t.Start, u.Start)
	pick(&t.End, u.End)
	return t
}

// Event is one thing that happened to one job.
//
// The key of an event is (Cluster, ID, Attempt, Kind), but for the kinds that repeat: the same event read twice, or in
// two sources, counts once. Its time is not part of the key, because two sources differ by a second now and then.
type Event struct {
	Kind    Kind
	Cluster string
	// ID is the job's id as the scheduler writes it, array index included; MachineID in a Machine event.
	ID string
	// Attempt counts the job's lives from 0: a requeue or a reused id begins the next one. A collector leaves it 0; the
	// cluster's fold derives it.
	Attempt int
	// Time is when it happened, in event time.
	Time time.Time
	Attributes
	Times Times
	// Derived is true when no record has this event by itself: a later record of the job did (an end without a start).
	// A submission that is learnt only afterwards gets no forecast.
	Derived bool
	// All means that an End means the parts of the job too: the tasks of the array ID ("ID_1") and the components of
	// the heterogeneous job ID ("ID+1"), whichever live; it is somebody's wish, not the end of a try. The cluster's
	// fold makes one event of each; no event that it passes on has All.
	All bool
	// Facts are those of a Machine event; nil in every other.
	Facts *Facts
	// Live is true when the event was read as it happened, false when it was read from history: a forecast made from
	// history is marked replayed.
	Live bool
}

// Request is a job that somebody thinks of submitting.
type Request struct {
	Queue     string
	User      string
	Account   string
	QOS       string
	Procs     int
	Nodes     int
	Memory    int64
	GPUs      int
	GPUType   string
	TimeLimit time.Duration
}

// Classes of jobs whose lifetimes are modelled apart: Downey 1996, section 4.1, found that sequential jobs live by
// another law than parallel ones.
const (
	Sequential = "sequential"
	Parallel   = "parallel"
)

// Class returns the lifetime class of a job of procs processors.
func Class(procs int) string {
	if procs <= 1 {
		return Sequential
	}
	return Parallel
}

// Latest returns the latest instant of the past that the event has: its own time, or its job's submission, start or
// end. When a job becomes eligible may lie in the future and does not count.
func (ev *Event) Latest() time.Time {
	latest := ev.Time
	for _, t := range [...]time.Time{ev.Times.Submit, ev.Times.Start, ev.Times.End} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// Shift moves all instants of the event by d; those that are not known stay unknown.
func (ev *Event) Shift(d time.Duration) {
	for _, t := range [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start, &ev.Times.End} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
}
