package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"

	gocmp "github.com/google/go-cmp/cmp"
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

// scattered gives each job of a workload one of so many queues.
func scattered(events []job.Event, queues int) []job.Event {
	out := slices.Clone(events)
	for i := range out {
		if out[i].Queue != "" {
			rng := rand.New(rand.NewPCG(nameHash(out[i].ID), 3))
			out[i].Queue = fmt.Sprint("q", rng.IntN(queues))
		}
	}
	return out
}

func cappedConfig(limit int) Config {
	cfg := testConfig()
	cfg.MaxQueues = limit
	return cfg
}

// distinct returns the distinct queues of rows and of entries.
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

// With many queues the limit holds in models, figures, views and rows; the configured queue has its place; and whichever way the process ends, the
// same events give the same places.
func TestQueueLimitLeavesNoTraceOfRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts at many steps: not with -short")
	}
	const limit = 6
	events := scattered(mangle(workload(t, 220, 8), 8), 60)
	cfg := cappedConfig(limit)
	store := newStore(t)
	p, src := newPipeline(cfg, store, collector.Live)
	restore(t, p, "one")
	ds := deliveries(src, events, 90, 8)
	take(t, p, ds...)
	p.publish()
	want := keeps(t, store, p)
	rows, entries := distinct(want)
	v := p.View("c")
	if got := v.Queues(); len(got) > limit+2 || !slices.Contains(got, "a") || !slices.Contains(got, OtherQueue) {
		t.Errorf("queues %v, want a, %s and at most %d in all", got, OtherQueue, limit+2)
	}
	if len(rows) > limit+2 || len(accuracy.ByQueue(v.Scores)) > limit+2 || len(v.Recent) > limit+2 || len(v.Drifts) > limit+3 {
		t.Errorf("%d queues in rows, %d in scores, %d in recent figures, %d drifts; want at most %d", len(rows), len(accuracy.ByQueue(v.Scores)), len(v.Recent), len(v.Drifts), limit+2)
	}
	if len(entries) < 40 {
		t.Errorf("the journal has %d queues: it must keep the announced names", len(entries))
	}
	if v.FoldedQueues < 40 {
		t.Errorf("%d names share %s, want nearly all of 60", v.FoldedQueues, OtherQueue)
	}
	for _, c := range disturbances() {
		t.Run(c.name, func(t *testing.T) {
			for _, stop := range []int{2, len(ds) / 2, len(ds) - 1} {
				if d := gocmp.Diff(want, disturbedAs(t, cfg, c, events, stop)); d != "" {
					t.Fatalf("after delivery %d of %d, undisturbed (-) and disturbed (+) differ: %.3000s", stop, len(ds), d)
				}
			}
		})
	}
}

// A daemon whose database is PostgreSQL counts the same names in other after each way of ending as one with SQLite that was
// never disturbed.
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
			if d := gocmp.Diff(places, placesOf(p, queues)); d != "" {
				t.Errorf("where names are counted, undisturbed (-) and restored (+):\n%s", d)
			}
			if d := gocmp.Diff(want, keeps(t, store, p)); d != "" {
				t.Errorf("undisturbed (-) and restored (+) differ: %.3000s", d)
			}
		})
	}
}

// placesOf returns where the view of a pipeline counts each name of scattered.
func placesOf(p *Pipeline, queues int) map[string]string {
	out := map[string]string{}
	for i := range queues {
		name := fmt.Sprint("q", i)
		out[name], _ = p.View("c").QueueOf(name)
	}
	return out
}

// openPostgres opens the cluster's space in a database and takes its lease.
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

// A larger limit gives the queues of the journal their own places back.
func TestQueueLimitRaised(t *testing.T) {
	events := scattered(workload(t, 60, 3), 20)
	path := filepath.Join(t.TempDir(), "test.db")
	store := openStore(t, path)
	p, src := newPipeline(cappedConfig(3), store, collector.Live)
	restore(t, p, "three")
	take(t, p, deliveries(src, events, 90, 8)...)
	p.publish()
	if got := p.View("c").Queues(); len(got) != 4 { // a, two more, other
		t.Fatalf("queues %v with a limit of 3", got)
	}
	p, _ = newPipeline(cappedConfig(100), store, collector.Live)
	defer func() { _ = store.Close() }()
	restore(t, p, "hundred")
	got := p.View("c")
	if n := len(got.Queues()); n < 15 || slices.Contains(got.Queues(), OtherQueue) || got.FoldedQueues != 0 {
		t.Errorf("queues %v after the limit was raised: want those of the log", got.Queues())
	}
}

