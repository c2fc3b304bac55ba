package tail

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handClock is a clock that advances and causes polls only when the test tells it to.
type handClock struct {
	now  time.Time
	tick chan time.Time
}

func newHandClock() *handClock {
	return &handClock{now: time.Unix(1_000_000_000, 0), tick: make(chan time.Time, 1)}
}

func (c *handClock) Now() time.Time { return c.now }

func (c *handClock) Ticker(time.Duration) (<-chan time.Time, func()) { return c.tick, func() {} }

// rig is a tailer in a bubble of testing/synctest, so that a test knows when the tailer waits.
type rig struct {
	t       *testing.T
	dir     string
	cfg     Config
	opts    Options
	clock   *handClock
	tailer  *Tailer
	metrics *Metrics
	// what the last call of poll returned
	lines    []string // "name:number:text"
	problems []Problem
	ckpt     []byte
	caughtUp bool
}

// hazard runs a test of a tailer that follows the file "log" in a new directory.
func hazard(t *testing.T, test func(r *rig)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, dir: dir, clock: newHandClock(), metrics: NewMetrics(prometheus.NewRegistry())}
		r.cfg = Config{Source: "test", Path: r.path("log"), NoInotify: true}
		t.Cleanup(r.close)
		test(r)
	})
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) close() {
	if r.tailer != nil {
		if err := r.tailer.Close(); err != nil {
			r.t.Error(err)
		}
		r.tailer = nil
	}
}

// start opens the tailer at the last checkpoint, as a restarted daemon does.
func (r *rig) start() {
	r.t.Helper()
	r.close()
	r.opts.Clock, r.opts.Metrics = r.clock, r.metrics
	var err error
	r.tailer, err = New(r.cfg, r.ckpt, r.opts)
	r.ok(err)
}

// poll advances the clock, polls once, and takes all batches until Next waits.
func (r *rig) poll(d time.Duration) {
	r.t.Helper()
	if r.tailer == nil {
		r.start()
	}
	r.clock.now = r.clock.now.Add(d)
	select {
	case r.clock.tick <- r.clock.now:
	default:
	}
	r.lines, r.problems = nil, nil
	for {
		b, err := r.next()
		if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
			return
		}
		r.ok(err)
		for _, l := range b.Lines {
			r.lines = append(r.lines, fmt.Sprintf("%s:%d:%s", filepath.Base(l.Path), l.Number, l.Text))
		}
		r.problems = append(r.problems, b.Problems...)
		r.ckpt, r.caughtUp = b.Checkpoint, b.CaughtUp
	}
}

// next calls Next, and cancels the call if Next waits.
func (r *rig) next() (b Batch, err error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b, err = r.tailer.Next(ctx)
	}()
	synctest.Wait()
	cancel()
	<-done
	return b, err
}

// want polls 1 s later, and compares the lines and the reasons of problems with the wanted ones.
func (r *rig) want(lines string, reasons ...Reason) {
	r.t.Helper()
	r.wantAfter(time.Second, lines, reasons...)
}

func (r *rig) wantAfter(d time.Duration, lines string, reasons ...Reason) {
	r.t.Helper()
	r.poll(d)
	if diff := cmp.Diff(strings.Fields(lines), append([]string{}, r.lines...)); diff != "" {
		r.t.Fatalf("lines (-want +got):\n%s", diff)
	}
	got := []Reason{}
	for _, p := range r.problems {
		got = append(got, p.Reason)
	}
	if diff := cmp.Diff(append([]Reason{}, reasons...), got); diff != "" {
		r.t.Fatalf("problems (-want +got):\n%s\n%v", diff, r.problems)
	}
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	f, err := os.OpenFile(r.path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	r.ok(err)
	_, err = f.WriteString(text)
	r.ok(err)
	r.ok(f.Close())
}

func (r *rig) rename(from, to string) {
	r.t.Helper()
	r.ok(os.Rename(r.path(from), r.path(to)))
}

func (r *rig) remove(name string) {
	r.t.Helper()
	r.ok(os.RemoveAll(r.path(name)))
}

func (r *rig) copy(from, to string) {
	r.t.Helper()
	b, err := os.ReadFile(r.path(from))
	r.ok(err)
	r.ok(os.WriteFile(r.path(to), b, 0o644))
}

// gzip compresses a file as gzip(1) does: the original is deleted last, and the modification time is kept.
func (r *rig) gzip(name string) {
	r.t.Helper()
	r.ok(gzipFile(r.path(name)))
}

func gzipFile(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.Create(path + ".gz")
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	_, err = z.Write(b)
	return errors.Join(err, z.Close(), f.Close(),
		os.Chtimes(path+".gz", fi.ModTime(), fi.ModTime()), os.Remove(path))
}

// age sets the modification time of a file back, so that an order by time does not depend on the clock's ticks.
func (r *rig) age(name string, d time.Duration) {
	r.t.Helper()
	at := time.Now().Add(-d)
	r.ok(os.Chtimes(r.path(name), at, at))
}
