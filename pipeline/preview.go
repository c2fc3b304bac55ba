package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// The engine receives the submissions and starts of an instant at the end of that instant. Only the next event shows
// that the instant has ended, and readers must not wait for that event. So they get a view of a copy of the engine, to
// which the submissions and starts of the open instant have been passed. The copy is then discarded; forecasts that are
// scored never come from a copy. If a copy would cost too much now, readers get the view of the newest instant that has
// ended, or keep the view that they have. State and forecasts of a view always belong to one instant.

const (
	// previewShare is the maximum share of the writer's time for copies, if a copy takes much longer than previewCheap,
	// as in a large cluster.
	previewShare = 0.05
	// previewCheap is the maximum duration of a cheap copy. Cheap copies together may take a third to a half of the
	// writer's time. So the forecasts of a small cluster follow an event within two publications.
	previewCheap = 10 * time.Millisecond
)

// preview decides when the engine of one cluster may be copied, and keeps track of the copies.
type preview struct {
	took time.Duration // duration of making the newest copy
	made time.Time     // when the newest copy was made, by the machine's clock
	done chan struct{} // closed once all copies are discarded; nil before the first copy
}

// due reports whether there is time for a copy now: the previous one is discarded, and the pause after it is over.
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

// pause returns the minimum time between the newest copy and the next one.
func (p *preview) pause() time.Duration {
	took := p.took.Seconds()
	return time.Duration(min(took/previewShare, took*(1+took/previewCheap.Seconds())) * float64(time.Second))
}

// drop discards a copy of the engine in the background, because it may first have to wait for the training of the
// copy's trees.
func (p *preview) drop(e *engine.Engine) {
	before, done := p.done, make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		e.Close()
		if before != nil { // a copy that was made at once may be discarded before an earlier one
			<-before
		}
	}()
}

// close waits until all copies are discarded.
func (p *preview) close() {
	if p.done != nil {
		<-p.done
	}
}

// engineView returns the engine's view of all events so far. If a copy of the engine is needed and would cost too much
// now, it returns nil, unless atOnce is set. If the copy fails, it returns a view without the open instant if atOnce is
// set, otherwise nil.
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

// enterPending passes the submissions and pending commands of the open instant to a copy of the engine. Submissions of
// unknown size are left out. now is by the engine's clock.
func (l *ledger) enterPending(copied *engine.Engine, now float64) {
	for _, o := range l.pending {
		if o.Job.Procs < 1 {
			continue
		}
		if o.Part || o.Parts == 0 {
			copied.Submit(now, readmodel.EngineID(o.Job), l.engineRequest(o.Job))
		}
		if others := o.OtherTasks(); others > 0 {
			copied.Submit(now, restID(o.Job), l.rest(o.Job, others, 0))
		}
	}
	l.feeder.preview(copied, now)
}
