package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// faulty is a store that passes the newest snapshot through the function latest, which may change it.
type faulty struct {
	modelstore.Store
	latest func(*modelstore.Snapshot, error) (*modelstore.Snapshot, error)
}

func (f *faulty) Latest(ctx context.Context) (*modelstore.Snapshot, error) {
	return f.latest(f.Store.Latest(ctx))
}

// disturbance describes how one process ends, and which changes happen before the next one begins.
type disturbance struct {
	name    string
	orderly bool // the process is stopped, not killed
	between func(t *testing.T, s modelstore.Store) modelstore.Store
	print   string // the configuration's fingerprint afterwards
	again   int    // number of deliveries that the next process reads again
}

func disturbances() []disturbance {
	type snapshot = modelstore.Snapshot
	type found = func(*modelstore.Snapshot, error) (*modelstore.Snapshot, error)
	latest := func(f found) func(*testing.T, modelstore.Store) modelstore.Store {
		return func(_ *testing.T, s modelstore.Store) modelstore.Store { return &faulty{s, f} }
	}
	return []disturbance{
		{name: "killed"},
		{name: "stopped", orderly: true},
		{name: "killed, and read again", again: 3},
		{name: "fingerprint changed", print: "other"},
		{name: "fingerprint changed after a stop", orderly: true, print: "other", again: 2},
		{name: "snapshots dropped", between: func(t *testing.T, s modelstore.Store) modelstore.Store {
			if err := s.DropSnapshots(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		}},
		{name: "every snapshot damaged", between: latest(func(s *snapshot, err error) (*snapshot, error) {
			if s == nil {
				return s, err
			}
			return nil, &modelstore.DamagedError{Seqs: []int64{s.Seq}}
		})},
		{name: "a part is missing", between: latest(func(s *snapshot, err error) (*snapshot, error) {
			if s != nil {
				delete(s.Parts, "c/models")
			}
			return s, err
		})},
		{name: "a part is of another version", between: latest(func(s *snapshot, err error) (*snapshot, error) {
			if s != nil {
				s.Parts["c/state"] = []byte(`{"version":0}`)
			}
			return s, err
		})},
	}
}

// TestEveryPartIsRebuilt proves that the same state is built from the journal if any one part of the snapshot is
// damaged or comes from another version of the program.
func TestEveryPartIsRebuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestartLeavesNoTrace")
	}
	r := read(t, testConfig(), mangle(workload(t, 220, 8), 8))
	writer := r.pipeline.writers["c"]
	parts := []string{writer.historyPart()}
	for _, part := range writer.parts() {
		parts = append(parts, part.name)
	}
	for _, part := range parts {
		for reason, bad := range map[error]func(data []byte) []byte{
			codec.ErrDamaged: func(data []byte) []byte { return append(data[:len(data)/2:len(data)/2], 0) },
			codec.ErrVersion: func([]byte) []byte { return []byte(`{"version":0}`) },
		} {
			var found error
			spoil := func(s *modelstore.Snapshot, err error) (*modelstore.Snapshot, error) {
				if s != nil {
					s.Parts[part] = bad(s.Parts[part])
					w := newWriter(t, testConfig())
					defer w.close()
					found = w.restore(s.Parts)
				}
				return s, err
			}
			c := disturbance{name: part, orderly: true,
				between: func(_ *testing.T, s modelstore.Store) modelstore.Store { return &faulty{s, spoil} }}
			if d := differences(r.want, r.disturbed(t, c, len(r.deliveries)/2)); d != "" {
				t.Errorf("%s %v: undisturbed (-) and disturbed (+) differ: %.3000s", part, reason, d)
			}
			var typed *codec.Error
			if !errors.As(found, &typed) || !errors.Is(found, reason) || !strings.Contains(found.Error(), part) {
				t.Errorf("%s %v: the error is %v", part, reason, found)
			}
		}
	}
}

