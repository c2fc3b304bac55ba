// Package loadforecast forecasts the load of a cluster: its running and waiting work over the next hours and days. It
// learns in the background from the changes that the pipeline's writer makes, and saves the learned model.
//
// The load is forecast outside the writer's goroutine. A [Learner] appends job changes and samples of the cluster to a
// list, and another goroutine processes the list. Readers get a [Published], from which they can read only the newest
// forecast.
//
// The saved state is large, so it is saved only every few minutes, and a kill loses the newest part. It may therefore
// belong to another instant than the state of the writer. After a restart the model is reconciled with the restored
// state of the cluster.
package loadforecast

import (
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/predictor/outlook"
	"github.com/waitcast/waitcast/workload/hypergamma"
)

const (
	// sampleInterval is the time between two samples of the cluster, in event time. Every third sample is used for
	// learning, so observeEvery is the time between two of these.
	sampleInterval = 5 * time.Minute
	observeEvery   = 3 * sampleInterval
	// historyEvery is the time between two samples while history is read, in event time. All these samples are used for
	// learning. No forecasts are made from them, because they would be about the past.
	historyEvery = 6 * time.Hour
	// maxBehind is the maximum number of missed samples that are taken at once after a long time without events.
	maxBehind = 16
)

// Config describes the cluster of a learner.
type Config struct {
	// Cluster is the name of the cluster, for log messages.
	Cluster string
	// Zone is the time zone of the cluster, on which the daily cycle of arrivals depends; nil means UTC.
	Zone *time.Location
	Log  *zap.Logger
	// Users and ForgetAfter are the members of outlook.Options with these names; 0 means the default.
	Users       int
	ForgetAfter time.Duration
}

// Learner learns the load of one cluster and forecasts it in the background. Its methods must be called by one
// goroutine at a time, in the order of the cluster's events. All methods return at once, except Finish, Stop, Wait, and
// BeginReplay, which decodes the saved state.
type Learner struct {
	worker *worker
	seq    int64 // number of the newest event
	// paused is true while replayed events are ignored, because there is a saved state.
	paused bool
	// replays is true while a journal is replayed.
	replays bool
	// from is the instant before which InstantOver takes no sample.
	from time.Time
	// last is the instant of the newest sample. history is true if that sample was taken while history was read.
	last    time.Time
	history bool
}

// New returns a Learner that has learned nothing yet.
func New(cfg Config) (*Learner, error) {
	zone := cfg.Zone
	if zone == nil {
		zone = time.UTC
	}
	o := outlook.Options{Seed: 1, Every: observeEvery.Seconds(), Users: cfg.Users,
		ForgetAfter: cfg.ForgetAfter.Seconds(), Local: func(at float64) float64 {
			return hypergamma.LocalSeconds(time.Unix(int64(at), 0).In(zone))
		}}
	w, err := newWorker(o, cfg.Log.With(zap.String("cluster", cfg.Cluster)))
	if err != nil {
		return nil, err
	}
	return &Learner{worker: w}, nil
}

// Published returns the value from which readers get the newest forecast. That value stays the same; the forecast in it
// changes.
func (l *Learner) Published() *Published { return l.worker.published }

// InstantOver implements changes.Observer. It takes the samples that are due before the instant at, which is that of
// the next event. The state s includes all changes before that event.
func (l *Learner) InstantOver(at time.Time, live bool, s *cluster.State) {
	now := s.Now()
	if l.paused || now.IsZero() {
		return
	}
	live = live && !l.replays
	step, observe := sampleInterval, observeEvery
	if !live {
		step, observe = historyEvery, historyEvery
	}
	newest := at.Truncate(step)
	if newest.Equal(at) {
		newest = newest.Add(-step)
	}
	if newest.Before(now) || !newest.After(l.last) || newest.Before(l.from) {
		return
	}
	view := s.View()
	first := now.Truncate(observe)
	if first.Before(now) {
		first = first.Add(observe)
	}
	if bound := newest.Truncate(observe).Add(-maxBehind * observe); first.Before(bound) {
		first = bound
	}
	for t := first; t.Before(newest); t = t.Add(observe) {
		if t.After(l.last) {
			l.worker.addSample(&sample{view: view, at: t, observe: true}, l.seq)
		}
	}
	isObserved := newest.Equal(newest.Truncate(observe))
	l.worker.addSample(&sample{view: view, at: newest, observe: isObserved, forecast: live, live: live}, l.seq)
	l.last, l.history = newest, !live
}

