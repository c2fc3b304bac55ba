package softlimit

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// TestHold proves that the limit is in force while it leaves room for what lives, gives way where it does not, and ends
// with the context.
func TestHold(t *testing.T) {
	debug.SetMemoryLimit(math.MaxInt64)
	kept := make([]byte, 32<<20)
	runtime.GC()
	for _, c := range []struct {
		limit, want int64
	}{
		{1 << 30, 1 << 30},
		{33 << 20, math.MaxInt64},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				Hold(ctx, c.limit)
				close(done)
			}()
			synctest.Wait()
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("with a limit of %d it is %d, want %d", c.limit, got, c.want)
			}
			stop()
			<-done
			if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
				t.Errorf("afterwards it is %d", got)
			}
		})
	}
	runtime.KeepAlive(kept)
	const limit = 100
	for live, want := range map[uint64]int64{0: limit, 80: limit, 81: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		if got := limitFor(live, limit); got != want {
			t.Errorf("with %d alive the limit is %d, want %d", live, got, want)
		}
	}
}
