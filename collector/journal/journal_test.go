package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/journal"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a real journal, written by systemd-journal-remote.
type log struct {
	t    *testing.T
	path string
	n    int // the number of entries so far
}

func newLog(t *testing.T) *log {
	t.Helper()
	for _, program := range []string{"journalctl", remote} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing (make test-deps)", program)
		}
	}
	return &log{t: t, path: filepath.Join(t.TempDir(), "a.journal")}
}

const remote = "/lib/systemd/systemd-journal-remote"

// began is the time of the first entry. Each further entry is one second later.
var began = time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)

// export returns an entry in systemd's export format.
func (l *log) export(fields ...string) string {
	at := began.Add(time.Duration(l.n) * time.Second).UnixMicro()
	l.n++
	return fmt.Sprintf("__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n"+
		"_BOOT_ID=0123456789abcdef0123456789abcdef\n%s\n\n", at, l.n, strings.Join(fields, "\n"))
}

// add appends entries.
func (l *log) add(entries ...string) {
	l.t.Helper()
	cmd := exec.Command(remote, "-o", l.path, "-")
	cmd.Stdin = strings.NewReader(strings.Join(entries, ""))
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
}

// messages returns entries of slurmctld with the given messages.
func (l *log) messages(texts ...string) (entries []string) {
	for _, text := range texts {
		entries = append(entries, l.export("SYSLOG_IDENTIFIER=slurmctld", "MESSAGE="+text))
	}
	return entries
}

// follow returns a follower of the log.
func (l *log) follow(checkpoint []byte, change func(*journal.Config), opts tail.Options) *journal.Follower {
	l.t.Helper()
	cfg := journal.Config{Source: "a", Path: l.path, Matches: []string{"SYSLOG_IDENTIFIER=slurmctld"},
		Poll: 10 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	f, err := journal.New(cfg, checkpoint, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = f.Close() })
	return f
}

// seen has the contents of batches.
type seen struct {
	lines      []string
	problems   []tail.Problem
	checkpoint []byte
	caughtUp   bool
}

// read takes batches until done returns true.
func (l *log) read(f *journal.Follower, s *seen, done func() bool) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	for !done() {
		b, err := f.Next(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.t.Fatalf("%v after %q, %v", err, s.lines, s.problems)
		}
		s.add(b)
	}
}

func (s *seen) add(b tail.Batch) {
	for _, line := range b.Lines {
		s.lines = append(s.lines, string(line.Text))
	}
	s.problems = append(s.problems, b.Problems...)
	s.checkpoint, s.caughtUp = bytes.Clone(b.Checkpoint), b.CaughtUp
}

// TestLines proves that an entry becomes a line of slurmctld's log, with the time at which the message was sent, or
// otherwise received.
func TestLines(t *testing.T) {
	l := newLog(t)
	sent := began.Add(100*time.Millisecond + 250*time.Microsecond).UnixMicro()
	l.add(
		l.export("SYSLOG_IDENTIFIER=slurmctld", "MESSAGE=sched: Allocate JobId=1",
			fmt.Sprintf("_SOURCE_REALTIME_TIMESTAMP=%d", sent)),
		l.export("SYSLOG_IDENTIFIER=slurmctld", "MESSAGE=slurmctld: done JobId=1"),
		l.export("SYSLOG_IDENTIFIER=sshd", "MESSAGE=of no interest"),
		l.export("SYSLOG_IDENTIFIER=slurmctld", "MESSAGE=[2026-11-23T15:00:02.500] it has a time"),
		l.export("SYSLOG_IDENTIFIER=slurmctld", "MESSAGE\n\x0b\x00\x00\x00\x00\x00\x00\x00two\nlines \xff"),
	)
	var s seen
	f := l.follow(nil, func(c *journal.Config) { c.OneShot = true }, tail.Options{})
	l.read(f, &s, func() bool { return false })
	want := []string{
		"[2026-11-23T15:00:00.100250Z] sched: Allocate JobId=1", "[2026-11-23T15:00:01.000000Z] done JobId=1",
		"[2026-11-23T15:00:02.500] it has a time", "[2026-11-23T15:00:04.000000Z] two lines \xff",
	}
	if d := cmp.Diff(want, s.lines); d != "" || len(s.problems) > 0 {
		t.Errorf("-want +got:\n%s\n%v", d, s.problems)
	}
}