// Observe implements changes.Observer.
func (l *Learner) Observe(c *changes.Change, _ *cluster.State) {
	l.seq = c.Seq
	if l.paused {
		return
	}
	switch c.Kind {
	case changes.Submitted:
		if !c.Over {
			l.notify(notification{kind: notifySubmitted, after: c.After})
		}
	case changes.Split:
		l.notify(notification{kind: notifySplit, before: c.Array, after: c.After})
	case changes.Requeued:
		l.notify(notification{kind: notifyLost, before: c.Before})
		l.notify(notification{kind: notifySubmitted, after: c.After})
	case changes.Updated, changes.Held, changes.Released:
		l.notify(notification{kind: notifyUpdated, before: c.Before, after: c.After})
	case changes.Started:
		if !c.Over || !c.Before.Over.IsZero() {
			l.notify(notification{kind: notifyStarted, before: c.Before, after: c.After})
		}
	case changes.Cancelled, changes.UsedUp:
		l.notify(notification{kind: notifyGone, before: c.Before})
	case changes.Ended:
		l.notify(notification{kind: notifyEnded, before: c.Before, at: c.EndTime()})
	case changes.Lost, changes.Unseen: // the runtime is unknown
		l.notify(notification{kind: notifyLost, before: c.Before})
	}
}

func (l *Learner) notify(n notification) {
	n.seq = l.seq
	l.worker.notify(n)
}

// CaughtUp must be called when the logs have been read to their ends. It takes a sample for a forecast, because the
// history may end hours after the newest sample. It does nothing if the newest sample was not taken while history was
// read, or is less than sampleInterval old.
func (l *Learner) CaughtUp(s *cluster.State) {
	now := s.Now()
	if l.paused || now.IsZero() || !l.last.IsZero() && (!l.history || now.Sub(l.last) < sampleInterval) {
		return
	}
	l.worker.addSample(&sample{view: s.View(), at: now, forecast: true}, l.seq)
	l.last, l.history = now, false
}

// BeginReplay must be called before the writer replays a journal. saved is the saved state, nil if there is none. If
// saved is damaged, or comes from another version of the program, this is logged. If there is a usable saved state, the
// replayed events are ignored; otherwise the learner learns from them.
func (l *Learner) BeginReplay(saved []byte) {
	l.replays = true
	l.paused = len(saved) > 0 && l.worker.restore(saved)
}

// SampleFrom sets the instant before which InstantOver takes no sample. This saves most of the time of a long replay.
// The lifetimes and arrivals of jobs before that instant are still learned.
func (l *Learner) SampleFrom(at time.Time) { l.from = at }

// EndReplay must be called after the replay. seq is the number of the newest event, and s the restored state of the
// cluster. It reconciles the model with s, and asks for a forecast.
func (l *Learner) EndReplay(seq int64, s *cluster.State) {
	l.paused, l.replays, l.seq = false, false, seq
	if !s.Now().IsZero() {
		l.worker.addSample(&sample{view: s.View(), at: s.Now(), reconcile: true, forecast: true}, seq)
		l.last, l.history = s.Now(), false
	}
}

// TakeSaved returns the newest state that the learner has saved since the last call, nil if there is none. Five minutes
// or more pass between two saved states, and more if they are large.
func (l *Learner) TakeSaved() *Saved { return l.worker.takeSaved() }

// Finish is called at an orderly end of the process. It ends the work in the background, processes the waiting
// notifications, and saves the state. Later events have no effect.
func (l *Learner) Finish() { l.worker.finish() }

// Stop ends the work in the background. Waiting notifications and later events have no effect.
func (l *Learner) Stop() { l.worker.stop() }

// Wait returns once all waiting notifications are processed, and no goroutine works in the background.
func (l *Learner) Wait() { l.worker.wait() }