// TestQueueOf proves that the queue that counts a name is known for every name that was seen and, if reservations were
// folded, for the queue of a reservation, and for no other name.
func TestQueueOf(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	cfg := cappedConfig(2)
	now := func() time.Time { return at(0) }
	p := mustNew(New(cfg, nil, now, zap.New(core), NewMetrics(prometheus.NewRegistry())))
	_, src := newPipeline(cfg, nil, collector.Live)
	p.AddSource(*src)
	var events []job.Event
	for i, q := range []string{"b", "late", "later", "b", "late", OtherQueue, collector.ReservationQueue} {
		ev := event(job.Submit, fmt.Sprint("j", i), float64(i))
		ev.Queue, ev.Procs = q, 1
		events = append(events, ev)
	}
	take(t, p, deliveries(src, events, 90, 8)...)
	p.publish()
	v := p.View("c")
	for name, want := range map[string]string{"a": "a", "b": "b", "late": OtherQueue, "later": OtherQueue, OtherQueue: OtherQueue, collector.ReservationQueue: OtherQueue, "never": "", "R12": OtherQueue, "R12x": ""} {
		if got, ok := v.QueueOf(name); got != want || ok != (want != "") {
			t.Errorf("queue %s is counted in %q, %v; want %q", name, got, ok, want)
		}
	}
	if n := logs.FilterMessageSnippet("models.max_queues").Len(); n != 1 {
		t.Errorf("%d log messages about the limit, want 1", n)
	}
	if v.FoldedQueues != 3 {
		t.Errorf("%d names folded, want 3", v.FoldedQueues)
	}
}

// The names that share a queue are remembered within bounds, the newest ones, and a copy does not change.
func TestNameHashes(t *testing.T) {
	var s nameHashes
	const all = (sharingBlocks + 3) * sharingBlock
	var early nameHashes
	for i := range uint64(all) {
		if !s.add(i*2654435761 + 1) {
			t.Fatalf("hash %d is said to be known", i)
		}
		if i == sharingBlock+10 {
			early = s
		}
	}
	kept := 0
	for i := range uint64(all) {
		if s.has(i*2654435761 + 1) {
			kept++
		} else if i > 4*sharingBlock {
			t.Fatalf("hash %d of %d is forgotten", i, all)
		}
	}
	if kept > (sharingBlocks+1)*sharingBlock || len(s.full) > sharingBlocks {
		t.Errorf("%d hashes in %d blocks are remembered", kept, len(s.full))
	}
	if !early.has(1) || !early.has((sharingBlock+10)*2654435761+1) || early.has((sharingBlock+11)*2654435761+1) {
		t.Error("a copy has changed")
	}
}

// What is saved of the names is the same after it was restored, and damaged bytes are an error.
func TestQueueNamesCodec(t *testing.T) {
	n := newQueueNames(ClusterConfig{Queues: []string{"a"}}, 3)
	for i := range 3000 {
		n.note(fmt.Sprint("q", i))
	}
	data, err := n.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := newQueueNames(ClusterConfig{Queues: []string{"a"}}, 3)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(n, again, gocmp.AllowUnexported(queueNames{}, nameHashes{})); d != "" {
		t.Errorf("saved (-) and restored (+) differ: %.2000s", d)
	}
	for cut := range len(data) {
		if err := newQueueNames(ClusterConfig{}, 3).UnmarshalBinary(data[:cut]); err == nil {
			t.Fatalf("no error for %d of %d bytes", cut, len(data))
		}
	}
}

// Models that are told whole jobs keep to the same places.
func TestBulkQueueLimit(t *testing.T) {
	b, err := NewBulk(ClusterConfig{Name: "c", Procs: 8}, livemodels.Config{}, 5)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []collector.Whole
	for i := range int64(100) {
		jobs = append(jobs, collector.Whole{Queue: fmt.Sprint("q", i%50), Procs: 1, Submit: i, Start: i, End: i + 10, Ran: true})
	}
	if err := b.Add(jobs); err != nil {
		t.Fatal(err)
	}
	if got, want := b.View().Queues(), []string{OtherQueue, "q0", "q1", "q2", "q3", "q4"}; !slices.Equal(got, want) {
		t.Errorf("queues %v, want %v", got, want)
	}
}

// The figures of queues without detailed metrics are summed up, and nothing is lost.
func TestMetricScores(t *testing.T) {
	v := &View{detailed: map[string]bool{"a": true, OtherQueue: true}, Scores: map[accuracy.Key]*accuracy.Score{}, Recent: map[string]*accuracy.Figures{}}
	row := modelstore.Row{Outcome: modelstore.Started, WaitSeconds: 5, Quantiles: []float64{1, 2, 3, 4, 5, 6}, Levels: []float64{.1, .25, .5, .75, .9, .95}}
	for i, q := range []string{"a", "b", "c", OtherQueue} {
		s := accuracy.NewScore(6)
		for range i + 1 {
			s.Add(&row)
		}
		v.Scores[accuracy.Key{Queue: q, Size: "1"}] = s
		f := *accuracy.SumFigures([]*accuracy.Figures{&s.Figures})
		v.Recent[q] = &f
	}
	got := v.MetricScores()
	if len(got) != 2 || got[accuracy.Key{Queue: "a", Size: "1"}].N != 1 || got[accuracy.Key{Queue: OtherQueue, Size: "1"}].N != 2+3+4 {
		t.Errorf("scores of %d queues: %+v", len(got), got)
	}
	if recent := v.MetricRecent(); len(recent) != 2 || recent[OtherQueue].N != 9 || v.Recent[OtherQueue].N != 4 {
		t.Errorf("recent figures %+v", recent)
	}
}
