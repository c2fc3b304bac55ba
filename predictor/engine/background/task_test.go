package background

import "testing"

// TestBackgroundHurries proves that a task is hurried once callers wait for it, however many they are. Nothing hurries
// a task that is done.
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
