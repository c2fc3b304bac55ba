// Package job defines the basic types of waitcast. An Event is an event of a job in a scheduler's log. A Request is a
// job that a user may submit. The package does not depend on log formats, models or predictions.
package job

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Kind is the kind of an event: what happened to a job.
type Kind uint8

// These are the kinds of events, in the order of a job's life.
const (
	// Submit means that the job entered a queue.
	Submit Kind = iota + 1
	// Update means that an attribute of a waiting or running job changed, or became known late.
	Update
	// Hold means that the job waits for something other than processors (it is held, or waits for another job or its
	// begin time).
	Hold
	// Release means that the job competes for processors again.
	Release
	// Start means that the job got its processors.
	Start
	// End means that a job that had started released its processors for good.
	End
	// Cancel means that the job left the queue without a start. Its wait is a lower bound, never an observation.
	Cancel
	// Requeue means that a job that had started released its processors and waits again, as its next attempt.
	Requeue
	// Suspend means that a running job released its processors for a while. Resume means that it has them again.
	Suspend
	Resume
	// Machine means that the scheduler reported facts about the machine itself (Event.Facts). Such an event does not
	// belong to a job.
	Machine
)

var kindNames = [...]string{
	Submit: "submit", Update: "update", Hold: "hold", Release: "release",
	Start: "start", End: "end", Cancel: "cancel", Requeue: "requeue",
	Suspend: "suspend", Resume: "resume", Machine: "machine",
}

// String returns the kind's name, which metrics, logs and the journal use.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Repeats reports whether events of this kind may happen several times in one attempt of a job. If so, (cluster, id,
// attempt, kind) does not identify them. Such an event is recognized as a duplicate if it changes nothing.
func (k Kind) Repeats() bool {
	switch k {
	case Update, Hold, Release, Suspend, Resume, Machine:
		return true
	}
	return false
}

// MachineID is the id in a Machine event, which has no job.
const MachineID = "machine"

// Attributes are the attributes of a job in a record. A zero field means that the record does not have it.
type Attributes struct {
	Queue   string
	User    string
	Account string
	QOS     string
	Name    string
	// Procs is the size: the number of requested processors, or of allocated processors once the job has started.
	Procs int
	// Nodes is the number of nodes, if the log reports it.
	Nodes int
	// NodeNames are the nodes on which the job runs, separated by commas; empty if there are more than MostNamed.
	NodeNames string
	// Memory is the memory of the whole job in bytes.
	Memory int64
	// GPUs is the number of accelerators of the whole job. GPUType is their type if the job requests a single type.
	GPUs    int
	GPUType string
	// Whole is true if the job gets whole nodes.
	Whole bool
	// TimeLimit is the requested wall-clock time.
	TimeLimit time.Duration
	// Tasks is the number of waiting tasks that the record of an array represents. Each task has the size in these
	// attributes. Tasks is 0 for a single job.
	Tasks int
	// Priority is the scheduler's priority. A job with a higher priority starts sooner. The priority is reported
	// again only after a large change.
	Priority int64
	// Reason is the reason why the job is held, in the scheduler's word. It is not kept for jobs that compete.
	Reason string
	// Group is the user's group, if the log reports it. PBS may limit the jobs of a group.
	Group string
	// After names the jobs that must end before this one may start: ids, and "9_*" for all tasks of array 9,
	// separated by commas. It is UnknownAfter if the job waits for other jobs in another way.
	After string
	// Throttle is the maximum number of running tasks of the job's array; NoThrottle if there is no maximum.
	Throttle int
	// Nice is the amount by which a user or an administrator lowered the priority; it is negative if the priority was
	// raised. NoNice means that the change was undone. 0 means that the record has no nice value, or that nothing was
	// changed.
	Nice int64 `json:",omitempty"`
	// Settled is the first reason for the wait whose cause (CauseOf) stayed the same in consecutive listings. It is in
	// the scheduler's word, and may be set whether the job competes or not. It is empty if there was none. Neither a
	// later reason nor the start changes it.
	Settled string `json:",omitempty"`
	// Queues are the queues that a waiting job requested, separated by commas in the order of the request. The job
	// starts in one of them; until then it counts in Queue, the first. It is empty if the record has one queue. A later
	// record of a waiting job with one queue has that queue alone. A job that has started has none.
	Queues string `json:",omitempty"`
	// Planned is the start that the scheduler itself expected when it first listed the waiting job.
	Planned time.Time `json:",omitzero"`
}

// EachQueue returns the queues in which the job may start: Queues, or else Queue alone.
func (a *Attributes) EachQueue() []string {
	if a.Queues == "" {
		return []string{a.Queue}
	}
	return strings.Split(a.Queues, ",")
}

// MostNamed is the largest number of nodes, of a job or a machine, whose names are kept. On larger machines forecasts
// do not assign jobs to individual nodes.
const MostNamed = 512

// UnknownAfter is the value of After for a job that waits for other jobs in an unknown way. An empty After means that
// the record has no information about this.
const UnknownAfter = "?"

// NoNice is the value of Nice for a job whose priority is no longer lowered or raised.
const NoNice = math.MinInt64

// Lowered returns the amount by which the priority of the job was lowered. It is negative if the priority was raised.
func (a *Attributes) Lowered() int64 {
	if a.Nice == NoNice {
		return 0
	}
	return a.Nice
}

// NoThrottle is the value of Throttle for an array whose tasks may all run at once. 0 means that the record has no
// information about this.
const NoThrottle = -1

