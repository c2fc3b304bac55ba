package slurm_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// life is one attempt of a job, from its submission (or requeue) to its end.
type life struct {
	submit, start, end time.Time
	how                string // "ended", "canceled" or "requeued"; "" while it lives
	procs              int
	queue, user        string
}

// lives has the attempts of each job, in their order.
type lives map[string][]*life

func (l lives) at(id string, attempt int) *life {
	for len(l[id]) <= attempt {
		l[id] = append(l[id], &life{})
	}
	return l[id][attempt]
}

// note records a change of the picture.
func (l lives) note(c cluster.Change) {
	ev := c.Event
	one := l.at(ev.ID, ev.Attempt)
	if c.After != nil && ev.Kind != job.Requeue {
		one.procs, one.queue, one.user = c.After.Procs, c.After.Queue, c.After.User
	}
	switch ev.Kind {
	case job.Submit:
		one.submit = c.After.Submit
	case job.Start:
		one.start = c.After.Start
	case job.End:
		one.end, one.how = ev.Times.End, "ended"
		if !ev.Times.Start.IsZero() {
			one.start = ev.Times.Start
		}
		if ev.Derived {
			one.how = "lost"
		}
	case job.Cancel:
		if c.After == nil {
			one.end, one.how = ev.Time, "canceled"
		}
	case job.Requeue:
		one.end, one.how = ev.Time, "requeued"
		l.at(ev.ID, ev.Attempt+1).submit = c.After.Submit
	}
}

// parseFile returns the events of a file, and its bad lines with their numbers.
func parseFile(tb testing.TB, f collector.Format, path string) (events []job.Event, bad []string) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	p := f.New(collector.Options{Cluster: "test", Location: time.UTC})
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if err := p.Parse(bytes.TrimSuffix(line, []byte("\n")),
			func(ev job.Event) { events = append(events, ev) }); err != nil {
			bad = append(bad, fmt.Sprintf("%s:%d: %v", filepath.Base(path), number, err))
		}
	}
	return events, bad
}

// fold returns the lives that the cluster's fold finds in events.
func fold(events []job.Event) lives {
	state, out := cluster.New("test", 0), lives{}
	for _, ev := range events {
		state.Apply(ev, &cluster.Hooks{Changed: out.note})
	}
	return out
}

// sacctTruth reads a captured sacct dump independently of the parser. It finds the 24 columns after the name from the
// right, so that any characters in a name do no harm.
func sacctTruth(tb testing.TB, path string) lives {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	out, first := lives{}, ""
	lines := bufio.NewScanner(file)
	lines.Scan() // the header
	for lines.Scan() {
		fields := strings.Split(first+lines.Text(), "|")
		const after = 24 // columns after JobName
		if len(fields) < after+3 {
			first = lines.Text() + " "
			continue
		}
		first = ""
		id, raw, rest := fields[0], fields[1], fields[len(fields)-after:]
		if whole, _, part := strings.Cut(id, "_["); part {
			id = whole
		} else if whole, _, part := strings.Cut(strings.ReplaceAll(id, "+", "_"), "_"); part && whole == raw {
			id = whole
		}
		if n := len(out[id]); n > 0 && out[id][n-1].how == "ended" {
			out[id][n-1].how = "ended or requeued" // NODE_FAIL, which turned out to be with a requeue
		}
		one := out.at(id, len(out[id]))
		one.user, one.queue = rest[0], rest[2]
		one.submit, one.start, one.end = truthTime(tb, rest[6]), truthTime(tb, rest[8]), truthTime(tb, rest[9])
		if _, err := fmt.Sscan(rest[14], &one.procs); err != nil {
			tb.Fatalf("size %q of job %s: %v", rest[14], id, err)
		}
		switch {
		case rest[4] == "REQUEUED":
			one.how = "requeued"
		case one.start.IsZero():
			one.how = "canceled"
		default:
			one.how = "ended"
		}
	}
	return out
}

