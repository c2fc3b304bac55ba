package polling

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestUntil proves that a check is repeated until the condition is met or the limit has passed, with pauses four times
// as long as a check.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const check = 30 * time.Millisecond
		checks := 0
		holdsAt := func(n int) func() bool {
			checks = 0
			return func() bool { <-time.After(check); checks++; return checks == n }
		}
		begun := time.Now()
		if !Until(time.Minute, holdsAt(3)) || checks != 3 || time.Since(begun) != 3*check+2*4*check {
			t.Errorf("%d checks in %v, want 3 in 330 ms", checks, time.Since(begun))
		}
		begun = time.Now()
		if Until(time.Minute, holdsAt(0)) || time.Since(begun) > time.Minute+check {
			t.Errorf("a condition that never holds was waited for for %v, want a minute", time.Since(begun))
		}
	})
}

// TestPauseAfter proves that the pause has a lower and an upper bound.
func TestPauseAfter(t *testing.T) {
	for check, want := range map[time.Duration]time.Duration{
		0: shortest, time.Millisecond: shortest, 10 * time.Millisecond: 40 * time.Millisecond, time.Minute: longest,
	} {
		if got := pauseAfter(check); got != want {
			t.Errorf("after a check of %v: %v, want %v", check, got, want)
		}
	}
}
