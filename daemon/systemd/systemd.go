// Package systemd tells the service manager how the daemon is doing: that it starts, is ready or stops, in one line
// what it is at, and by the watchdog that it still does its work. The messages are those of sd_notify(3); without
// $NOTIFY_SOCKET nothing is sent.
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
	// extendEvery and extendBy keep a start that takes long from being taken for one that hangs: each message grants
	// extendBy more.
	extendEvery = 10 * time.Second
	extendBy    = time.Minute
	// statusEvery is how often the status line is looked at; it is sent where it has changed.
	statusEvery = time.Second
	// checks is how often the service is looked at in one interval of the watchdog. sd_watchdog_enabled(3) advises 2;
	// with 4 one check that fails by accident is no restart.
	checks = 4
)

// Service is what is reported on.
type Service struct {
	// Status says in one line what the service is at.
	Status func() string
	// Alive returns what keeps the service from its work, nil if nothing does. limit is the watchdog's interval: what
	// has been silent for longer does not live.
	Alive func(ctx context.Context, limit time.Duration) error
}

// Manager is the service manager that started this process, if one did.
type Manager struct {
	log      *zap.Logger
	watchdog time.Duration // 0: off
	extend   time.Duration
	status   time.Duration
}

// New returns the manager that $NOTIFY_SOCKET and $WATCHDOG_USEC tell of. log may be nil.
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

// Start calls start and, until it returns, says doing and asks for more time.
func (m *Manager) Start(doing string, start func() error) error {
	message := fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s", extendBy.Microseconds(), doing)
	m.send(message)
	end := every(m.extend, func(context.Context) { m.send(message) })
	defer end()
	err := start()
	if err != nil {
		m.send("STATUS=" + err.Error())
	}
	return err
}

// Serve reports that the service is ready, and from then on how it is, until stop is called; stop says that the service
// stops.
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

// Reload calls reload, and says that the service reloads meanwhile.
func (m *Manager) Reload(reload func()) {
	m.send(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, monotonic().Microseconds()))
	reload()
	m.send(daemon.SdNotifyReady)
}

// monotonic returns the time of CLOCK_MONOTONIC, by which systemd orders what it is told; 0 where there is none.
func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// check feeds the watchdog if the service lives.
func (m *Manager) check(ctx context.Context, s Service) {
	ctx, cancel := context.WithTimeout(ctx, m.watchdog/checks)
	defer cancel()
	err := s.Alive(ctx, m.watchdog)
	if err == nil {
		m.send(daemon.SdNotifyWatchdog)
	} else if context.Cause(ctx) != context.Canceled { //nolint:errorlint // the cause itself: an orderly stop
		m.log.Error("the watchdog is not fed: systemd will restart the daemon unless this passes", zap.Error(err))
	}
}

// send is for messages whose loss harms nobody but the reader of systemctl status: failures are told in the log.
func (m *Manager) send(message string) {
	if _, err := daemon.SdNotify(false, message); err != nil {
		m.log.Warn("systemd cannot be told", zap.Error(err))
	}
}

// every calls do after each period until end is called, which waits for the call under way.
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
