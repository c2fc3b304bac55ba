package softlimit

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// TestHold proves that the limit is in force as long as it leaves room for the live heap, rises with a larger heap, and
// is removed when the context ends.
func TestHold(t *testing.T) {
	debug.SetMemoryLimit(math.MaxInt64)
	kept := make([]byte, 32<<20)
	runtime.GC()
	for _, c := range []struct {
		limit, least, most int64
	}{
		{1 << 30, 1 << 30, 1 << 30},
		{33 << 20, 40 << 20, 80 << 20}, // the 32 MiB of kept, and the rest of the heap
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				Hold(ctx, c.limit)
				close(done)
			}()
			synctest.Wait()
			if got := debug.SetMemoryLimit(-1); got < c.least || got > c.most {
				t.Errorf("with a limit of %d it is %d, want %d to %d", c.limit, got, c.least, c.most)
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
	for live, want := range map[uint64]int64{0: limit, 80: limit, 81: 121, 120: 180, math.MaxUint64: 1 << 62} {
		if got := limitFor(live, limit); got != want {
			t.Errorf("with %d alive the limit is %d, want %d", live, got, want)
		}
	}
}
