package background

import (
	"testing"

	"github.com/waitcast/waitcast/internal/panics"
)

// TestBackgroundHurries proves that Hurry is closed once callers wait for the task, even if several do. For a task that
// is done it stays open.
func TestBackgroundHurries(t *testing.T) {
	b := New()
	b.Run(false, func() { <-b.Hurry })
	waited := make(chan struct{})
	for range 2 {
		go func() {
			b.Wait()
			waited <- struct{}{}
		}()
	}
	<-waited
	<-waited
	done := New()
	done.Run(true, func() {})
	done.Wait()
	select {
	case <-done.Hurry:
		t.Error("work that was done is hurried")
	default:
	}
}

// TestAPanicArisesWhereTheTaskIsWaitedFor proves that a panic of the work does not end the process, and that each
// caller of Wait gets it.
func TestAPanicArisesWhereTheTaskIsWaitedFor(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		b := New()
		var none map[string]int
		b.Run(atOnce, func() { none["a"]++ })
		<-b.Done
		for range 2 {
			if panics.Catch(b.Wait) == nil {
				t.Errorf("at once %v: Wait returns", atOnce)
			}
		}
	}
}
