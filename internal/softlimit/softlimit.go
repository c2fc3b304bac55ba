// Package softlimit keeps a process within some memory as long as the live heap leaves room for that: near the limit
// garbage is collected sooner, and freed memory is given back to the system. A larger live heap raises the limit, so
// that the heap is always the same part of it and the collector never runs without end.
package softlimit

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// room is the share of the limit that live data may use. The rest is needed so that the garbage collector runs only a
// few times a second at most.
const room = .8

// look is the time between two checks of the live data.
const look = 5 * time.Second

// Hold applies a limit in bytes to the memory that Go manages, or a higher one that leaves room for the live heap,
// until ctx ends. Then there is none again.
func Hold(ctx context.Context, limit int64) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	defer debug.SetMemoryLimit(math.MaxInt64)
	for {
		debug.SetMemoryLimit(limitFor(live(), limit))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// limitFor returns the limit to set for an amount of live data.
func limitFor(live uint64, limit int64) int64 {
	if least := float64(live) / room; least > float64(limit) {
		return int64(math.Min(least, 1<<62))
	}
	return limit
}

// live returns the number of bytes that the last collection found alive.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
