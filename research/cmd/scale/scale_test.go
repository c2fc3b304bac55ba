package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// TestFile proves that rows are read back from their file in the order of dimension and size, and that only the newest
// row of a point is kept.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scale.csv")
	of := func(grown string, size int, view time.Duration) row {
		return row{point{grown: grown, nodes: 5, running: 4, queued: 3, users: 2, historical: 1}, size,
			cost{view: view, snapshot: 7, heap: 1 << 20}}
	}
	var rows []row
	for _, r := range []row{
		of("queued", 1000, time.Second), of("nodes", 100, time.Millisecond), of("queued", 100, time.Minute),
		of("queued", 1000, time.Microsecond),
	} {
		rows = put(rows, r)
	}
	if err := writeCSV(path, rows); err != nil {
		t.Fatal(err)
	}
	got, err := readCSV(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []row{of("nodes", 100, time.Millisecond), of("queued", 100, time.Minute),
		of("queued", 1000, time.Microsecond)}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if err := os.WriteFile(path, []byte("dimension\nnodes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readCSV(path); err == nil || !strings.Contains(err.Error(), ":2: 1 columns") {
		t.Errorf("error %v", err)
	}
}

// TestWorld proves that the generated cluster has its stated size: every job that starts has been submitted, every job
// that ends has started, and the remaining jobs run or wait.
func TestWorld(t *testing.T) {
	w := newWorld(point{nodes: 10, running: 30, queued: 20, users: 3, historical: 200})
	events := append(w.past(200), w.fill()...)
	for range 10 {
		events = append(events, w.move()...)
	}
	state := map[string]job.Kind{}
	before := events[0].Time
	for i := range events {
		ev := &events[i]
		if ev.Time.Before(before) {
			t.Errorf("%v at %s, after an event at %s", ev.Kind, ev.Time, before)
		}
		before = ev.Time
		if want := map[job.Kind]job.Kind{job.Submit: 0, job.Start: job.Submit,
			job.End: job.Start}[ev.Kind]; state[ev.ID] != want {
			t.Errorf("%v of job %s after %v", ev.Kind, ev.ID, state[ev.ID])
		}
		state[ev.ID] = ev.Kind
	}
	left := map[job.Kind]int{}
	for _, kind := range state {
		left[kind]++
	}
	if left[job.Start] != 30 || left[job.Submit] != 20 || left[job.End] != 210 {
		t.Errorf("%d run, %d wait, %d have ended; want 30, 20, 210", left[job.Start], left[job.Submit], left[job.End])
	}
}

// TestArrays proves that in a cluster whose waiting entries are arrays, the tasks start one after the other, each with
// its own id, and that a new array comes when all tasks of one have started.
func TestArrays(t *testing.T) {
	w := newWorld(point{nodes: 10, running: 30, queued: 4, users: 3, tasks: 5})
	w.fill()
	waiting := func() (n int) {
		for i := range w.queued {
			n += w.queued[i].Tasks
		}
		return n
	}
	started, arrays := map[string]bool{}, 0
	for range 12 {
		for _, ev := range w.move() {
			switch ev.Kind {
			case job.Start:
				if ev.Tasks != 0 || cluster.ArrayOf(ev.ID) == "" {
					t.Errorf("%s with %d tasks started: it is no task", ev.ID, ev.Tasks)
				}
				started[ev.ID] = true
			case job.Submit:
				arrays++
			}
		}
	}
	if len(started) != 12 || arrays != 2 || waiting() != 4*5-12+2*5 || len(w.queued) != 4 {
		t.Errorf("%d tasks started, %d arrays came, %d tasks wait in %d entries; want 12, 2, 18, 4", len(started),
			arrays, waiting(), len(w.queued))
	}
}

// TestTable checks the text of a row.
func TestTable(t *testing.T) {
	r := row{point{grown: "nodes"}, 100_000,
		cost{event: 120 * time.Microsecond, view: 3 * time.Millisecond, forecast: 500 * time.Microsecond,
			first: 4 * time.Millisecond, train: 2 * time.Second, save: time.Second, snapshot: 2_500_000,
			heap: 30 << 20}}
	const want = "| nodes | 100,000 | 120 us | 3 ms | 0.5 ms | - | 2 s | 2.5 MB | 30 MiB |\n"
	if got := table([]row{r}); !strings.HasSuffix(got, want) {
		t.Errorf("table %q, want its end %q", got, want)
	}
}
