package pipeline

import (
	"sync/atomic"
	"time"
)

// heartbeat holds the time of the writer's last sign of life.
type heartbeat struct{ last atomic.Pointer[time.Time] }

func (p *heartbeat) beat() {
	now := time.Now() // of the machine, with its monotonic reading: a clock that is set does not count as silence
	p.last.Store(&now)
}

// Idle returns how long ago the writer last went round its loop or took in a delivery; with nothing to do it goes round
// every 20 ms. It may be called from any goroutine.
func (p *Pipeline) Idle() time.Duration { return time.Since(*p.heartbeat.last.Load()) }
