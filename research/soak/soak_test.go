package soak

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/internal/testprogram"
	"github.com/waitcast/waitcast/job"
)

// testLog is a writer that writes the messages of a soak to the log of the test.
type testLog struct{ t *testing.T }

func (l testLog) Write(text []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(text)))
	return len(text), nil
}

func soak(t *testing.T, o Options) {
	t.Helper()
	o.Out, o.Dir, o.Seed = testLog{t}, t.TempDir(), uint64(time.Now().UnixNano())
	t.Logf("to repeat: go run -C research ./cmd/soak -mild -jobs %d -days %d -every %v -format %s -style %s -store %s "+
		"-seed %d -shared none",
		o.Jobs, o.Days, o.Every, o.Format, o.Style, o.Store, o.Seed)
	r, err := Run(t.Context(), o)
	if errors.Is(err, ErrSkipped) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Write(testLog{t})
	for _, miss := range r.Misses {
		t.Error(miss)
	}
}

// TestSoak proves with a small log that a daemon ends with the same data as a daemon that read the log undisturbed,
// although it is killed, reloaded and stopped, its database fails and its log is rotated in every way. Every bad line
// is counted under its reason. (make soak does the same with a log of a year, and also checks memory and calibration.)
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("runs daemons: not with -short")
	}
	program := testprogram.Build(t, "../../cmd/daemon")
	for _, c := range []struct {
		name, format, style, store string
		jobs                       int
	}{
		{"PBS, SQLite", "pbs", "mixed", "sqlite", 500}, // more than the 300 waits after which trees are first trained
		{"Slurm's controller, PostgreSQL", "slurm-log", "mixed", "postgres", 250},
		{"Slurm's jobcomp, dated files", "slurm-jobcomp", "dated", "sqlite", 250},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("WAITCAST_LONG") != "" {
				c.jobs = 10_000
			}
			soak(t, Options{
				Program: program, Jobs: c.jobs, Days: 60, Every: 144 * time.Hour, Format: c.format, Style: c.style,
				Store: c.store, Mild: true,
			})
		})
	}
}

// TestFloodByClient proves with a small log that a client gets its answers while another client floods the daemon with
// requests.
func TestFloodByClient(t *testing.T) {
	if testing.Short() {
		t.Skip("runs daemons: not with -short")
	}
	soak(t, Options{
		Program: testprogram.Build(t, "../../cmd/daemon"), Jobs: 150, Days: 30, Every: 96 * time.Hour, Format: "pbs",
		Style: "mixed", Store: "sqlite", Only: []string{"flooded by a client"}, Mild: true,
	})
}

func parsers() map[string]collector.Format {
	return map[string]collector.Format{
		"pbs":           pbs.Format(),
		"slurm-log":     slurm.Log(func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"slurm-jobcomp": slurm.Jobcomp(),
	}
}

// TestBadLines proves that a parser refuses every bad line for the reason for which it was generated, and returns no
// event. Lines with future times are an exception: parsers accept them, and only a comparison with the clock refuses
// them. Lines that are too long are left out, because they never reach a parser.
func TestBadLines(t *testing.T) {
	for name, parser := range parsers() {
		f, err := newFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, reason := range f.reasons() {
			if reason == collector.ReasonLongLine {
				continue
			}
			events := 0
			line := f.bad(nil, reason, int64(i), epoch().Add(time.Hour))
			err := parser.New(collector.Options{Cluster: "main", Location: time.UTC, MaxProcs: 10_000}).Parse(line,
				func(job.Event) { events++ })
			if reason == collector.ReasonFuture {
				if err != nil || events == 0 {
					t.Errorf("%s: %s: %v, %d events", name, line, err, events)
				}
				continue
			}
			var bad *collector.LineError
			if !errors.As(err, &bad) || bad.Reason != reason || events != 0 {
				t.Errorf("%s: %s: %v, want a bad line (%s) without events, got %d", name, line, err, reason, events)
			}
		}
	}
}

// TestLines proves that in each format the lines of a job give the events that the format can have.
func TestLines(t *testing.T) {
	r := record{
		ID: 7, User: "u1", Queue: "short", Procs: 4, Limit: time.Hour, Submit: epoch(), Start: epoch().Add(time.Minute),
		End: epoch().Add(time.Hour),
	}
	for name, want := range map[string][]job.Kind{
		"pbs": {job.Submit, job.Start, job.Requeue, job.End, job.Cancel},
		// The last End is that of a job that was killed while it waited. The picture counts such a job as cancelled.
		"slurm-log":     {job.Submit, job.Start, job.Requeue, job.End, job.End},
		"slurm-jobcomp": {job.Start, job.Requeue, job.End, job.Cancel},
	} {
		f, err := newFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		text := f.cancelled(f.ended(f.requeued(f.started(f.submitted(nil, &r), &r), &r), &r), &r)
		parser := parsers()[name].New(collector.Options{Cluster: "main", Location: time.UTC})
		var got []job.Kind
		for line := range strings.Lines(string(text)) {
			if err := parser.Parse([]byte(line), func(ev job.Event) { got = append(got, ev.Kind) }); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", name, got, want)
				break
			}
		}
	}
}

