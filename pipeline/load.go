package pipeline

import (
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// The load of a cluster is forecast by a companion of the writer (learner), which the writer tells what happens: it appends to a list and goes on.

const (
	// sampleInterval is the event time between two samples of the cluster. Every third is learnt from (observeEvery).
	sampleInterval = 5 * time.Minute
	observeEvery   = 3 * sampleInterval
	// historyEvery is the same while history is read, when each sample is learnt from; what would be forecast is known already.
	historyEvery = 6 * time.Hour
	// mostBehind bounds the samples that are made up for at once, when nothing happened for long.
	mostBehind = 16
)

// load tells the learner of one cluster what happens there, in the writer's goroutine.
type load struct {
	learner *loadLearner
	// paused is true while a journal is replayed that the learner knows.
	paused bool
	// replays is true while a journal is replayed.
	replays bool
	// last is the newest sample; history is true if it was taken while history was read.
	last    time.Time
	history bool
}

func newLoad(cfg ClusterConfig, log *zap.Logger) *load {
	return &load{learner: newLoadLearner(cfg, log)}
}

// before must be called ahead of every change. Where an event is later than a sample is due, all that happened before that instant is known.
func (l *load) before(at time.Time, live bool, s *cluster.State) {
	now := s.Now()
	if l.paused || now.IsZero() || !at.After(now) {
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
	if newest.Before(now) || !newest.After(l.last) {
		return
	}
	view := s.View()
	first := now.Truncate(observe)
	if first.Before(now) {
		first = first.Add(observe)
	}
	first = later(first, newest.Truncate(observe).Add(-mostBehind*observe))
	for t := first; t.Before(newest); t = t.Add(observe) {
		if t.After(l.last) {
			l.learner.addSample(&loadSample{view: view, at: t, observe: true})
		}
	}
	l.learner.addSample(&loadSample{view: view, at: newest, observe: newest.Equal(newest.Truncate(observe)), forecast: live, live: live})
	l.last, l.history = newest, !live
}

// caughtUp takes a sample once history is read: it may end hours after its last one.
func (l *load) caughtUp(s *cluster.State) {
	now := s.Now()
	if l.paused || now.IsZero() || !l.last.IsZero() && (!l.history || now.Sub(l.last) < sampleInterval) {
		return
	}
	l.learner.addSample(&loadSample{view: s.View(), at: now, forecast: true})
	l.last, l.history = now, false
}

// restored makes the learner agree with the picture, after a restore.
func (l *load) restored(s *cluster.State) {
	l.paused, l.replays = false, false
	if !s.Now().IsZero() {
		l.learner.addSample(&loadSample{view: s.View(), at: s.Now(), agree: true, forecast: true})
		l.last, l.history = s.Now(), false
	}
}

// note tells the learner of a change.
func (l *load) note(c cluster.Change, s *cluster.State) {
	if l.paused {
		return
	}
	over := c.Event.Derived && !c.Event.Times.End.IsZero() // and was never told of when it mattered
	tell := l.learner.notify
	switch c.Event.Kind {
	case job.Submit:
		switch whole := s.WaitingArray(c.After.ID); {
		case c.Event.Derived && whole != nil:
			tell(loadNotification{kind: notifySplit, before: whole, after: c.After})
		case !over:
			tell(loadNotification{kind: notifySubmitted, after: c.After})
		}
	case job.Requeue:
		tell(loadNotification{kind: notifyLost, before: c.Before})
		tell(loadNotification{kind: notifySubmitted, after: c.After})
	case job.Update, job.Hold, job.Release:
		tell(loadNotification{kind: notifyUpdated, before: c.Before, after: c.After})
	case job.Start:
		if !over {
			tell(loadNotification{kind: notifyStarted, before: c.Before, after: c.After})
		}
	case job.Cancel:
		if c.After == nil {
			tell(loadNotification{kind: notifyGone, before: c.Before})
		}
	case job.End:
		if c.Event.Derived { // a lost end says nothing of the runtime
			tell(loadNotification{kind: notifyLost, before: c.Before})
		} else {
			tell(loadNotification{kind: notifyEnded, before: c.Before, at: or(c.Event.Times.End, c.Event.Time)})
		}
	}
}

func or(t, u time.Time) time.Time {
	if t.IsZero() {
		return u
	}
	return t
}