// TestEventsAreThoseOfTheFile proves that slurmctld's log gives the same events from the file and from the journal.
func TestEventsAreThoseOfTheFile(t *testing.T) {
	l := newLog(t)
	const file = "../slurm/testdata/slurmctld.log"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for line := range strings.Lines(string(text)) {
		stamp, message, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "["), "\n"), "] ")
		at, err := time.Parse("2006-01-02T15:04:05.000", stamp)
		if !ok || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		entries = append(entries, l.export("SYSLOG_IDENTIFIER=slurmctld", "MESSAGE="+message,
			fmt.Sprintf("_SOURCE_REALTIME_TIMESTAMP=%d", at.UnixMicro())))
	}
	l.add(entries...)
	events := func(cfg source.Config) (all []job.Event) {
		cfg.Name, cfg.Format = "a", slurm.Log(time.Now)
		cfg.Options = collector.Options{Cluster: "c", Location: time.UTC}
		cfg.Files.Source, cfg.Files.OneShot = "a", true
		r, err := source.Open(cfg, nil, time.Now, tail.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		for {
			d, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				return all
			}
			if err != nil || len(d.Problems) > 0 {
				t.Fatalf("%v %v", err, d.Problems)
			}
			all = append(all, d.Events...)
		}
	}
	want := events(source.Config{Files: tail.Config{Path: file}})
	got := events(source.Config{Files: tail.Config{Path: "journal"}, Journal: &journal.Config{Path: l.path,
		Matches: []string{"SYSLOG_IDENTIFIER=slurmctld"}}})
	if d := cmp.Diff(want, got); d != "" || len(want) < 20 {
		t.Errorf("%d events, -file +journal:\n%s", len(want), d)
	}
}

// numbers returns the texts "message N" for each N from the first number to the second, without the second.
func numbers(from, to int) (texts []string) {
	for i := from; i < to; i++ {
		texts = append(texts, fmt.Sprintf("message %d", i))
	}
	return texts
}

// stripped returns lines without their times.
func stripped(lines []string) (texts []string) {
	for _, line := range lines {
		_, text, _ := strings.Cut(line, "] ")
		texts = append(texts, text)
	}
	return texts
}

// TestFollow proves that existing entries are read first, that their end is noticed, and that further entries are read
// as they are added. A start at the end skips the existing entries.
func TestFollow(t *testing.T) {
	l := newLog(t)
	l.add(l.messages(numbers(0, 10)...)...)
	idle := make(chan bool, 1)
	f := l.follow(nil, nil, tail.Options{Idle: func() {
		select {
		case idle <- true:
		default:
		}
	}})
	var s, late seen
	l.read(f, &s, func() bool { return s.caughtUp })
	if want := numbers(0, 10); !slices.Equal(stripped(s.lines), want) {
		t.Errorf("%q, want %q", s.lines, want)
	}
	end := l.follow(nil, func(c *journal.Config) { c.FromEnd = true }, tail.Options{})
	l.read(end, &late, func() bool { return late.caughtUp })
	for i := 10; i < 30; i += 5 {
		l.add(l.messages(numbers(i, i+5)...)...)
		l.read(f, &s, func() bool { return len(s.lines) >= i+5 })
	}
	if want := numbers(0, 30); !slices.Equal(stripped(s.lines), want) || !s.caughtUp {
		t.Errorf("%q, want %q", s.lines, want)
	}
	l.read(end, &late, func() bool { return len(late.lines) >= 20 })
	if want := numbers(10, 30); !slices.Equal(stripped(late.lines), want) {
		t.Errorf("from the end: %q, want %q", late.lines, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-idle; <-idle; cancel() }()
	if b, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with nothing new: %+v, %v", b, err)
	}
}

// TestKills proves that readers that are killed at random moments while the log grows lose nothing and commit nothing
// twice. Each reader continues from the last committed checkpoint.
func TestKills(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l, random := newLog(t), rand.New(rand.NewPCG(seed, 7))
			var committed seen
			written, kills := 0, 0
			const all = 120
			for len(committed.lines) < all {
				if written < all && (written == len(committed.lines) || random.IntN(2) == 0) {
					n := min(1+random.IntN(20), all-written)
					l.add(l.messages(numbers(written, written+n)...)...)
					written += n
				}
				f := l.follow(committed.checkpoint, func(c *journal.Config) { c.BatchLines = 1 + random.IntN(9) },
					tail.Options{})
				for steps := random.IntN(4); steps >= 0 && len(committed.lines) < written; steps-- {
					b, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if steps > 0 || random.IntN(2) == 0 { // otherwise the reader is killed before the commit
						committed.add(b)
					}
				}
				_ = f.Close()
				kills++
			}
			if want := numbers(0, all); !slices.Equal(stripped(committed.lines), want) || len(committed.problems) > 0 {
				t.Errorf("after %d kills: %s %v", kills, cmp.Diff(want, stripped(committed.lines)), committed.problems)
			}
		})
	}
}

