package daemon

import (
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/terminal"
)

// LogLevel is the level of a log. An administrator can replace the configured level for some time. It is safe for
// concurrent use.
type LogLevel struct {
	atomic zap.AtomicLevel
	// log receives a message for each change of the level. It shows messages at every level.
	log *zap.Logger
	now func() time.Time
	// after calls a function once after a duration. The returned function cancels that call.
	after func(time.Duration, func()) (stop func() bool)

	mu         sync.Mutex
	configured zapcore.Level
	until      time.Time // until is zero if the level does not return to the configured one by itself
	change     int       // the number of the newest change
	stop       func() bool
}

// NewLeveledLogger does the same as NewLogger. It also returns the level, which can be changed while the log is used.
func NewLeveledLogger(cfg config.Log) (*zap.Logger, *LogLevel, error) {
	level, err := parseLevel(cfg.Level)
	if err != nil {
		return nil, nil, err
	}
	always, err := buildLog(logConfig(cfg, zap.NewAtomicLevelAt(zapcore.DebugLevel)))
	if err != nil {
		return nil, nil, err
	}
	l := newLogLevel(level, always)
	log, err := buildLog(logConfig(cfg, l.atomic))
	return log, l, err
}

// buildLog builds a log on standard error. It escapes characters that cannot be printed; names and messages of a
// server may have such characters.
func buildLog(cfg zap.Config) (*zap.Logger, error) {
	encode := zapcore.NewJSONEncoder
	if cfg.Encoding == "console" {
		encode = zapcore.NewConsoleEncoder
	}
	to := zapcore.Lock(zapcore.AddSync(terminal.NewJSONWriter(os.Stderr)))
	return cfg.Build(zap.WrapCore(func(zapcore.Core) zapcore.Core {
		return zapcore.NewCore(encode(cfg.EncoderConfig), to, cfg.Level)
	}))
}

func newLogLevel(level zapcore.Level, say *zap.Logger) *LogLevel {
	return &LogLevel{
		atomic: zap.NewAtomicLevelAt(level), log: say, configured: level, now: time.Now,
		after: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
	}
}

// parseLevel parses one of the four levels.
func parseLevel(text string) (zapcore.Level, error) {
	level, err := zapcore.ParseLevel(text)
	if err != nil || text == "" || level > zapcore.ErrorLevel {
		return level, fmt.Errorf("log level %q: use debug, info, warn or error", text)
	}
	return level, nil
}

// Level returns the level in force.
func (l *LogLevel) Level() wire.LogLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state()
}

func (l *LogLevel) state() wire.LogLevel {
	out := wire.LogLevel{Level: l.atomic.Level().String(), Configured: l.configured.String()}
	if !l.until.IsZero() {
		until := l.until.UTC()
		out.Until = &until
	}
	return out
}

// Set changes the level. After the duration the level returns to the configured one. If the duration is 0, the level
// stays until the next change, reload or start.
func (l *LogLevel) Set(text string, duration time.Duration) (wire.LogLevel, error) {
	level, err := parseLevel(text)
	if err != nil {
		return wire.LogLevel{}, err
	}
	if duration < 0 {
		return wire.LogLevel{}, fmt.Errorf("for %s: it must not be negative", duration)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.become(level, "asked for")
	if duration > 0 && level != l.configured {
		l.until = l.now().Add(duration)
		mine := l.change
		l.stop = l.after(duration, func() { l.fallBack(mine) })
	}
	return l.state(), nil
}

// Configure changes the configured level. It is called when the configuration was read again. It also changes the
// level in force, unless an administrator has set another level for some time.
func (l *LogLevel) Configure(text string) error {
	level, err := parseLevel(text)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.configured = level
	if l.until.IsZero() {
		l.become(level, "configured")
	}
	return nil
}

// fallBack returns to the configured level when the time of a temporary change is over. change is the number of that
// change: fallBack does nothing if the level has been changed again since then.
func (l *LogLevel) fallBack(change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if change == l.change {
		l.become(l.configured, "the time is over")
	}
}

// become sets the level and cancels a scheduled return to the configured level. The change is logged even if the level
// hides messages of level info.
func (l *LogLevel) become(level zapcore.Level, why string) {
	if l.stop != nil {
		l.stop()
	}
	before := l.atomic.Level()
	l.change, l.until, l.stop = l.change+1, time.Time{}, nil
	l.atomic.SetLevel(level)
	if before != level {
		l.log.Info("log level changed", zap.Stringer("from", before), zap.Stringer("to", level), zap.String("why", why))
	}
}

// NewLogger returns the daemon's log on standard error.
func NewLogger(cfg config.Log) (*zap.Logger, error) {
	log, _, err := NewLeveledLogger(cfg)
	return log, err
}

// logConfig returns the zap configuration of a log on standard error.
func logConfig(cfg config.Log, level zap.AtomicLevel) zap.Config {
	zc := zap.NewProductionConfig()
	zc.Level = level
	zc.Sampling = nil
	zc.DisableStacktrace, zc.DisableCaller = true, true
	zc.EncoderConfig.EncodeTime = zapcore.RFC3339TimeEncoder
	if cfg.Format == "console" {
		zc.Encoding = "console"
		zc.EncoderConfig.ConsoleSeparator = " "
	}
	return zc
}
