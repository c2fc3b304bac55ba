package daemon_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/notifytest"
)

// serviceManager returns the messages that a daemon in this process sends to $NOTIFY_SOCKET.
func serviceManager(t *testing.T) <-chan string {
	t.Helper()
	messages := notifytest.Listen(t)
	t.Setenv("WATCHDOG_USEC", "400000")
	return messages
}

// TestSystemd proves which messages a daemon sends to systemd from its start to its end: that it starts, is
// ready once it answers, is alive, misses a log, follows the log once it exists, and stops.
func TestSystemd(t *testing.T) {
	messages := serviceManager(t)
	var all []string
	next := func(pattern string) {
		t.Helper()
		deadline := time.NewTimer(patience)
		defer deadline.Stop()
		for want := regexp.MustCompile(pattern); ; {
			select {
			case m := <-messages:
				all = append(all, m)
				if want.MatchString(m) {
					return
				}
			case <-deadline.C:
				t.Fatalf("waited in vain for %s after %q", pattern, all)
			}
		}
	}
	s := newSite(t, "20260302", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(ctx, s.load(t), daemon.Options{Version: "test"}) }()
	next(`^EXTEND_TIMEOUT_USEC=\d+\nSTATUS=starting$`)
	missing := `STATUS=following 0 of 1 sources; source_unreadable: source main/accounting: .*20260302`
	next(`^READY=1\nSTATUS=`)
	if !regexp.MustCompile(missing).MatchString(all[len(all)-1]) { // the daemon may have noticed it already
		next(`^` + missing)
	}
	next(`^WATCHDOG=1$`)
	for _, r := range workload(t, 1, 40) {
		s.add(t, r.text)
	}
	next(`^STATUS=following 1 source$`)
	cancel()
	next(`^STOPPING=1\n`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSystemdFailure proves that a daemon that cannot start sends the reason, and never sends that it is ready.
func TestSystemdFailure(t *testing.T) {
	messages := serviceManager(t)
	s := newSite(t, "20260302", "")
	cfg := s.load(t)
	cfg.Listen = "192.0.2.1:1" // an address for documentation (RFC 5737), which this machine does not have
	if err := daemon.Run(t.Context(), cfg, daemon.Options{}); err == nil {
		t.Fatal("it listens on 192.0.2.1")
	}
	told := ""
	for !strings.Contains(told, "STATUS=listen: ") {
		select {
		case m := <-messages:
			told += m + "\n"
		case <-time.After(patience):
			t.Fatalf("told %q, not why", told)
		}
	}
	if strings.Contains(told, "READY") {
		t.Errorf("told %q", told)
	}
}

// TestAlive proves that the watchdog's check succeeds for a serving daemon, and fails if the writer does nothing or
// connections are not accepted.
func TestAlive(t *testing.T) {
	d := newSite(t, "20260302", "").start(t)
	alive := func(limit time.Duration) error { return daemon.Alive(t.Context(), d.Daemon, limit) }
	if err := alive(patience); err != nil {
		t.Errorf("a daemon that serves: %v", err)
	}
	if err := alive(-1); err == nil || !strings.Contains(err.Error(), "writer") {
		t.Errorf("a writer that is silent for longer than allowed: %v", err)
	}
	if err := daemon.Deafen(d.Daemon); err != nil {
		t.Fatal(err)
	}
	if err := alive(patience); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a daemon that accepts no connections: %v", err)
	}
}