// TestLost proves that the reader reports if a journal no longer has the entry of the checkpoint, and then reads the
// journal from its first entry on.
func TestLost(t *testing.T) {
	for name, left := range map[string]int{"some are left": 4, "nothing is left": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			l.add(l.messages(numbers(0, 5)...)...)
			var s seen
			f := l.follow(nil, nil, tail.Options{})
			l.read(f, &s, func() bool { return s.caughtUp })
			_ = f.Close()
			if err := os.Remove(l.path); err != nil {
				t.Fatal(err)
			}
			l.add(append(l.messages(numbers(10, 10+left)...), l.export("SYSLOG_IDENTIFIER=sshd", "MESSAGE=x"))...)
			after := seen{checkpoint: s.checkpoint}
			metrics := tail.NewMetrics(prometheus.NewRegistry())
			f = l.follow(s.checkpoint, nil, tail.Options{Metrics: metrics})
			l.read(f, &after, func() bool { return after.caughtUp })
			l.add(l.messages("message 20")...)
			l.read(f, &after, func() bool { return len(after.lines) > left })
			if want := append(numbers(10, 10+left), "message 20"); !slices.Equal(stripped(after.lines), want) {
				t.Errorf("%q, want %q", after.lines, want)
			}
			if p := after.problems; len(p) != 1 || p[0].Reason != tail.CheckpointLost ||
				!strings.Contains(p[0].Err.Error(), "2026-11-23T15:00:04Z") ||
				!strings.Contains(p[0].Err.Error(), "SystemMaxUse") {
				t.Errorf("problems %v", p)
			}
		})
	}
}

// TestDropped proves that messages of this log that journald dropped are counted and reported.
func TestDropped(t *testing.T) {
	l := newLog(t)
	const id = "MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e"
	journald := func(fields ...string) string {
		return l.export(append(fields, "SYSLOG_IDENTIFIER=systemd-journald", id)...)
	}
	l.add(l.messages("before")...)
	l.add(journald("MESSAGE=Suppressed 35 messages from slurmctld.service", "N_DROPPED=35"),
		journald("MESSAGE=Suppressed 7 messages from slurmctld.service"),
		journald("MESSAGE=Suppressed 1000 messages from sshd.service", "N_DROPPED=1000"))
	l.add(l.messages("after")...)
	registry := prometheus.NewRegistry()
	var s seen
	f := l.follow(nil, func(c *journal.Config) { c.OneShot = true }, tail.Options{Metrics: tail.NewMetrics(registry)})
	l.read(f, &s, func() bool { return false })
	if !slices.Equal(stripped(s.lines), []string{"before", "after"}) || len(s.problems) != 2 ||
		!strings.Contains(s.problems[0].Error(), "35 messages") || s.problems[1].Reason != tail.Suppressed {
		t.Errorf("%q, %v", s.lines, s.problems)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP waitcast_tail_suppressed_total Messages of the logs that journald reports as dropped.
# TYPE waitcast_tail_suppressed_total counter
waitcast_tail_suppressed_total{source="a"} 42
`), "waitcast_tail_suppressed_total"); err != nil {
		t.Error(err)
	}
}

// TestFailures proves that an unreadable journal is reported once, with advice. The report lasts until the journal can
// be read; then the journal is read.
func TestFailures(t *testing.T) {
	l := newLog(t)
	l.add(l.messages("one")...)
	for name, c := range map[string]struct{ script, says string }{
		"missing": {"", "cannot be run"},
		"fails":   {"echo no journal here >&2; exit 1", "no journal here"},
		"hidden": {"echo 'Hint: You are currently not seeing messages from other users and the system.' >&2",
			"group systemd-journal"},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "journalctl")
			put := func(text string) {
				t.Helper()
				//nolint:gosec // it is run
				if err := os.WriteFile(script+".new", []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(script+".new", script); err != nil {
					t.Fatal(err)
				}
			}
			if c.script != "" {
				put(c.script)
			}
			f := l.follow(nil, func(cfg *journal.Config) { cfg.Command = []string{script} }, tail.Options{})
			b, err := f.Next(t.Context())
			if err != nil || len(b.Standing) != 1 || len(b.Problems) != 1 || b.CaughtUp ||
				!strings.Contains(b.Problems[0].Err.Error(), c.says) || b.Problems[0].Reason != tail.Unreadable {
				t.Fatalf("%+v, %v, want a problem with %q", b, err, c.says)
			}
			put(`exec journalctl "$@"`)
			var s seen
			l.read(f, &s, func() bool { return s.caughtUp })
			if !slices.Equal(stripped(s.lines), []string{"one"}) || len(s.problems) > 0 {
				t.Errorf("then: %q %v", s.lines, s.problems)
			}
		})
	}
}

// TestRestart proves that reading continues after another process has killed journalctl.
func TestRestart(t *testing.T) {
	l := newLog(t)
	l.add(l.messages(numbers(0, 3)...)...)
	pid := filepath.Join(t.TempDir(), "pid")
	script := filepath.Join(t.TempDir(), "journalctl")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s\nexec journalctl \"$@\"\n", pid)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	f := l.follow(nil, func(c *journal.Config) { c.Command = []string{script} }, tail.Options{})
	var s seen
	l.read(f, &s, func() bool { return s.caughtUp })
	l.add(l.messages(numbers(3, 5)...)...)
	l.read(f, &s, func() bool { return len(s.lines) >= 5 })
	number, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("kill", "-9", strings.TrimSpace(string(number))).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.add(l.messages(numbers(5, 9)...)...)
	l.read(f, &s, func() bool { return len(s.lines) >= 9 })
	if want := numbers(0, 9); !slices.Equal(stripped(s.lines), want) {
		t.Errorf("%q, want %q", s.lines, want)
	}
}