// TestRestartLeavesNoTrace proves that a daemon that ends after any delivery, in any way, and is started again has in
// the end the same entries, rows and saved bytes as a daemon that did not end.
func TestRestartLeavesNoTrace(t *testing.T) {
	r := read(t, testConfig(), mangle(workload(t, 220, 8), 8))
	if n := forecast(r.want.Rows); n < 30 {
		t.Fatalf("only %d rows with a forecast: the test proves little", n)
	}
	for _, c := range disturbances() {
		t.Run(c.name, func(t *testing.T) {
			step := 12
			if testing.Short() {
				step = len(r.deliveries) // only one stop
			} else if os.Getenv("WAITCAST_LONG") != "" {
				step = 2
			}
			for stop := 1 + rand.IntN(3); stop < len(r.deliveries); stop += step + rand.IntN(4) { // random stops
				if d := differences(r.want, r.disturbed(t, c, stop)); d != "" {
					t.Fatalf("after delivery %d of %d, undisturbed (-) and disturbed (+) differ: %.3000s", stop,
						len(r.deliveries), d)
				}
			}
		})
	}
}

// reading is the result of a process that read deliveries undisturbed, with the databases that it would have left
// behind if it had ended after each delivery.
type reading struct {
	cfg        Config
	deliveries []*source.Delivery
	pipeline   *Pipeline
	want       kept
	killed     []string       // the databases after each number of deliveries
	ended      map[int]string // by number of deliveries, the databases of stopped processes; made when needed
	dir        string
}

// read lets a pipeline read events undisturbed. After each delivery it copies the database in the state in which a kill
// at that instant would leave it.
func read(t *testing.T, cfg Config, events []job.Event) *reading {
	t.Helper()
	r := &reading{cfg: cfg, ended: map[int]string{}, dir: t.TempDir()}
	path := filepath.Join(t.TempDir(), "test.db")
	store := openStore(t, path)
	t.Cleanup(func() { _ = store.Close() })
	p, src := newPipeline(cfg, store, collector.Live)
	restore(t, p, "one")
	r.pipeline, r.deliveries = p, deliveries(src, events, 90, 8)
	r.killed = append(r.killed, copied(t, path))
	for _, d := range r.deliveries {
		take(t, p, d)
		r.killed = append(r.killed, copied(t, path))
	}
	r.want = keeps(t, store, p)
	return r
}