func truthTime(tb testing.TB, text string) time.Time {
	tb.Helper()
	if text == "None" || text == "Unknown" {
		return time.Time{}
	}
	at, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

// differences lists the differences between lives: instants more than a second apart, and different kinds of end. The
// caller leaves out the fields that a source never has.
func differences(want, got lives, attributes bool) []string {
	var out []string
	say := func(id string, n int, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s try %d: ", id, n)+fmt.Sprintf(format, args...))
	}
	for id, tries := range want {
		for n, w := range tries {
			if len(got[id]) <= n {
				say(id, n, "missing")
				continue
			}
			g := got[id][n]
			if w.how != g.how && (g.how == "" || !strings.Contains(w.how, g.how)) {
				say(id, n, "%s, want %s", or(g.how, "lives"), or(w.how, "lives"))
			}
			for _, c := range []struct {
				what string
				w, g time.Time
			}{{"submit", w.submit, g.submit}, {"start", w.start, g.start}, {"end", w.end, g.end}} {
				if c.g.Truncate(time.Second).Sub(c.w).Abs() > time.Second {
					say(id, n, "%s %s, want %s", c.what, clockOf(c.g), clockOf(c.w))
				}
			}
			if attributes && (w.queue != g.queue || w.user != g.user || w.procs != g.procs) {
				say(id, n, "%s %s %d, want %s %s %d", g.user, g.queue, g.procs, w.user, w.queue, w.procs)
			}
		}
	}
	for id, tries := range got {
		for n := len(want[id]); n < len(tries); n++ {
			say(id, n, "told, though sacct does not")
		}
	}
	slices.Sort(out)
	return out
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func clockOf(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("15:04:05")
}

func checkDifferences(t *testing.T, want, got lives, attributes bool, known []string) {
	t.Helper()
	tries := 0
	for _, l := range want {
		tries += len(l)
	}
	diffs := differences(want, got, attributes)
	t.Logf("%d tries of %d jobs in sacct, %d differences", tries, len(want), len(diffs))
	slices.Sort(known)
	if diff := cmp.Diff(known, diffs); diff != "" {
		t.Errorf("differences to sacct (-known +found):\n%s", diff)
	}
}

// TestLoadAgainstSacct proves that the job completion log alone and the controller's log alone give the same lives of
// 450 jobs of a busy cluster as sacct.
func TestLoadAgainstSacct(t *testing.T) {
	dir := refdata.Shared(t, "slurm/samples/load")
	want := sacctTruth(t, filepath.Join(dir, "sacct.psv"))
	if len(want) != 450 {
		t.Fatalf("sacct has %d jobs, want 450", len(want))
	}
	for _, s := range []struct {
		format     collector.Format
		file       string
		attributes bool
	}{
		{slurm.Jobcomp(), "jobcomp.log", true}, {slurm.Log(nil), "slurmctld.log", false},
		{slurm.Sacct(), "sacct.psv", true},
	} {
		t.Run(s.format.Name, func(t *testing.T) {
			events, bad := parseFile(t, s.format, filepath.Join(dir, s.file))
			if len(bad) > 0 {
				t.Errorf("bad lines: %q", bad)
			}
			checkDifferences(t, want, fold(events), s.attributes, nil)
		})
	}
}

// launchFailed returns the differences in the first attempts of two jobs whose launch failed. Both logs have these
// attempts, but sacct has lost them.
func launchFailed() []string {
	return []string{
		"61 try 0: end 08:37:14, want 08:38:36",
		"61 try 0: start 08:37:02, want 08:38:35",
		"61 try 1: told, though sacct does not",
		"62 try 0: end 08:37:20, want 08:38:36",
		"62 try 0: start 08:37:08, want 08:38:35",
		"62 try 1: told, though sacct does not",
	}
}

// requeuedThere returns the differences in the ends of the first attempts of launchFailed. Only the controller's log
// has these ends.
func requeuedThere() []string {
	return []string{"61 try 0: requeued, want ended", "62 try 0: requeued, want ended"}
}

// TestCasesAgainstSacct proves the same as TestLoadAgainstSacct for one job of every awkward kind, and names every
// remaining difference.
func TestCasesAgainstSacct(t *testing.T) {
	dir := refdata.Shared(t, "slurm/samples/cases")
	want := sacctTruth(t, filepath.Join(dir, "sacct-duplicates.psv"))
	for _, s := range []struct {
		format     collector.Format
		file       string
		attributes bool
		known      []string
	}{
		{slurm.Jobcomp(), "jobcomp.log", true, launchFailed()},
		{slurm.Log(nil), "slurmctld.log", false, slices.Concat(launchFailed(), requeuedThere())},
		{slurm.Sacct(), "sacct-duplicates.psv", true, nil},
	} {
		t.Run(s.format.Name, func(t *testing.T) {
			events, bad := parseFile(t, s.format, filepath.Join(dir, s.file))
			if len(bad) > 0 {
				t.Errorf("bad lines: %q", bad)
			}
			checkDifferences(t, want, fold(events), s.attributes, s.known)
		})
	}
}

// TestLogWithJobcomp proves that the two logs of one cluster can be read together: they then differ from sacct only
// where each of them differs alone.
func TestLogWithJobcomp(t *testing.T) {
	dir := refdata.Shared(t, "slurm/samples/cases")
	want := sacctTruth(t, filepath.Join(dir, "sacct-duplicates.psv"))
	events, _ := parseFile(t, slurm.Log(nil), filepath.Join(dir, "slurmctld.log"))
	more, _ := parseFile(t, slurm.Jobcomp(), filepath.Join(dir, "jobcomp.log"))
	events = append(events, more...)
	slices.SortStableFunc(events, func(a, b job.Event) int { return a.Time.Compare(b.Time) })
	checkDifferences(t, want, fold(events), false, launchFailed())
}
