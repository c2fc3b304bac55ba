package background

import "testing"

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
