package engine

import "testing"

// TestBackgroundHurries proves that work learns of it when somebody waits for it, however many do, and that nobody hurries work that is done.
func TestBackgroundHurries(t *testing.T) {
	b := newBackground()
	b.run(false, func() { <-b.hurry })
	waited := make(chan struct{})
	for range 2 {
		go func() {
			b.wait()
			waited <- struct{}{}
		}()
	}
	<-waited
	<-waited
	done := newBackground()
	done.run(true, func() {})
	done.wait()
	select {
	case <-done.hurry:
		t.Error("work that was done is hurried")
	default:
	}
}
