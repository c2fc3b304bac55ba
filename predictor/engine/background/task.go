// Package background runs work in a goroutine until its result is due.
package background

import "sync"

// Task is background work of the engine until its result is due. Then the engine waits and its core becomes available
// for the work; while a backlog of events is read, that is most of the time.
type Task struct {
	Done  chan struct{}
	Hurry chan struct{} // closed once the caller waits
	once  sync.Once     // a copy of the engine may wait for the same training
}

// New returns a task that has not been started.
func New() *Task {
	return &Task{Done: make(chan struct{}), Hurry: make(chan struct{})}
}

// Run does the work, at once or in a goroutine.
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

// Wait closes Hurry and waits for the end of the work.
func (b *Task) Wait() {
	select {
	case <-b.Done:
		return
	default:
	}
	b.once.Do(func() { close(b.Hurry) })
	<-b.Done
}
