// Package softlimit limits the memory of a process as far as the live heap allows. Near the limit garbage is collected
// sooner, and freed memory is returned to the system. If the live heap is too large for the limit, the limit is a
// multiple of the live heap, so that the collector does not run all the time.
package softlimit

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// room is the maximum share of the limit that live data may use. The rest is needed so that the garbage collector
	// runs at most a few times a second.
	room = .8
	// beyond is the limit as a multiple of the live heap, if that heap exceeds the share room of the normal limit. With
	// 1.25, which is 1/room, collections took 38 % of all CPU time of a daemon with 10,000 running and 20,000 queued
	// jobs that answered all the time.
	beyond = 1.5
)

// look is the time between two checks of the live data.
const look = 5 * time.Second

// Hold limits the memory that Go manages, in bytes, until ctx ends. If the live heap needs more room, the limit is
// higher. When ctx ends, the limit is removed.
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

// limitFor returns the limit for an amount of live data.
func limitFor(live uint64, limit int64) int64 {
	if float64(live) > room*float64(limit) {
		return int64(math.Min(beyond*float64(live), 1<<62))
	}
	return limit
}

// live returns the number of live bytes that the last collection found.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
