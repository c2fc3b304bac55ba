package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// patience is the time after which a test fails if a condition is still not met.
const patience = 5 * time.Minute

// fake writes a shell script that replaces a scheduler's command.
func fake(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // never a half-written script
		t.Fatal(err)
	}
}

// lines makes an event from each line, and refuses "garbage".
func lines(output []byte, asked time.Time) Answer {
	var a Answer
	for line := range strings.Lines(string(output)) {
		a.Lines++
		if strings.TrimSpace(line) == "garbage" {
			return Answer{Err: errors.New("1 of the 1 lines it printed cannot be read"), Lines: 1,
				Bad: []BadLine{{Number: 1, Reason: collector.ReasonFormat}}}
		}
		a.Events = append(a.Events, job.Event{Kind: job.Update, ID: strings.TrimSpace(line), Time: asked})
	}
	return a
}

// poller is a Poller with a fake command, which does not exist at first.
type poller struct {
	*Poller
	t        *testing.T
	command  string
	registry *prometheus.Registry
}

func newPoller(t *testing.T, timeout time.Duration) *poller {
	t.Helper()
	p := &poller{t: t, command: filepath.Join(t.TempDir(), "squeue"), registry: prometheus.NewRegistry()}
	cfg := Config{Name: "c/asked", Options: collector.Options{Cluster: "c"}}
	command := Command{Args: []string{p.command, "argument"}, Env: []string{"SET=set"}, Timeout: timeout,
		MaxOutput: 1 << 20}
	ask := func(ctx context.Context, asked time.Time) Answer {
		output, err := Run(ctx, command)
		if err != nil {
			return Answer{Err: err}
		}
		return lines(output, asked)
	}
	poll := PollConfig{Target: p.command, Interval: 10 * time.Millisecond}
	p.Poller = NewPoller(cfg, poll, PollOptions{Ask: ask, Metrics: NewPollMetrics(p.registry)})
	return p
}

