package systemd

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/internal/notifytest"
)

// await returns the lines of the first message that has one of the given lines, and fails the test if none comes.
func await(t *testing.T, messages <-chan string, line string) []string {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	for {
		select {
		case m := <-messages:
			if lines := strings.Split(m, "\n"); slices.Contains(lines, line) {
				return lines
			}
		case <-deadline.C:
			t.Fatalf("waited in vain for %q", line)
		}
	}
}

func drain(messages <-chan string) (all []string) {
	for {
		select {
		case m := <-messages:
			all = append(all, m)
		default:
			return all
		}
	}
}

func healthy(context.Context, time.Duration) error { return nil }

func restoringStatus() string { return "restoring" }

// TestStartAsksForTime proves that a long start asks systemd for more time again and again, and that READY is sent only
// after it.
func TestStartAsksForTime(t *testing.T) {
	messages := notifytest.Listen(t)
	m := New(nil)
	m.extend = time.Millisecond
	err := m.Start(restoringStatus, func() error {
		for range 3 {
			lines := await(t, messages, "STATUS=restoring")
			if !slices.Contains(lines, "EXTEND_TIMEOUT_USEC=60000000") {
				t.Errorf("%q asks for no time", lines)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range drain(messages) {
		if strings.Contains(m, "READY") {
			t.Errorf("%q before the service serves", m)
		}
	}
	stop := m.Serve(Service{Status: func() string { return "following 1 log" }, Alive: healthy})
	if lines := await(t, messages, "READY=1"); !slices.Contains(lines, "STATUS=following 1 log") {
		t.Errorf("ready says %q", lines)
	}
	stop()
	await(t, messages, "STOPPING=1")
	if rest := drain(messages); len(rest) > 0 {
		t.Errorf("%q after STOPPING", rest)
	}
}

// TestStartFails proves that systemctl status shows the reason of a failed start, and that READY is not sent.
func TestStartFails(t *testing.T) {
	messages := notifytest.Listen(t)
	wrong := errors.New("no such folder")
	if err := New(nil).Start(restoringStatus, func() error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
	await(t, messages, "STATUS=no such folder")
}

// TestStatusFollows proves that a changed status is sent and an unchanged one is not.
func TestStatusFollows(t *testing.T) {
	messages := notifytest.Listen(t)
	m := New(nil)
	m.status = time.Millisecond
	var progress atomic.Int64
	asked := make(chan bool)
	stop := m.Serve(Service{Alive: healthy, Status: func() string {
		select {
		case asked <- true:
		default:
		}
		return "at " + strconv.FormatInt(progress.Load(), 10)
	}})
	defer stop()
	await(t, messages, "STATUS=at 0")
	progress.Store(1)
	await(t, messages, "STATUS=at 1")
	for range 5 { // the status is asked for again, with the same answer
		<-asked
	}
	if more := drain(messages); len(more) > 0 {
		t.Errorf("sent again: %q", more)
	}
}

// TestWatchdog proves that the watchdog gets signs of life while the service works, none while it does not, and some
// again afterwards. The log has the reason why none are sent.
func TestWatchdog(t *testing.T) {
	messages := notifytest.Listen(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	core, logs := observer.New(zapcore.InfoLevel)
	m := New(zap.New(core))
	var dead atomic.Bool
	checked := make(chan error)
	stop := m.Serve(Service{Status: func() string { return "" },
		Alive: func(ctx context.Context, limit time.Duration) error {
			if limit != 20*time.Millisecond {
				t.Errorf("limit %s, want the watchdog's 20 ms", limit)
			}
			var err error
			if dead.Load() {
				err = errors.New("the writer sleeps")
			}
			select {
			case checked <- err:
			case <-ctx.Done():
			}
			return err
		}})
	defer stop()
	verdict := func(want bool) {
		for (<-checked == nil) != want {
		}
	}
	verdict(true)
	await(t, messages, "WATCHDOG=1")
	dead.Store(true)
	verdict(false)
	drain(messages)
	for range 5 {
		verdict(false)
	}
	if fed := drain(messages); len(fed) > 0 {
		t.Errorf("a dead service sent %q", fed)
	}
	if logs.FilterMessageSnippet("watchdog is not fed").Len() == 0 {
		t.Error("the log does not say that the watchdog is not fed")
	}
	dead.Store(false)
	verdict(true)
	await(t, messages, "WATCHDOG=1")
}

// TestAnothersWatchdog proves that no signs of life are sent for a watchdog of another process or with an unreadable
// setting.
func TestAnothersWatchdog(t *testing.T) {
	notifytest.Listen(t)
	for _, c := range []struct{ usec, pid string }{{"1000", "1"}, {"soon", ""}, {"-1", ""}, {"", ""}} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		if m := New(nil); m.watchdog != 0 {
			t.Errorf("%+v: the watchdog is on, every %s", c, m.watchdog)
		}
	}
}

// TestWithoutManager proves that a daemon without a service manager works as usual and sends nothing.
func TestWithoutManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	core, logs := observer.New(zapcore.DebugLevel)
	m := New(zap.New(core))
	started := false
	if err := m.Start(restoringStatus, func() error { started = true; return nil }); err != nil || !started {
		t.Errorf("started %v, %v", started, err)
	}
	m.Serve(Service{Status: func() string { return "" }, Alive: healthy})()
	if logs.Len() > 0 {
		t.Errorf("logged: %v", logs.All())
	}
}

// TestReload proves that systemd is notified at the beginning of a reload, with the instant by which it orders
// messages, and at the end.
func TestReload(t *testing.T) {
	messages := notifytest.Listen(t)
	New(nil).Reload(func() {
		m := <-messages
		stamp, ok := strings.CutPrefix(m, "RELOADING=1\nMONOTONIC_USEC=")
		if usec, err := strconv.ParseInt(stamp, 10, 64); !ok || err != nil || usec <= 0 {
			t.Errorf("at the beginning it says %q", m)
		}
	})
	if m := <-messages; m != "READY=1" {
		t.Errorf("at the end it says %q", m)
	}
}
