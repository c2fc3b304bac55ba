package pipeline

import (
	"sync/atomic"
	"time"
)

// heartbeat holds the time of the writer's last sign of life.
type heartbeat struct{ last atomic.Pointer[time.Time] }

func (p *heartbeat) beat() {
	now := time.Now() // has a monotonic reading: setting the clock does not count as silence
	p.last.Store(&now)
}

// Idle returns the time since the writer last completed its loop or a delivery; an idle writer loops every 20 ms. It
// may be called from any goroutine.
func (p *Pipeline) Idle() time.Duration { return time.Since(*p.heartbeat.last.Load()) }