// copied copies the files of a database and returns the path of the copy.
func copied(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "test.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// end returns the path of the database of a process that ended after the given number of deliveries. orderly is true if
// the process was stopped, not killed.
func (r *reading) end(t *testing.T, orderly bool, stop int) string {
	t.Helper()
	if !orderly {
		return r.killed[stop]
	}
	if path := r.ended[stop]; path != "" {
		return path
	}
	path := filepath.Join(r.dir, fmt.Sprint(stop, ".db"))
	store := openStore(t, path)
	p, _ := newPipeline(r.cfg, store, collector.Live)
	restore(t, p, "one")
	take(t, p, r.deliveries[:stop]...)
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	r.ended[stop] = path
	return path
}

// disturbed returns the final contents of the store and the state if a process ends after the given number of
// deliveries, the disturbance c happens, and another process continues.
func (r *reading) disturbed(t *testing.T, c disturbance, stop int) kept {
	t.Helper()
	store := openStore(t, copied(t, r.end(t, c.orderly, stop)))
	defer func() { _ = store.Close() }()
	used := store
	if c.between != nil {
		used = c.between(t, store)
	}
	p, _ := newPipeline(r.cfg, used, collector.Live)
	restore(t, p, cmp.Or(c.print, "one"))
	take(t, p, r.deliveries[max(0, stop-c.again):]...)
	return keeps(t, store, p)
}

func restore(t *testing.T, p *Pipeline, fingerprint string) {
	t.Helper()
	if err := p.Restore(t.Context(), fingerprint); err != nil {
		t.Fatal(err)
	}
}

// TestRestartWithEventsHeldBack proves that after a restart a log of whole jobs is read from the committed checkpoint,
// which lies before the events that were held back in memory.
func TestRestartWithEventsHeldBack(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestRestartLeavesNoTrace")
	}
	var events []job.Event
	byID := map[string][]job.Event{}
	var ids []string
	for _, ev := range workload(t, 150, 9) {
		if byID[ev.ID] == nil {
			ids = append(ids, ev.ID)
		}
		byID[ev.ID] = append(byID[ev.ID], ev)
	}
	for _, id := range ids {
		events = append(events, byID[id]...)
	}
	store := newStore(t)
	p, src := newPipeline(testConfig(), store, collector.BySubmit)
	restore(t, p, "one")
	ds := deliveries(src, events, 40, 9)
	take(t, p, ds...)
	want := keeps(t, store, p)
	for stop := 1; stop < len(ds); stop += 2 {
		path := filepath.Join(t.TempDir(), "test.db")
		store := openStore(t, path)
		p, _ := newPipeline(testConfig(), store, collector.BySubmit)
		restore(t, p, "one")
		take(t, p, ds[:stop]...)
		checkpoints, err := store.Checkpoints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		if cp, ok := checkpoints["log"]; ok {
			n, err := strconv.Atoi(string(cp))
			if err != nil {
				t.Fatal(err)
			}
			next = n + 1
		}
		p, _ = newPipeline(testConfig(), store, collector.BySubmit)
		restore(t, p, "one")
		take(t, p, ds[next:]...)
		if d := differences(want, keeps(t, store, p)); d != "" {
			t.Fatalf("stopped after delivery %d, read on from %d: undisturbed (-) and disturbed (+) differ: %.3000s",
				stop, next, d)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestartWithPrunedJournal proves that the state can be restored from a snapshot and a journal whose entries before
// the snapshot were pruned, and that the rows stay.
func TestRestartWithPrunedJournal(t *testing.T) {
	events := mangle(workload(t, 220, 8), 8)
	cfg := testConfig()
	cfg.Retention = time.Hour
	run := func(restart bool) kept {
		store := newStore(t)
		p, src := newPipeline(cfg, store, collector.Live)
		restore(t, p, "one")
		ds := deliveries(src, events, 90, 8)
		for _, d := range ds {
			take(t, p, d)
			if restart {
				p, _ = newPipeline(cfg, store, collector.Live)
				restore(t, p, "one")
			}
		}
		return keeps(t, store, p)
	}
	want, got := run(false), run(true)
	if last := want.Entries[len(want.Entries)-1].Seq; int64(len(want.Entries)) > last/2 {
		t.Fatalf("%d of %d entries are still there: nothing to prove", len(want.Entries), last)
	}
	want.Entries, got.Entries = nil, nil // how many entries are pruned at a time may differ
	if d := differences(want, got); d != "" {
		t.Fatalf("undisturbed (-) and disturbed (+) differ: %.3000s", d)
	}
}

// TestStopWhileTheStoreFails covers a delivery that did not reach the journal, because the store failed until the
// daemon was stopped. It proves that the delivery leaves no trace, and that the next process can read it again.
func TestStopWhileTheStoreFails(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	ctx, cancel := context.WithCancel(t.Context())
	store.fail = func(string) error {
		cancel()
		return context.DeadlineExceeded // any temporary error
	}
	ds := make(chan *source.Delivery, 1)
	ds <- deliveries(src, workload(t, 3, 1), 100, 1)[0]
	if err := p.Run(ctx, ds); err != nil {
		t.Fatalf("Run was stopped and returned %v", err)
	}
	if len(store.entries)+len(store.checkpoints) > 0 {
		t.Fatalf("%d entries and %d checkpoints are committed", len(store.entries), len(store.checkpoints))
	}
}
