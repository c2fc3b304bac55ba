package pipeline

import "testing"

// TestBell proves that a broadcast wakes all waiting goroutines, that goroutines that begin to wait after it are woken
// by the next broadcast only, and that a broadcast does not wait for any goroutine.
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
