package daemon

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// lineLogger logs problems of lines and files. It limits the rate of messages about bad lines, because all of them
// are kept in quarantine.
type lineLogger struct {
	log     *zap.Logger
	limited *zap.Logger
	dropped *atomic.Int64
	newest  time.Time // newest is in event time
	stood   []string  // the lasting problems of the previous delivery
	lost    bool      // the log could not be read at the previous delivery
}

func newLineLogger(log *zap.Logger) *lineLogger {
	dropped := new(atomic.Int64)
	hook := zapcore.SamplerHook(func(_ zapcore.Entry, dec zapcore.SamplingDecision) {
		if dec&zapcore.LogDropped != 0 {
			dropped.Add(1)
		}
	})
	limited := log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, badLineInterval, badLineBurst, 0, hook)
	}))
	return &lineLogger{log: log, limited: limited, dropped: dropped}
}

// report logs the bad lines and problems of one delivery, and, for a live log, clocks that went back.
func (l *lineLogger) report(d *source.Delivery) {
	if d.Source.Format.Order == collector.Live && !d.Source.Polled { // answers report what is over with its own time
		l.backwards(d)
	}
	l.problems(d)
	for _, b := range d.Bad {
		l.limited.Warn("bad line", zap.String("source", d.Source.Name),
			zap.String("at", fmt.Sprintf("%s:%d", b.Path, b.Number)), zap.String("reason", b.Reason), zap.Error(b.Err),
			zap.Int64("not_logged_before", l.dropped.Swap(0)))
	}
}

// problems logs problems of logs and of calls of a scheduler. It logs lasting problems once, and limits the rate of
// messages about single lines.
func (l *lineLogger) problems(d *source.Delivery) {
	var standing []string
	message := "problem with a log"
	if d.Source.Polled {
		message = "the scheduler cannot be queried"
	}
	for _, p := range d.Problems {
		log, text := l.log, p.Error()
		if p.Number > 0 {
			log = l.limited
		}
		if p.Reason.Standing() {
			standing = append(standing, text)
		}
		if !slices.Contains(l.stood, text) {
			log.Warn(message, zap.String("source", d.Source.Name), zap.String("problem", text))
		}
	}
	l.stood = standing
	if l.lost && len(d.Standing) == 0 && !d.Source.Polled { // the poller reports that a scheduler answers again
		l.log.Info("the log can be read again", zap.String("source", d.Source.Name))
	}
	l.lost = len(d.Standing) > 0
}

// backwards logs each event whose time is more than clockTolerance before the time of an earlier event of the same
// source.
func (l *lineLogger) backwards(d *source.Delivery) {
	for i := range d.Events {
		ev := &d.Events[i]
		if ev.Time.After(l.newest) {
			l.newest = ev.Time
		} else if l.newest.Sub(ev.Time) > clockTolerance {
			l.limited.Warn("time runs backwards in the log: the record is still used",
				zap.String("source", d.Source.Name), zap.String("job", ev.ID),
				zap.Time("record", ev.Time), zap.Time("newest_before", l.newest))
		}
	}
}

// clockTolerance is the maximum time by which a record may be older than an earlier one without a message in the log.
// The clocks of hosts differ, and a scheduler dates a record by the time at which it noticed the event.
const clockTolerance = time.Minute

// For each source, at most badLineBurst messages of a kind are logged per badLineInterval.
const (
	badLineInterval = 10 * time.Second
	badLineBurst    = 5
)
