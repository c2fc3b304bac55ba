// Package background runs work beside its caller until the result is due.
package background

import "sync"

// Task is work that goes on beside the engine until its result is due. Then the engine waits, has nothing else to do,
// and lends its core: while a backlog of events is read, that is most of the time.
type Task struct {
	Done  chan struct{}
	Hurry chan struct{} // closed once somebody waits
	once  sync.Once     // a copy of the engine waits for the same training
}

// New returns a task that was not run.
func New() *Task {
	return &Task{Done: make(chan struct{}), Hurry: make(chan struct{})}
}

// Run does the work, at once or beside the caller.
func (b *Task) Run(atOnce bool, work func()) {
	all := func() {
		defer close(b.Done)
		work()
	}
	if atOnce {
		all()
	} else {
		go all()
	}
}

// Wait waits for the end of the work, in a hurry.
func (b *Task) Wait() {
	select {
	case <-b.Done:
		return
	default:
	}
	b.once.Do(func() { close(b.Hurry) })
	<-b.Done
}