func (p *poller) next() *Delivery {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	d, err := p.Next(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// failures returns the number of failures with a reason.
func (p *poller) failures(reason string) float64 {
	return testutil.ToFloat64(p.opts.Metrics.failures.WithLabelValues("c", "c/asked", reason))
}

// wantProblem takes the next delivery, which must report a failure with all the given words in its message.
func (p *poller) wantProblem(reason string, standing tail.Reason, words ...string) {
	p.t.Helper()
	d := p.next()
	if len(d.Problems) != 1 || d.Problems[0].Reason != standing || !standing.Standing() || d.CaughtUp || d.Lines > 0 ||
		len(d.Events) > 0 {
		p.t.Fatalf("delivery %+v, want a problem %s and nothing else", d, standing)
	}
	for _, w := range words {
		if !strings.Contains(d.Problems[0].Error(), w) {
			p.t.Errorf("problem %q does not speak of %q", d.Problems[0].Error(), w)
		}
	}
	if p.failures(reason) < 1 {
		p.t.Errorf("no failure %s was counted", reason)
	}
}

// wantEvents takes the next delivery, which must have the events with the given ids.
func (p *poller) wantEvents(ids ...string) {
	p.t.Helper()
	d := p.next()
	var got []string
	for _, ev := range d.Events {
		got = append(got, ev.ID)
	}
	if strings.Join(got, " ") != strings.Join(ids, " ") || !d.CaughtUp || len(d.Problems) > 0 || d.Lines != len(ids) ||
		d.Source.Name != "c/asked" {
		p.t.Fatalf("delivery %+v, want events %q", d, ids)
	}
}

// TestPollerDelivers proves that each call's output becomes a delivery, and that the command gets its arguments and its
// environment.
func TestPollerDelivers(t *testing.T) {
	p := newPoller(t, time.Minute)
	fake(t, p.command, `echo $1; echo $SET`)
	p.wantEvents("argument", "set")
	fake(t, p.command, `exit 0`)
	p.wantEvents()
	if got := testutil.ToFloat64(p.opts.Metrics.success.WithLabelValues("c", "c/asked")); got < 1e9 {
		t.Errorf("the last success was at %v", got)
	}
}

// TestPollerSurvivesItsCommand proves that every kind of failure is reported once with its cause, counted each time,
// and reported as over when the command works again.
func TestPollerSurvivesItsCommand(t *testing.T) {
	for _, c := range []struct {
		name, script, reason string
		standing             tail.Reason
		words                []string
	}{
		{"missing", "", FailedStart, tail.Missing, []string{"squeue", "no such file", "install it"}},
		{"failing", "echo 'error: Unable to contact slurm controller' >&2; exit 1", FailedExit, tail.Unreadable,
			[]string{"exit status 1", "Unable to contact"}},
		{"failing silently", "kill -9 $$", FailedExit, tail.Unreadable, []string{"killed", "no message"}},
		{"garbage", "echo garbage", FailedOutput, tail.Unreadable, []string{"cannot be read"}},
		{"endless", "yes", FailedOutput, tail.Unreadable, []string{"1048576 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPoller(t, time.Minute)
			if c.script != "" {
				fake(t, p.command, c.script)
			}
			p.wantProblem(c.reason, c.standing, c.words...)
			done := make(chan struct{})
			go func() { // the same failure continues, and Next does not return it
				defer close(done)
				for ctx := t.Context(); p.failures(c.reason) < 3; {
					if pause(ctx, time.Millisecond) != nil {
						return
					}
				}
				fake(t, p.command, "echo 7")
			}()
			p.wantEvents("7")
			<-done
		})
	}
}

// TestPollerKillsWhatHangs proves that a command that hangs is killed together with its child processes, and is then
// run again.
func TestPollerKillsWhatHangs(t *testing.T) {
	p := newPoller(t, 3*time.Second) // long enough for an answer on a busy machine, too
	note := filepath.Join(t.TempDir(), "pid")
	fake(t, p.command, fmt.Sprintf("sleep 1000 & echo $! >%s; wait", note))
	p.wantProblem(FailedTimeout, tail.Unreadable, "did not answer in 3s")
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatal("what the command started was left behind")
		}
		if err := pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	fake(t, p.command, "echo 7")
	p.wantEvents("7")
}

// alive reports whether a process runs. A zombie does not count as running.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestPollerStops proves that a daemon that stops does not wait for a command that hangs.
func TestPollerStops(t *testing.T) {
	p := newPoller(t, time.Hour)
	note := filepath.Join(t.TempDir(), "begun")
	fake(t, p.command, fmt.Sprintf("touch %s; sleep 1000", note))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for {
			if _, err := os.Stat(note); err == nil || pause(t.Context(), time.Millisecond) != nil {
				return
			}
		}
	}()
	if _, err := p.Next(ctx); !errors.Is(err, context.Canceled) { // hangs if Next waits for the command
		t.Errorf("Next returned %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestPollerWaitsUntilReady proves that no scheduler is polled before the logs are read.
func TestPollerWaitsUntilReady(t *testing.T) {
	p := newPoller(t, time.Minute)
	asked := 0
	p.opts.Ready = func() bool { asked++; return asked > 2 }
	note := filepath.Join(t.TempDir(), "calls")
	fake(t, p.command, "echo x >>"+note)
	p.wantEvents()
	if text, err := os.ReadFile(note); err != nil || string(text) != "x\n" || asked != 3 {
		t.Errorf("called %q after %d questions: %v", text, asked, err)
	}
}

// TestPollerBacksOff proves that the pause doubles with every failure after the first, up to five minutes, and is never
// below the interval.
func TestPollerBacksOff(t *testing.T) {
	for _, c := range []struct {
		interval time.Duration
		failed   int
		want     time.Duration
	}{
		{15 * time.Second, 0, 15 * time.Second}, {15 * time.Second, 1, 15 * time.Second},
		{15 * time.Second, 2, 30 * time.Second},
		{15 * time.Second, 4, 2 * time.Minute}, {15 * time.Second, 6, 5 * time.Minute},
		{15 * time.Second, 1 << 30, 5 * time.Minute}, {time.Hour, 0, time.Hour}, {time.Hour, 9, time.Hour},
	} {
		if got := delay(c.interval, c.failed); got != c.want {
			t.Errorf("after %d failures with an interval of %s: %s, want %s", c.failed, c.interval, got, c.want)
		}
	}
	for range 1000 {
		if d := jitter(time.Second); d < 900*time.Millisecond || d > 1100*time.Millisecond {
			t.Fatalf("a second became %s", d)
		}
	}
}

// TestPollerReturnsWithTheLog proves that a scheduler that failed often is polled as soon as its log has new lines, and
// that lines from before the failed call do not count.
func TestPollerReturnsWithTheLog(t *testing.T) {
	p := newPoller(t, patience)
	line := time.Unix(1, 0)
	p.opts.Alive = func() time.Time { return line }
	fake(t, p.command, "exit 1")
	p.wantProblem(FailedExit, tail.Unreadable)
	p.failed, p.due = 100, time.Now().Add(time.Hour)
	if p.wanted() {
		t.Error("a silent log counts as alive")
	}
	line = time.Unix(2, 0)
	fake(t, p.command, "echo 5")
	p.wantEvents("5")
}

// TestPollerNotes proves how the notes of a call are logged, which name facts that are not supported. A note is logged
// when it is new, not at every call, and again when it returns after an absence.
func TestPollerNotes(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	notes := [][]error{{errors.New("a"), errors.New("b")}, {errors.New("b"), errors.New("b")},
		{errors.New("b"), errors.New("a")}, nil, {errors.New("b")}}
	call := 0
	p := NewPoller(Config{Name: "c/asked"}, PollConfig{Target: "x", Interval: time.Millisecond},
		PollOptions{Log: zap.New(core), Ask: func(context.Context, time.Time) Answer {
			call++
			return Answer{Notes: notes[call-1]}
		}})
	for range notes {
		if d, err := p.Next(t.Context()); err != nil || !d.CaughtUp || len(d.Problems) > 0 {
			t.Fatalf("%+v %v", d, err)
		}
	}
	var got []string
	for _, e := range logs.All() {
		got = append(got, fmt.Sprint(e.ContextMap()["error"]))
	}
	if want := "a b a b"; strings.Join(got, " ") != want {
		t.Errorf("logged %q, want %q", got, want)
	}
}
