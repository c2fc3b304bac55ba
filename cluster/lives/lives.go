// Package lives turns the events of a recorded log into one record for each attempt of a job: its request at
// submission, its times, and how it ended. It folds the events as the daemon does (package cluster). So repeated and
// missing records have the same effect as in the daemon.
package lives

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
)

// Fate is the outcome of an attempt, as far as the log shows it.
type Fate uint8

const (
	// Waiting jobs had not started when the log ended.
	Waiting Fate = iota
	// Running jobs had started, and their end is not in the log.
	Running
	// Ended jobs ran and ended.
	Ended
	// Lost jobs ran, and then were requeued or disappeared without an end in the log. End is the time at which that
	// was noticed.
	Lost
	// Cancelled jobs left the queue at End without a start. Jobs whose start was missed count as such, too: End is then
	// the newest time at which they are known to have waited.
	Cancelled
)

// Life is one attempt of a job.
type Life struct {
	// ID is the job's id in the form of the scheduler. Attempt numbers the job's attempts from 0.
	ID      string
	Attempt int
	// Seq numbers the submissions. A requeued job keeps its number.
	Seq uint64
	// Asked has the attributes known at the submission. A size or a queue that the log has only later is added when
	// it becomes known. Given has the last known attributes.
	Asked, Given job.Attributes
	// Submit is the time at which the attempt began to wait. Start and End are zero if they are unknown.
	Submit, Start, End time.Time
	Fate               Fate
	// Guessed is true if no record has the submission, so that the wait is unknown. The attempt then begins with its
	// start. A task other than the first of its array begins with the submission of the array instead.
	Guessed bool
	// Changes are the changes of the job while it waited, in order.
	Changes []Change

	complete bool // size and queue are known
	dropped  bool // an array whose tasks have records of their own
}

// Change is one change of a waiting job.
type Change struct {
	At   time.Time
	Held bool
	// Asked is the request from then on.
	Asked job.Attributes
}

// Lives are the lives of the jobs of one cluster.
type Lives struct {
	// Jobs are in the order of submission. Jobs of one instant are in the order of their records.
	Jobs []Life
	// Counts counts the events by their effect. Procs is the highest number of processors in use.
	Counts cluster.Counts
	Procs  int
}

// Fold returns the lives of a log's jobs. `each` must call its argument with every event, ordered by time.
func Fold(each func(do func(job.Event) error) error) (*Lives, error) {
	f := folder{
		state: cluster.New("", 0), known: map[string]cluster.Left{}, current: map[string]int{},
		split: map[string]bool{},
	}
	hooks := &cluster.Hooks{
		Known:   func(id string) (cluster.Left, bool) { l, ok := f.known[id]; return l, ok },
		Changed: f.changed,
	}
	err := each(func(ev job.Event) error {
		f.state.Apply(ev, hooks)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Lives{
		Jobs:   slices.DeleteFunc(f.lives, func(l Life) bool { return l.dropped }),
		Counts: f.state.Counts(), Procs: f.state.Capacity(),
	}
	slices.SortStableFunc(out.Jobs, func(a, b Life) int { return a.Submit.Compare(b.Submit) })
	return out, nil
}

// folder follows the changes of a cluster.
type folder struct {
	state *cluster.State
	// known has the jobs that left, however long ago, so that a late record finds its job.
	known   map[string]cluster.Left
	lives   []Life
	current map[string]int // the newest life of each job
	// split has the arrays with at least one task that has a record of its own. The first such task has the wait of the
	// array.
	split map[string]bool
}

// changed applies a change.
func (f *folder) changed(raw cluster.Change) {
	c := changes.Of(raw, f.state)
	switch c.Kind {
	case changes.Submitted, changes.Split:
		f.begin(&c)
	case changes.Requeued:
		f.end(&c, Lost, c.Event.Time)
		f.begin(&c)
	case changes.Updated, changes.Held, changes.Released:
		f.update(&c)
	case changes.Started:
		f.start(&c)
	case changes.Ended:
		f.end(&c, Ended, c.EndTime())
	case changes.Lost:
		f.end(&c, Lost, c.Event.Time)
	case changes.Cancelled:
		f.end(&c, Cancelled, c.Event.Time)
	case changes.Unseen: // its start is unknown, so that only its wait until then counts
		f.end(&c, Cancelled, c.Before.Waited())
	case changes.UsedUp:
		if l := f.of(c.Before.ID); l != nil {
			l.dropped = true
		}
	}
	if c.After == nil && c.Before != nil {
		f.known[c.Before.ID] = c.Left()
	}
}

func (f *folder) of(id string) *Life {
	if i, ok := f.current[id]; ok {
		return &f.lives[i]
	}
	return nil
}

// begin begins a life with a submission, the first record of a task of a waiting array, or a requeue.
func (f *folder) begin(c *changes.Change) {
	j := c.After
	l := Life{ID: j.ID, Attempt: j.Attempt, Seq: j.Seq, Submit: j.Submit, Guessed: c.Event.Derived}
	if c.Kind == changes.Split && !f.split[c.Array.ID] {
		f.split[c.Array.ID], l.Guessed = true, false
	}
	l.learn(j, true)
	f.current[j.ID] = len(f.lives)
	f.lives = append(f.lives, l)
}

// learn stores the known attributes of the job. The attributes of the submission stay unchanged, unless the size or
// the queue was missing.
func (l *Life) learn(j *cluster.Job, atSubmission bool) {
	l.Given = j.Attributes
	if l.Given.Queue == "" {
		l.Given.Queue = cluster.DefaultQueue
	}
	if atSubmission || !l.complete {
		l.Asked = l.Given
	}
	l.complete = j.Procs > 0 && !j.Unsized && !j.Unqueued
}

// update applies new attributes of a job.
func (f *folder) update(c *changes.Change) {
	l := f.of(c.After.ID)
	if l == nil {
		return
	}
	now := f.state.Now()
	waits := !c.After.Running()
	atSubmission := waits && !now.After(l.Submit)
	l.learn(c.After, atSubmission)
	held := c.Kind == changes.Held || c.Kind == changes.Released
	if waits && (held && c.Before.Held != c.After.Held || !atSubmission && c.Before.Attributes != c.After.Attributes) {
		l.Changes = append(l.Changes, Change{At: now, Held: c.After.Held, Asked: l.Given})
	}
}

// start applies a start.
func (f *folder) start(c *changes.Change) {
	if l := f.of(c.After.ID); l != nil {
		l.learn(c.After, false)
		l.Start, l.Fate = c.After.Start, Running
	}
}

// end applies the end of a job.
func (f *folder) end(c *changes.Change, fate Fate, at time.Time) {
	l := f.of(c.Before.ID)
	if l == nil {
		return
	}
	l.learn(c.Before, false)
	l.Fate, l.End = fate, at
	if fate != Cancelled && !c.Event.Times.Start.IsZero() && !c.Event.Times.Start.Before(l.Submit) {
		l.Start = c.Event.Times.Start // the accounting has the more exact time
	}
}
