package pipeline

import "sync/atomic"

// bell wakes any number of goroutines that wait for the next view; the writer never waits for them. The zero bell can be rung.
type bell struct{ next atomic.Pointer[chan struct{}] }

// wait returns a channel that is closed when the bell is rung next.
func (b *bell) wait() <-chan struct{} {
	for {
		if c := b.next.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if b.next.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

func (b *bell) ring() {
	if c := b.next.Swap(nil); c != nil {
		close(*c)
	}
}

// Published returns a channel that is closed when views are published next. Who takes it before the views misses none.
func (p *Pipeline) Published() <-chan struct{} { return p.fresh.wait() }
