package pipeline

import (
	"sync/atomic"
	"time"
)

// pulse keeps when the writer last showed that it lives.
type pulse struct{ last atomic.Pointer[time.Time] }

func (p *pulse) beat() {
	now := time.Now() // of the machine, with its monotonic reading: a clock that is set does not count as silence
	p.last.Store(&now)
}

// Idle returns how long ago the writer last went round its loop or took in a delivery; with nothing to do it goes round every 20 ms.
// It may be called from any goroutine.
func (p *Pipeline) Idle() time.Duration { return time.Since(*p.pulse.last.Load()) }
