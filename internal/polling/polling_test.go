package polling

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestUntil proves that a check is repeated until the condition holds or the limit is over. The pauses are four times
// as long as a check.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const look = 30 * time.Millisecond
		looks := 0
		holdsAt := func(n int) func() bool {
			looks = 0
			return func() bool { <-time.After(look); looks++; return looks == n }
		}
		begun := time.Now()
		if !Until(time.Minute, holdsAt(3)) || looks != 3 || time.Since(begun) != 3*look+2*4*look {
			t.Errorf("%d looks in %v, want 3 in 330 ms", looks, time.Since(begun))
		}
		begun = time.Now()
		if Until(time.Minute, holdsAt(0)) || time.Since(begun) > time.Minute+look {
			t.Errorf("a condition that never holds was waited for for %v, want a minute", time.Since(begun))
		}
	})
}

// TestPause proves that the pause has a lower and an upper bound.
func TestPause(t *testing.T) {
	for look, want := range map[time.Duration]time.Duration{
		0: shortest, time.Millisecond: shortest, 10 * time.Millisecond: 40 * time.Millisecond, time.Minute: longest,
	} {
		if got := pause(look); got != want {
			t.Errorf("after a look of %v: %v, want %v", look, got, want)
		}
	}
}
