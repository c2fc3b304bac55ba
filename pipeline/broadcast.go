package pipeline

import "sync/atomic"

// broadcaster wakes any number of goroutines that wait for the next view. The writer never waits for them. The zero
// value can be used.
type broadcaster struct{ next atomic.Pointer[chan struct{}] }

// wait returns a channel that is closed at the next broadcast.
func (b *broadcaster) wait() <-chan struct{} {
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

func (b *broadcaster) broadcast() {
	if c := b.next.Swap(nil); c != nil {
		close(*c)
	}
}

// Published returns a channel that is closed when views are published next. To miss no view, get the channel before you
// read the views.
func (p *Pipeline) Published() <-chan struct{} { return p.fresh.wait() }
