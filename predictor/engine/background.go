package engine

import "sync"

// background is work that goes on beside the engine until its result is due. Then the engine waits, has nothing else to do, and lends its core: while a backlog of events is read, that is most of
// the time.
type background struct {
	done  chan struct{}
	hurry chan struct{} // closed once somebody waits
	once  sync.Once     // a copy of the engine waits for the same training
}

func newBackground() *background {
	return &background{done: make(chan struct{}), hurry: make(chan struct{})}
}

// run does the work, at once or beside the caller.
func (b *background) run(atOnce bool, work func()) {
	all := func() {
		defer close(b.done)
		work()
	}
	if atOnce {
		all()
	} else {
		go all()
	}
}

// wait waits for the end of the work, in a hurry.
func (b *background) wait() {
	select {
	case <-b.done:
		return
	default:
	}
	b.once.Do(func() { close(b.hurry) })
	<-b.done
}
