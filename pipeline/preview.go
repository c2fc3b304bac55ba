package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// The engine receives the submissions and starts of an instant at the end of that instant. Only the next event shows
// that the instant has ended, and readers must not wait for that event. So they get a view of a copy of the engine, to
// which the submissions and starts of the open instant have been passed. The copy is then discarded; the ledger never
// uses one. If a copy would cost too much now, readers get the view of the newest instant that has ended, or keep the
// view that they have. State and forecasts of a view always belong to one instant.

const (
	// previewShare is the maximum share of the writer's time for copies that take long, as in a large cluster.
	previewShare = 0.05
	// previewCheap is the maximum duration of a cheap copy. Cheap copies may take a third to a half of the writer's
	// time. So the forecasts of a small cluster follow an event within two publications.
	previewCheap = 10 * time.Millisecond
)

// preview makes the copies of one cluster's engine.
type preview struct {
	took time.Duration // duration of making the newest copy
	made time.Time     // when the newest copy was made, by the machine's clock
	done chan struct{} // closed once the newest copy has ended; nil before the first copy
}

// due reports whether there is time for a copy now.
func (p *preview) due() bool {
	select {
	case <-p.done:
	default:
		if p.done != nil {
			return false
		}
	}
	return p.made.IsZero() || time.Since(p.made) >= p.pause()
}

// pause is the time between the end of the newest copy and the beginning of the next.
func (p *preview) pause() time.Duration {
	took := p.took.Seconds()
	return time.Duration(min(took/previewShare, took*(1+took/previewCheap.Seconds())) * float64(time.Second))
}

// drop discards a copy. If its trees are in training, the training must end first; the writer does not wait for that.
func (p *preview) drop(e *engine.Engine) {
	done := make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		e.Close()
	}()
}

// close waits until the background work of all copies has ended.
func (p *preview) close() {
	if p.done != nil {
		<-p.done
	}
}

// engineView returns the engine's view of all events so far; nil if a copy would cost too much now and atOnce is false.
func (l *ledger) engineView(atOnce bool) *engine.View {
	now := clock(l.instant)
	if len(l.pending)+l.feeder.order.Len() == 0 {
		return l.feeder.engine.View(now)
	}
	if !atOnce && !l.preview.due() {
		return nil
	}
	begun := time.Now()
	defer func() { l.preview.made, l.preview.took = time.Now(), time.Since(begun) }()
	copied, err := l.feeder.engine.Copy()
	if err != nil {
		if atOnce {
			return l.feeder.engine.View(now)
		}
		return nil
	}
	defer l.preview.drop(copied)
	l.enterPending(copied, now)
	return copied.View(now)
}

// enterPending passes the open instant to a copy of the engine.
func (l *ledger) enterPending(copied *engine.Engine, now float64) {
	for _, o := range l.pending {
		if o.Job.Procs < 1 {
			continue
		}
		if o.Part || o.Parts == 0 {
			copied.Submit(now, readmodel.EngineID(o.Job), engineRequest(o.Job))
		}
		if others := o.OtherTasks(); others > 0 {
			copied.Submit(now, restID(o.Job), rest(o.Job, others, 0))
		}
	}
	l.feeder.preview(copied, now)
}
