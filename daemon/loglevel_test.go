package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// leveled returns a log level, a log that uses it, the messages in that log, and the messages about changes of the
// level.
func leveled() (*LogLevel, *zap.Logger, *observer.ObservedLogs, *observer.ObservedLogs) {
	told, changes := observer.New(zapcore.DebugLevel)
	l := newLogLevel(zapcore.WarnLevel, zap.New(told))
	core, logs := observer.New(l.atomic)
	return l, zap.New(core), logs, changes
}

// TestLogLevelFallsBack proves that a requested level lasts exactly for the requested time, that the configured one
// then returns, and that both changes are logged even if the level hides such messages.
func TestLogLevelFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log, logs, changes := leveled()
		log.Debug("before")
		got, err := l.Set("debug", 10*time.Minute)
		if err != nil || got.Level != "debug" || got.Configured != "warn" || got.Until == nil ||
			!got.Until.Equal(time.Now().Add(10*time.Minute)) {
			t.Fatalf("%+v, %v", got, err)
		}
		log.Debug("within")
		<-time.After(10*time.Minute - time.Second)
		log.Debug("still within")
		<-time.After(2 * time.Second)
		synctest.Wait()
		log.Info("after")
		if got = l.Level(); got.Level != "warn" || got.Until != nil {
			t.Errorf("after ten minutes %+v", got)
		}
		if n := logs.Len(); n != 2 {
			t.Errorf("%d lines, want the two within: %v", n, logs.All())
		}
		if changes.Len() != 2 || changes.All()[0].ContextMap()["to"] != "debug" ||
			changes.All()[1].ContextMap()["to"] != "warn" {
			t.Errorf("changes %v", changes.All())
		}
	})
}

// TestLogLevelNewestCounts proves that a later change replaces an earlier change and its end, and that a reload changes
// the level to which the log returns at the end of a change.
func TestLogLevelNewestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _, _ := leveled()
		set := func(level string, d time.Duration) {
			t.Helper()
			if _, err := l.Set(level, d); err != nil {
				t.Fatal(err)
			}
		}
		is := func(level string) {
			t.Helper()
			synctest.Wait()
			if got := l.Level().Level; got != level {
				t.Errorf("level %s, want %s", got, level)
			}
		}
		set("debug", time.Minute)
		set("info", 0)
		<-time.After(2 * time.Minute)
		is("info")
		set("debug", time.Minute)
		if err := l.Configure("error"); err != nil {
			t.Fatal(err)
		}
		is("debug") // the level that an administrator set lasts
		<-time.After(2 * time.Minute)
		is("error")
		if err := l.Configure("info"); err != nil {
			t.Fatal(err)
		}
		is("info")
		if got, err := l.Set("info", time.Minute); err != nil || got.Until != nil {
			t.Errorf("the configured level for a minute: %+v, %v", got, err)
		}
		for _, bad := range []string{"", "loud", "fatal", "panic"} {
			if _, err := l.Set(bad, 0); err == nil {
				t.Errorf("%q is taken", bad)
			}
		}
		if _, err := l.Set("debug", -time.Second); err == nil {
			t.Error("a negative time is taken")
		}
		is("info")
	})
}