// Merge returns a, with every nonzero field of b in place of a's field: the later record counts.
func (a Attributes) Merge(b Attributes) Attributes {
	pick(&a.Queue, b.Queue)
	pick(&a.User, b.User)
	pick(&a.Account, b.Account)
	pick(&a.QOS, b.QOS)
	pick(&a.Name, b.Name)
	pick(&a.Procs, b.Procs)
	pick(&a.Nodes, b.Nodes)
	pick(&a.NodeNames, b.NodeNames)
	pick(&a.Memory, b.Memory)
	pick(&a.GPUs, b.GPUs)
	pick(&a.GPUType, b.GPUType)
	pick(&a.Whole, b.Whole)
	pick(&a.TimeLimit, b.TimeLimit)
	pick(&a.Tasks, b.Tasks)
	pick(&a.Priority, b.Priority)
	pick(&a.Reason, b.Reason)
	pick(&a.Group, b.Group)
	pick(&a.After, b.After)
	pick(&a.Throttle, b.Throttle)
	pick(&a.Nice, b.Nice)
	pick(&a.Settled, b.Settled)
	pick(&a.Queues, b.Queues)
	pick(&a.Planned, b.Planned)
	return a
}

func pick[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

// Without returns the attributes, but zero for each field that is nonzero in known, whether its values are the same or
// not.
func (a Attributes) Without(known Attributes) Attributes {
	drop(&a.Queue, known.Queue)
	drop(&a.User, known.User)
	drop(&a.Account, known.Account)
	drop(&a.QOS, known.QOS)
	drop(&a.Name, known.Name)
	drop(&a.Procs, known.Procs)
	drop(&a.Nodes, known.Nodes)
	drop(&a.NodeNames, known.NodeNames)
	drop(&a.Memory, known.Memory)
	drop(&a.GPUs, known.GPUs)
	drop(&a.GPUType, known.GPUType)
	drop(&a.Whole, known.Whole)
	drop(&a.TimeLimit, known.TimeLimit)
	drop(&a.Tasks, known.Tasks)
	drop(&a.Priority, known.Priority)
	drop(&a.Reason, known.Reason)
	drop(&a.Group, known.Group)
	drop(&a.After, known.After)
	drop(&a.Throttle, known.Throttle)
	drop(&a.Nice, known.Nice)
	drop(&a.Settled, known.Settled)
	drop(&a.Queues, known.Queues)
	drop(&a.Planned, known.Planned)
	return a
}

func drop[T comparable](value *T, known T) {
	var zero T
	if known != zero {
		*value = zero
	}
}

// Times are the four instants of a job in one record. The zero time means that the record does not have the instant.
// A log often repeats earlier instants in a later record, so that a job can be reconstructed even if its first
// records were missed.
type Times struct {
	Submit   time.Time
	Eligible time.Time
	Start    time.Time
	End      time.Time
}

// Merge returns t, with every nonzero instant of u in place of t's instant.
func (t Times) Merge(u Times) Times {
	pick(&t.Submit, u.Submit)
	pick(&t.Eligible, u.Eligible)
	pick(&t.Start, u.Start)
	pick(&t.End, u.End)
	return t
}

// Event is one event of one job.
//
// The key of an event is (Cluster, ID, Attempt, Kind), except for kinds that repeat. An event that is read twice, or
// from two sources, counts once. Its time is not part of the key, because the times of two sources may differ by a
// second.
type Event struct {
	Kind    Kind
	Cluster string
	// ID is the job's id in the scheduler's notation, including the array index. It is MachineID in a Machine event.
	ID string
	// Attempt is the number of the job's attempt, counted from 0. A requeue or a reused id begins the next attempt. A
	// collector leaves it 0, and the cluster's fold derives it.
	Attempt int
	// Time is the time of the event, in event time.
	Time time.Time
	Attributes
	Times Times
	// Derived is true if the event has no record of its own but follows from a later record of the job. A start is
	// derived if the log has only the end. A derived submission gets no forecast.
	Derived bool
	// All extends an End to all live parts of the job: the tasks of the array ID ("ID_1") and the components of the
	// heterogeneous job ID ("ID+1"). Such an End is a request to kill, not the end of an attempt. The cluster's fold
	// replaces it by one event for each part. The events of the fold never have All.
	All bool
	// Ran is set in an End without a start if only a job that has started can end in this way, so that an unknown start
	// was missed. The events of the fold never have Ran.
	Ran bool
	// Total is the number of an array's tasks in a listing of the scheduler: Tasks, and those that had left the array's
	// record in the picture with which the listing was compared. The cluster's fold subtracts the tasks that have left
	// the record by now, and sets Tasks to the difference. If Total is 0, Tasks counts as it is. The events of the fold
	// never have Total.
	Total int
	// Facts are set only in Machine events.
	Facts *Facts
	// Live is true if the event was read as it happened. It is false if it was read from history. A forecast that was
	// made from history is marked as replayed.
	Live bool
}

// Request is a job that a user may submit.
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

// These are the classes of jobs whose lifetimes are modelled separately. Downey 1996, section 4.1, found different
// distributions for sequential and parallel jobs.
const (
	Sequential = "sequential"
	Parallel   = "parallel"
)

// Class returns the lifetime class of a job with procs processors.
func Class(procs int) string {
	if procs <= 1 {
		return Sequential
	}
	return Parallel
}

// Latest returns the latest instant in the event: its own time, or the job's submission, start or end. The eligible
// time does not count, because it may be in the future.
func (ev *Event) Latest() time.Time {
	latest := ev.Time
	for _, t := range [...]time.Time{ev.Times.Submit, ev.Times.Start, ev.Times.End} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// Shift moves all instants of the event by d. Unknown instants stay unknown.
func (ev *Event) Shift(d time.Duration) {
	for _, t := range [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start, &ev.Times.End,
		&ev.Planned} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
}
