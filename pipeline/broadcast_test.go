package pipeline

import "testing"

// A bell wakes all who wait for it once, those that come later by the next ring, and needs nobody.
func TestBell(t *testing.T) {
	var b broadcaster
	b.broadcast()
	first, same := b.wait(), b.wait()
	if first != same {
		t.Error("two who wait at the same time wait for different rings")
	}
	select {
	case <-first:
		t.Error("it rang before it was rung")
	default:
	}
	b.broadcast()
	<-first
	later := b.wait()
	select {
	case <-later:
		t.Error("an old ring wakes who comes later")
	default:
	}
	b.broadcast()
	<-later
}
