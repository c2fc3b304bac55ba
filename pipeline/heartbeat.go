package pipeline

import (
	"sync/atomic"
	"time"
)

// heartbeat holds the time of the writer's last sign of life.
type heartbeat struct{ last atomic.Pointer[time.Time] }

func (p *heartbeat) beat() {
	now := time.Now() // with a monotonic reading, so that setting the clock does not look like silence
	p.last.Store(&now)
}

// Idle returns the time since the writer last completed its loop or a delivery. A writer without work loops every 20
// ms. Idle may be called from any goroutine.
func (p *Pipeline) Idle() time.Duration { return time.Since(*p.heartbeat.last.Load()) }