// TestWorkloadModel proves that without a trace the jobs come from the model of Lublin and Feitelson, and that the
// description says so.
func TestWorkloadModel(t *testing.T) {
	_, about, err := newArrivals(filepath.Join(t.TempDir(), "missing.swf.gz"), 1000, 30, 1000, 1)
	if err != nil || !strings.Contains(about, "Lublin") {
		t.Errorf("%q, %v", about, err)
	}
}

// TestGrowth proves that a leak of goroutines is out of bounds, and that a number of goroutines that varies around a
// constant is within them.
func TestGrowth(t *testing.T) {
	var level, leak watch
	for i := range int64(200) {
		jitter := float64(i * 7919 % 5)
		level.samples = append(level.samples, sample{Lines: 1000 * i, Goroutines: 40 + jitter})
		leak.samples = append(leak.samples, sample{Lines: 1000 * i, Goroutines: 40 + jitter + float64(i)/8})
	}
	if text, ok := level.growth(grows()[0]); !ok {
		t.Error(text)
	}
	if text, ok := leak.growth(grows()[0]); ok {
		t.Error(text)
	}
	level.table(io.Discard)
}

// TestDiffEach proves that a wrong, an additional and a missing element are each reported with their position.
func TestDiffEach(t *testing.T) {
	of := func(all ...string) func(func(string, error) bool) {
		return func(yield func(string, error) bool) {
			for _, x := range all {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		got, want []string
		n         int
		differ    bool
	}{
		{[]string{"a", "b"}, []string{"a", "b"}, 2, false},
		{[]string{"a", "c"}, []string{"a", "b"}, 1, true},
		{[]string{"a", "b", "c"}, []string{"a", "b"}, 2, true},
		{[]string{"a"}, []string{"a", "b"}, 1, true},
	} {
		n, text, err := diffEach(of(c.got...), of(c.want...))
		if err != nil || n != c.n || (text != "") != c.differ {
			t.Errorf("%v against %v: %d, %q, %v", c.got, c.want, n, text, err)
		}
	}
}

// TestLogEndsInItsPlace proves that a file with the name of the log exists after a call of end, even if the writer was
// still using a renamed file. Without that file the daemon would not be ready.
func TestLogEndsInItsPlace(t *testing.T) {
	l, err := newLogs(t.TempDir(), "mixed", 1)
	if err != nil {
		t.Fatal(err)
	}
	for day := 0; l.held == 0; day++ {
		err := errors.Join(l.write([]byte("a line\n")), l.rotate(epoch().AddDate(0, 0, day)))
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(l.path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the renamed log is still there: %v", err)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.path); err != nil {
		t.Error(err)
	}
}
