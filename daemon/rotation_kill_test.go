package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// TestRotationKill tests every style of rotation. A daemon is killed (SIGKILL) at random instants while a log of
// numbered lines is written and rotated. The test proves that the daemon finally has every line exactly once and in
// order, and that journal, ledger and state equal those of a daemon that read the same lines undisturbed from one file.
// copytruncate itself loses lines: each lost line was written between the end of the copying and the truncation, and is
// in none of copytruncate's files.
func TestRotationKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills processes: not with -short; TestKill is enough there")
	}
	seed := killSeed(t)
	for i, s := range rotationStyles() {
		t.Run(s.name, func(t *testing.T) { rotationTest(t, s, seed+uint64(i)) })
	}
}

// extent returns the number of lines, the number of kills, and the mean number of lines from rotation to rotation.
func extent() (lines, kills, every int) {
	if long() {
		return 10_000, 200, 200
	}
	return 500, 8, 40
}

func killSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Logf("repeat with %s=%d", seedEnv, seed)
	return seed
}

func rotationTest(t *testing.T, s rotationStyle, seed uint64) {
	lines, kills, every := extent()
	w := newRotatingWriter(t, s, seed, lines, every)
	w.perStep = max(1, lines/(kills*stepsPerLife)+1)
	if s.late {
		w.late = kills / 10 * stepsPerLife
	}
	site := siteOn(t, w.path, snapshotOften)
	if s.source != "" {
		edit(t, site.config, "poll: 20ms", "poll: 20ms, "+s.source)
	}
	k := &killer{t: t, site: site, rng: rand.New(rand.NewPCG(seed, 5)), writer: w}
	for i := range kills {
		if s.between != nil && i%2 == 1 {
			s.between(w, k)
		} else {
			k.life()
		}
	}
	w.late = 0
	w.grant(1 << 30)
	k.last()
	got := site.kept(t)
	read, lost := w.prove(&got)
	t.Logf("%d lines, %d kills, %d of them after serving, %d starts replayed a part of the journal; %d rotations%s; "+
		"%d lines lost",
		len(w.written), kills, k.served-1, k.replayed, w.rotated, w.note(), lost)
	if w.rotated < lines/every/4 {
		t.Errorf("%d rotations of %d lines", w.rotated, lines)
	}
	compareCalm(t, &got, read)
}

// snapshotOften makes snapshots so frequent that kills occur between them, and some of them while one is written.
const snapshotOften = "store: {snapshot_events: 150, snapshot_interval: 1s}\n"

// stepsPerLife is the mean number of steps that killer.life lets the writer make.
const stepsPerLife = 32

// compareCalm compares the data with that of a daemon that reads the lines from one file, undisturbed.
func compareCalm(t *testing.T, got *kept, lines []string) {
	t.Helper()
	calm := newSite(t, "accounting", snapshotOften)
	calm.add(t, strings.Join(lines, ""))
	d := calm.start(t)
	d.caughtUp()
	d.stop()
	want := calm.kept(t)
	check(t, "journal", got.Entries, want.Entries, cmpopts.IgnoreFields(job.Event{}, "Live"))
	check(t, "ledger", got.Rows, want.Rows, cmpopts.IgnoreFields(modelstore.Row{}, "Replayed", "Served"),
		cmpopts.EquateNaNs())
	compareState(t, got, &want)
}

// edit replaces a part of a file. The part must exist.
func edit(t *testing.T, path, old, by string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s: no %q", path, old)
	}
	write(t, path, strings.Replace(string(data), old, by, 1))
}

