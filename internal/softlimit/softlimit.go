// Package softlimit keeps a process within some memory for as long as what lives in its heap leaves room in it: near
// the limit garbage is collected sooner, and freed memory given back. It ceases where too much lives, when collecting
// without end would bring nothing.
package softlimit

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// room is what part of the limit may live. Of the rest garbage collection needs enough that it runs some times a second
// at most.
const room = .8

// look is how often what lives is looked at.
const look = 5 * time.Second

// Hold applies a limit in bytes to the memory that Go manages until ctx ends. Then there is none again.
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

// limitFor returns the limit that is in force while so much lives.
func limitFor(live uint64, limit int64) int64 {
	if float64(live) > room*float64(limit) {
		return math.MaxInt64
	}
	return limit
}

// live returns how many bytes the last collection found alive.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
