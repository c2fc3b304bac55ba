package pipeline

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/queuenames"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// scattered returns the events of a workload with each job in one of the given number of queues.
func scattered(events []job.Event, queues int) []job.Event {
	out := slices.Clone(events)
	for i := range out {
		if out[i].Queue != "" {
			rng := rand.New(rand.NewPCG(seedOf(out[i].ID), 3))
			out[i].Queue = fmt.Sprint("q", rng.IntN(queues))
		}
	}
	return out
}

// seedOf returns a seed that depends only on the id of a job.
func seedOf(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return hash.Sum64()
}

func cappedConfig(limit int) Config {
	cfg := testConfig()
	cfg.MaxQueues = limit
	return cfg
}

// distinct returns the names of the queues that occur in rows and in entries.
func distinct(k kept) (rows, entries map[string]bool) {
	rows, entries = map[string]bool{}, map[string]bool{}
	for i := range k.Rows {
		rows[k.Rows[i].Queue] = true
	}
	for i := range k.Entries {
		entries[k.Entries[i].Event.Queue] = true
	}
	return rows, entries
}

// TestQueueLimitLeavesNoTraceOfRestarts proves that with many queues models, figures, views and rows keep the limit,
// and that the configured queue is counted separately. The assignment of queues depends on the events alone, not on how
// processes end.
func TestQueueLimitLeavesNoTraceOfRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts at many steps: not with -short")
	}
	const limit = 6
	r := read(t, cappedConfig(limit), scattered(mangle(workload(t, 220, 8), 8), 60))
	rows, entries := distinct(r.want)
	v := r.pipeline.View("c")
	if got := v.Queues(); len(got) > limit+2 || !slices.Contains(got, "a") || !slices.Contains(got, queuenames.Other) {
		t.Errorf("queues %v, want a, %s and at most %d in all", got, queuenames.Other, limit+2)
	}
	if len(rows) > limit+2 || len(accuracy.ByQueue(v.Scores)) > limit+2 || len(v.Recent) > limit+2 ||
		len(v.Drifts) > limit+3 {
		t.Errorf("%d queues in rows, %d in scores, %d in recent figures, %d drifts; want at most %d", len(rows),
			len(accuracy.ByQueue(v.Scores)), len(v.Recent), len(v.Drifts), limit+2)
	}
	if len(entries) < 40 {
		t.Errorf("the journal has %d queues: it must keep the announced names", len(entries))
	}
	if v.Names.Folded < 40 {
		t.Errorf("%d names share %s, want nearly all of 60", v.Names.Folded, queuenames.Other)
	}
	for n, c := range disturbances() {
		t.Run(c.name, func(t *testing.T) {
			stops := []int{2, len(r.deliveries) / 2, len(r.deliveries) - 1}
			if os.Getenv("WAITCAST_LONG") == "" {
				stops = stops[n%3:][:1] // each stop is tested with a third of the disturbances
			}
			for _, stop := range stops {
				if d := differences(r.want, r.disturbed(t, c, stop)); d != "" {
					t.Fatalf("after delivery %d of %d, undisturbed (-) and disturbed (+) differ: %.3000s", stop,
						len(r.deliveries), d)
				}
			}
		})
	}
}

// TestQueueLimitLeavesNoTraceOfRestartsInPostgreSQL proves that a daemon with PostgreSQL whose process ends in any way
// counts the same names under "other" as an undisturbed daemon with SQLite.
func TestQueueLimitLeavesNoTraceOfRestartsInPostgreSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts at many steps: not with -short")
	}
	const queues = 60
	events := scattered(workload(t, 150, 8), queues)
	cfg := cappedConfig(6)
	calm := newStore(t)
	p, src := newPipeline(cfg, calm, collector.Live)
	restore(t, p, "one")
	ds := deliveries(src, events, 90, 8)
	take(t, p, ds...)
	p.publish()
	want, places := keeps(t, calm, p), placesOf(p, queues)
	server := pgtest.New(t, pgtest.Options{})
	for _, end := range []string{"killed", "stopped", "snapshots dropped", "fingerprint changed"} {
		t.Run(end, func(t *testing.T) {
			database := server.NewDatabase(t)
			store := openPostgres(t, database)
			p, _ := newPipeline(cfg, store, collector.Live)
			restore(t, p, "one")
			take(t, p, ds[:len(ds)/2]...)
			fingerprint := "one"
			var err error
			switch end {
			case "stopped":
				err = p.finish()
			case "snapshots dropped":
				err = store.DropSnapshots(t.Context())
			case "fingerprint changed":
				fingerprint = "other"
			}
			if err := errors.Join(err, store.Close()); err != nil {
				t.Fatal(err)
			}
			store = openPostgres(t, database)
			defer func() { _ = store.Close() }()
			p, _ = newPipeline(cfg, store, collector.Live)
			restore(t, p, fingerprint)
			take(t, p, ds[len(ds)/2:]...)
			p.publish()
			if d := differences(places, placesOf(p, queues)); d != "" {
				t.Errorf("where names are counted, undisturbed (-) and restored (+):\n%s", d)
			}
			if d := differences(want, keeps(t, store, p)); d != "" {
				t.Errorf("undisturbed (-) and restored (+) differ: %.3000s", d)
			}
		})
	}
}

