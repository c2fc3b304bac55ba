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

// Idle returns the time since the writer's last sign of life: a pass of its loop, a delivery, or the end of an
// operation of the store. Run passes its loop at least every 20 ms if there is no work. Idle may be called from any
// goroutine.
func (p *Pipeline) Idle() time.Duration { return time.Since(*p.heartbeat.last.Load()) }