// numberedLine returns line n of a log. Lines are the submissions, starts and ends of jobs. About ten of these jobs run
// at a time. Every seventh line is no record: a record that is read twice counts once, but the quarantine shows how
// many times such a line was read.
func numberedLine(n int, rng *rand.Rand) string {
	if n%7 == 3 {
		return fmt.Sprintf("garbage %d %s\n", n, strings.Repeat("x", rng.IntN(100)))
	}
	n -= (n + 3) / 7
	rec := func(id int) pbs.Record {
		at := epoch().Add(time.Duration(id) * 21 * time.Second)
		return pbs.Record{
			ID: fmt.Sprintf("%d.test", id), User: fmt.Sprintf("secretuser%d", id%7),
			Name:  strings.Repeat("n", id%120+1),
			Queue: []string{"short", "long"}[id%2], Created: at, Queued: at, Eligible: at,
			Procs: 1 + id%5, TimeLimit: time.Duration(1+id%3) * time.Hour,
			Start: at.Add(64 * time.Second), End: at.Add(275 * time.Second), // between the submissions of later jobs
		}
	}
	switch job := n / 3; {
	case n%3 == 1 && job >= 3:
		return string(pbs.AppendStarted(nil, rec(job-3)))
	case n%3 == 2 && job >= 13:
		return string(pbs.AppendEnded(nil, rec(job-13)))
	case n%3 == 0:
		return string(pbs.AppendQueued(nil, rec(job)))
	}
	return fmt.Sprintf("garbage, record %d\n", n)
}

// toldBy returns the effect of a line on the journal or the quarantine: the key of an event, or the line itself.
func toldBy(line string) string {
	f := strings.SplitN(strings.TrimSuffix(line, "\n"), ";", 4)
	if len(f) < 4 {
		return f[0]
	}
	return map[string]job.Kind{"Q": job.Submit, "S": job.Start, "E": job.End}[f[1]].String() + " " + f[2]
}

// prove compares the data with the lines that were written. It returns the lines that were read, and the number of
// lost lines.
func (w *rotatingWriter) prove(got *kept) (read []string, lost int) {
	w.t.Helper()
	number := make(map[string]int, len(w.written))
	for i, line := range w.written {
		number[toldBy(line)] = i
	}
	if len(number) != len(w.written) || w.left() {
		w.t.Fatalf("%d different lines of %d; some left: %v", len(number), len(w.written), w.left())
	}
	times := make([]int, len(w.written))
	var events, garbage []int // in the order in which they were stored
	for _, e := range got.Entries {
		if e.Event.Derived {
			continue
		}
		n, ok := number[e.Event.Kind.String()+" "+e.Event.ID]
		if !ok {
			w.t.Errorf("the journal has %s of %s, which nobody wrote", e.Event.Kind, e.Event.ID)
			continue
		}
		times[n]++
		events = append(events, n)
	}
	for _, b := range slices.Backward(got.Bad) {
		n, ok := number[string(b.Text)]
		if !ok {
			w.t.Errorf("%s:%d is in quarantine, but nobody wrote it: %q", b.Path, b.Line, b.Text)
			continue
		}
		times[n]++
		garbage = append(garbage, n)
	}
	if !slices.IsSorted(events) || !slices.IsSorted(garbage) {
		w.t.Errorf("out of order: %v %v", firstFall(events), firstFall(garbage))
	}
	files := w.contents()
	for n, line := range w.written {
		switch {
		case times[n] > 1:
			w.t.Errorf("line %d was read %d times: %q", n, times[n], line)
		case times[n] == 1:
			read = append(read, line)
		case !w.window[n] || strings.Contains(files, line):
			w.t.Errorf("line %d is lost: %q", n, line)
		default:
			lost++
		}
	}
	return read, lost
}

// firstFall returns the part of a list around the first element that is smaller than its predecessor.
func firstFall(list []int) []int {
	for i := range list {
		if i > 0 && list[i] < list[i-1] {
			return list[max(0, i-3):min(len(list), i+3)]
		}
	}
	return nil
}

// contents returns the content of all uncompressed files of the log.
func (w *rotatingWriter) contents() string {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.dir, "*"))
	must(w.t, err)
	var b strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			must(w.t, err)
			b.Write(data)
		}
	}
	return b.String()
}
