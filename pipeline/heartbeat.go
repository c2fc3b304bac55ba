package pipeline

import (
	"sync/atomic"
	"time"
)

// heartbeat holds the time of the writer's last sign of life.
type heartbeat struct{ last atomic.Pointer[time.Time] }

func (p *heartbeat) beat() {
	now := time.Now() // time.Now has a monotonic reading, so that a change of the clock does not look like silence
	p.last.Store(&now)
}

// Idle returns the time since the writer's last sign of life: a pass of its loop, or a delivery. A writer without work
// passes its loop every 20 ms. Idle may be called from any goroutine.
func (p *Pipeline) Idle() time.Duration { return time.Since(*p.heartbeat.last.Load()) }
