// Package systemd sends the state of the daemon to the service manager: starting, ready or stopping, a status line,
// and signs of life for the watchdog. The messages are defined in sd_notify(3). If $NOTIFY_SOCKET is not set, nothing
// is sent.
package systemd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

const (
	// extendEvery is the time between two messages that ask systemd to wait for extendBy more during a long start.
	// Without them, systemd would kill the daemon.
	extendEvery = 10 * time.Second
	extendBy    = time.Minute
	// statusEvery is the time between two checks of the status line. A changed status line is sent.
	statusEvery = time.Second
	// checks is the number of checks of the service in one interval of the watchdog. sd_watchdog_enabled(3) recommends
	// 2. With 4, a single check that fails by accident does not cause a restart.
	checks = 4
)

// Service is the service whose state is reported.
type Service struct {
	// Status returns a one-line description of the present work.
	Status func() string
	// Alive returns an error if the service does not work. limit is the interval of the watchdog: a part that has
	// been silent for longer counts as dead.
	Alive func(ctx context.Context, limit time.Duration) error
}

// Manager is the service manager that started this process, if a service manager did.
type Manager struct {
	log      *zap.Logger
	watchdog time.Duration // 0 if the watchdog is off
	extend   time.Duration
	status   time.Duration
}

// New returns the manager described by $NOTIFY_SOCKET and $WATCHDOG_USEC. log may be nil.
func New(log *zap.Logger) *Manager {
	if log == nil {
		log = zap.NewNop()
	}
	m := &Manager{log: log, extend: extendEvery, status: statusEvery}
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is off: its settings cannot be read", zap.Error(err))
	}
	m.watchdog = interval
	return m
}

// Start calls the function start and returns its error. Meanwhile it reports the status, a one-line description of the
// present work, and extends the start timeout. After an error it reports the error as the status.
func (m *Manager) Start(status func() string, start func() error) error {
	report := func(context.Context) {
		m.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s", extendBy.Microseconds(), status()))
	}
	report(context.Background())
	end := every(m.extend, report)
	defer end()
	err := start()
	if err != nil {
		m.send("STATUS=" + err.Error())
	}
	return err
}

// Serve reports that the service is ready. Until stop is called, it reports changes of the status and notifies the
// watchdog. stop reports that the service stops.
func (m *Manager) Serve(s Service) (stop func()) {
	told := s.Status()
	m.send(daemon.SdNotifyReady + "\nSTATUS=" + told)
	endStatus := every(m.status, func(context.Context) {
		if now := s.Status(); now != told {
			told = now
			m.send("STATUS=" + now)
		}
	})
	endWatch := func() {}
	if m.watchdog > 0 {
		endWatch = every(m.watchdog/checks, func(ctx context.Context) { m.check(ctx, s) })
	}
	return func() {
		endStatus()
		endWatch()
		m.send(daemon.SdNotifyStopping + "\nSTATUS=saving the state")
	}
}

// Reload calls the function reload. It first reports that the service reloads, and afterwards that it is ready.
func (m *Manager) Reload(reload func()) {
	m.send(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, monotonic().Microseconds()))
	reload()
	m.send(daemon.SdNotifyReady)
}

// monotonic returns the time of CLOCK_MONOTONIC, which systemd expects in messages. It returns 0 if the system has no
// such clock.
func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// check notifies the watchdog if the service is alive.
func (m *Manager) check(ctx context.Context, s Service) {
	ctx, cancel := context.WithTimeout(ctx, m.watchdog/checks)
	defer cancel()
	err := s.Alive(ctx, m.watchdog)
	if err == nil {
		m.send(daemon.SdNotifyWatchdog)
	} else if context.Cause(ctx) != context.Canceled { //nolint:errorlint // Canceled itself is an orderly stop
		m.log.Error("the watchdog is not fed: systemd will restart the daemon unless this passes", zap.Error(err))
	}
}

// send sends a message to systemd. It only logs a failure, because the daemon can work without systemd.
func (m *Manager) send(message string) {
	if _, err := daemon.SdNotify(false, message); err != nil {
		m.log.Warn("systemd cannot be told", zap.Error(err))
	}
}

// every calls `do` after each period until end is called. end waits until a running call returns.
func every(period time.Duration, do func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do(ctx)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
