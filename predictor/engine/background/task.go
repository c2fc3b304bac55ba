// Package background runs work in a goroutine until its result is due.
package background

import (
	"sync"

	"github.com/waitcast/waitcast/internal/panics"
)

// Task is background work of the engine. When its result is due, the engine waits for it, and the engine's core becomes
// available for the work, too. While a backlog of events is read, the engine waits most of the time.
type Task struct {
	Done   chan struct{}
	Hurry  chan struct{} // closed once the caller waits
	failed *panics.Error // the panic of the work, nil for none; set before Done is closed
	once   sync.Once     // a second closing must do nothing: a copy of the engine may wait for the same training
}

// New returns a task that has not been started.
func New() *Task {
	return &Task{Done: make(chan struct{}), Hurry: make(chan struct{})}
}

// Run does the work, at once or in a goroutine.
func (b *Task) Run(atOnce bool, work func()) {
	all := func() {
		defer close(b.Done)
		b.failed = panics.Catch(work)
	}
	if atOnce {
		all()
	} else {
		go all()
	}
}

// Wait closes Hurry and waits for the end of the work. If the work has panicked, Wait panics in its place.
func (b *Task) Wait() {
	select {
	case <-b.Done:
	default:
		b.once.Do(func() { close(b.Hurry) })
		<-b.Done
	}
	panics.Raise(b.failed)
}
