package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/predictor/engine"
)

// The engine is told of the submissions and starts of an instant when that is over, which nobody knows before the next event. Readers must not wait for it: what they get
// is a copy of the engine that has been told already. It is thrown away; forecasts and scores of the ledger never come from one.

// previewShare is what part of the writer's time the copies may take: of a large cluster, where they are dear, instants are over soon.
const previewShare = .05

// preview makes the copies of one lane.
type preview struct {
	took time.Duration // the newest copy
	made time.Time     // when, by the machine's clock
	done chan struct{} // closed once nothing of the newest copy runs any more; nil before the first
}

// due reports whether there is time for a copy.
func (p *preview) due() bool {
	select {
	case <-p.done:
	default:
		if p.done != nil {
			return false
		}
	}
	return p.made.IsZero() || float64(time.Since(p.made))*previewShare >= float64(p.took)
}

// drop throws a copy away. Where its trees were in the making, that must come to its end first, for which the writer does not wait.
func (p *preview) drop(e *engine.Engine) {
	done := make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		e.Close()
	}()
}

// close waits until nothing of the copies runs any more.
func (p *preview) close() {
	if p.done != nil {
		<-p.done
	}
}

// look returns the engine's view with everything that is known, and whether it is that: where a copy would cost too much now it lacks the open instant.
func (l *ledger) look() (*engine.View, bool) {
	now := clock(l.instant)
	if len(l.pending)+len(l.follower.After) == 0 {
		return l.follower.engine.View(now), true
	}
	if !l.preview.due() {
		return l.follower.engine.View(now), false
	}
	begun := time.Now()
	defer func() { l.preview.made, l.preview.took = time.Now(), time.Since(begun) }()
	copied, err := l.follower.engine.Copy()
	if err != nil {
		return l.follower.engine.View(now), true
	}
	defer l.preview.drop(copied)
	for _, o := range l.pending {
		if o.Job.Procs < 1 {
			continue
		}
		if o.Part || o.Parts == 0 {
			copied.Submit(now, engineID(&o.Job), asked(&o.Job))
		}
		if others := l.others(o); others > 0 {
			copied.Submit(now, restID(&o.Job), rest(&o.Job, others, 0))
		}
	}
	l.follower.doAll(copied, now)
	return copied.View(now), true
}