// placesOf returns, for each name of scattered, the queue under which the pipeline's view counts it.
func placesOf(p *Pipeline, queues int) map[string]string {
	out := map[string]string{}
	for i := range queues {
		name := fmt.Sprint("q", i)
		out[name], _ = p.View("c").QueueOf(name)
	}
	return out
}

// openPostgres opens the space "c" in a database and acquires its lease.
func openPostgres(t *testing.T, database string) modelstore.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), database, postgres.Options{Space: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Acquire(t.Context(), "test", time.Hour); err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	return store
}

// TestQueueLimitRaised proves that after the limit was raised, the queues that shared "other" are counted separately,
// because the journal has their names.
func TestQueueLimitRaised(t *testing.T) {
	events := scattered(workload(t, 60, 3), 20)
	path := filepath.Join(t.TempDir(), "test.db")
	store := openStore(t, path)
	p, src := newPipeline(cappedConfig(3), store, collector.Live)
	restore(t, p, "three")
	take(t, p, deliveries(src, events, 90, 8)...)
	p.publish()
	if got := p.View("c").Queues(); len(got) != 4 { // the queues a, two more, and "other"
		t.Fatalf("queues %v with a limit of 3", got)
	}
	p, _ = newPipeline(cappedConfig(100), store, collector.Live)
	defer func() { _ = store.Close() }()
	restore(t, p, "hundred")
	got := p.View("c")
	if n := len(got.Queues()); n < 15 || slices.Contains(got.Queues(), queuenames.Other) || got.Names.Folded != 0 {
		t.Errorf("queues %v after the limit was raised: want those of the log", got.Queues())
	}
}

// TestQueueOf proves that QueueOf returns the queue under which a name is counted, for every name that was seen and,
// once there was a reservation, for names of reservations. It returns false for other names.
func TestQueueOf(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	cfg := cappedConfig(2)
	now := func() time.Time { return at(0) }
	p := mustNew(New(cfg, nil, now, zap.New(core), NewMetrics(prometheus.NewRegistry())))
	_, src := newPipeline(cfg, nil, collector.Live)
	p.AddSource(*src)
	var events []job.Event
	for i, q := range []string{"b", "late", "later", "b", "late", queuenames.Other, collector.ReservationQueue} {
		ev := event(job.Submit, fmt.Sprint("j", i), float64(i))
		ev.Queue, ev.Procs = q, 1
		events = append(events, ev)
	}
	take(t, p, deliveries(src, events, 90, 8)...)
	p.publish()
	v := p.View("c")
	for name, want := range map[string]string{"a": "a", "b": "b", "late": queuenames.Other, "later": queuenames.Other,
		queuenames.Other: queuenames.Other, collector.ReservationQueue: queuenames.Other, "never": "",
		"R12": queuenames.Other, "R12x": ""} {
		if got, ok := v.QueueOf(name); got != want || ok != (want != "") {
			t.Errorf("queue %s is counted in %q, %v; want %q", name, got, ok, want)
		}
	}
	if n := logs.FilterMessageSnippet("models.max_queues").Len(); n != 1 {
		t.Errorf("%d log messages about the limit, want 1", n)
	}
	if v.Names.Folded != 3 {
		t.Errorf("%d names folded, want 3", v.Names.Folded)
	}
}

// TestBulkQueueLimit proves that a Bulk keeps the limit of queues too.
func TestBulkQueueLimit(t *testing.T) {
	b, err := NewBulk(ClusterConfig{Name: "c", Procs: 8}, livemodels.Config{}, 5)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []collector.Whole
	for i := range int64(100) {
		jobs = append(jobs, collector.Whole{Queue: fmt.Sprint("q", i%50), Procs: 1, Submit: i, Start: i, End: i + 10,
			Ran: true})
	}
	if err := b.Add(jobs); err != nil {
		t.Fatal(err)
	}
	want := []string{queuenames.Other, "q0", "q1", "q2", "q3", "q4"}
	if got := b.View().Queues(); !slices.Equal(got, want) {
		t.Errorf("queues %v, want %v", got, want)
	}
}
