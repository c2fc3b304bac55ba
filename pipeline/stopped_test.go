package pipeline

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// bug is an observer that panics at the end of a job.
type bug struct{ id string }

func (b bug) InstantOver(time.Time, bool, *cluster.State) {}

func (b bug) Observe(c *changes.Change, _ *cluster.State) {
	if c.Event.ID == b.id && c.Event.Kind == job.End {
		_ = b.id[len(b.id)] // the runtime's own panic
	}
}

// twins is a pipeline with the clusters c and d, which have the same events.
type twins struct {
	*Pipeline
	deliveries map[string][]*source.Delivery // by cluster
}

func newTwins(t *testing.T, store modelstore.Store, events []job.Event) *twins {
	t.Helper()
	cfg := testConfig()
	cfg.SnapshotEvents = 50
	cfg.Clusters = append(cfg.Clusters, ClusterConfig{Name: "d", Procs: 128, Queues: []string{"a"}})
	now := func() time.Time { return at(0) }
	p := mustNew(New(cfg, store, now, zap.NewNop(), NewMetrics(prometheus.NewRegistry())))
	w := &twins{p, map[string][]*source.Delivery{}}
	if err := p.Restore(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c", "d"} {
		src := source.Config{Name: name + "/log", Format: collector.Format{Name: "test", Order: collector.Live},
			Options: collector.Options{Cluster: name}}
		p.AddSource(src)
		own := slices.Clone(events)
		for i := range own {
			own[i].Cluster = name
		}
		w.deliveries[name] = deliveries(&src, own, 12, 3)
	}
	t.Cleanup(p.Close)
	return w
}

// read passes the deliveries of both clusters in turn to the writer, from the given checkpoints on. Several deliveries
// share a transaction.
func (w *twins) read(t *testing.T, from map[string]int) {
	t.Helper()
	more := make(chan *source.Delivery, 1000)
	for i := range w.deliveries["c"] {
		for _, name := range []string{"c", "d"} {
			if i >= from[name] {
				more <- w.deliveries[name][i]
			}
		}
	}
	for d, ok := poll(more); ok; d, ok = poll(more) {
		if err := w.step(context.Background(), d, more); err != nil {
			t.Fatal(err)
		}
	}
	w.publishAtOnce()
}

// keptOf returns the entries and rows of a cluster, without their numbers, which depend on the other cluster.
func keptOf(t *testing.T, store modelstore.Store, name string) (entries []modelstore.Entry, rows []modelstore.Row) {
	t.Helper()
	err := store.Replay(t.Context(), 0, func(e modelstore.Entry) error {
		if e.Seq = 0; e.Event.Cluster == name {
			entries = append(entries, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = store.Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		if r.Seq = 0; r.Cluster == name {
			rows = append(rows, r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, rows
}

// resumeAt returns the number of the first delivery of each cluster that a reader delivers after a restart.
func resumeAt(t *testing.T, store modelstore.Store) map[string]int {
	t.Helper()
	saved, err := store.Checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from := map[string]int{}
	for _, name := range []string{"c", "d"} {
		if data, ok := saved[name+"/log"]; ok {
			n, err := strconv.Atoi(string(data))
			if err != nil {
				t.Fatal(err)
			}
			from[name] = n + 1
		}
	}
	return from
}

// TestAPanicStopsOneCluster proves that a panic while the events of one cluster are folded stops this cluster alone:
// the other one has all of its entries and rows, the failing event and its checkpoint are not committed, nor is a
// snapshot, and the condition, the metric and the view show it. After a restart without the bug, both clusters have
// the same entries and rows as without it.
func TestAPanicStopsOneCluster(t *testing.T) {
	events := workload(t, 150, 5)
	undisturbed := newStore(t)
	newTwins(t, undisturbed, events).read(t, nil)
	ends := slices.DeleteFunc(slices.Clone(events), func(ev job.Event) bool { return ev.Kind != job.End })
	for name, end := range map[string]job.Event{
		"at the beginning": ends[0], "in the middle": ends[len(ends)/2], "at the end": ends[len(ends)-1],
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, filepath.Join(t.TempDir(), "test.db"))
			defer func() { _ = store.Close() }()
			w := newTwins(t, store, events)
			w.writers["c"].observers = append(w.writers["c"].observers, bug{end.ID})
			w.read(t, nil)
			wantTwin(t, undisturbed, store, "d")
			w.wantStopped(t)
			whole, _ := keptOf(t, undisturbed, "c")
			part, _ := keptOf(t, store, "c")
			fails := slices.IndexFunc(whole, func(e modelstore.Entry) bool {
				return e.Event.ID == end.ID && e.Event.Kind == job.End
			})
			if len(part) > fails || differences(whole[:len(part)], part) != "" {
				t.Errorf("%d entries of the stopped cluster, want at most the %d before the bug", len(part), fails)
			}
			if snap, err := store.Latest(t.Context()); err != nil || snap != nil && snap.Seq > w.seq-50 {
				t.Errorf("a snapshot %v after the bug, %v", snap, err)
			}
			from := resumeAt(t, store)
			if from["d"] != len(w.deliveries["d"]) || from["c"] >= len(w.deliveries["c"]) && name != "at the end" {
				t.Errorf("the readers resume at %v of %d", from, len(w.deliveries["d"]))
			}
			next := newTwins(t, store, events)
			next.read(t, from)
			wantTwin(t, undisturbed, store, "c")
			wantTwin(t, undisturbed, store, "d")
			if conditions := next.Conditions(); slices.ContainsFunc(conditions, func(c readmodel.Condition) bool {
				return c.Name == readmodel.ClusterStopped
			}) {
				t.Errorf("after the restart: %v", conditions)
			}
		})
	}
}

// wantTwin checks that a cluster has the same entries and rows in two stores.
func wantTwin(t *testing.T, want, got modelstore.Store, name string) {
	t.Helper()
	entries, rows := keptOf(t, want, name)
	gotEntries, gotRows := keptOf(t, got, name)
	if len(entries) < 300 || len(rows) < 100 {
		t.Fatalf("the undisturbed run has %d entries and %d rows", len(entries), len(rows))
	}
	if diff := differences(entries, gotEntries); diff != "" {
		t.Errorf("entries of %s (-undisturbed +now):\n%s", name, diff)
	}
	if diff := differences(rows, gotRows); diff != "" {
		t.Errorf("rows of %s (-undisturbed +now):\n%s", name, diff)
	}
}

// wantStopped checks that cluster c alone is shown as stopped.
func (w *twins) wantStopped(t *testing.T) {
	t.Helper()
	var stopped []readmodel.Condition
	for _, c := range w.Conditions() {
		if c.Name == readmodel.ClusterStopped {
			stopped = append(stopped, c)
		}
	}
	if len(stopped) != 1 || stopped[0].Cluster != "c" || !strings.Contains(stopped[0].Reason, "out of range") {
		t.Errorf("conditions %v", stopped)
	}
	c, d := testutil.ToFloat64(w.metrics.Stopped.WithLabelValues("c")),
		testutil.ToFloat64(w.metrics.Stopped.WithLabelValues("d"))
	if c != 1 || d != 0 {
		t.Errorf("waitcast_cluster_stopped is %v for c and %v for d", c, d)
	}
	if w.View("d").Stopped != nil || w.View("c").Stopped == nil {
		t.Error("the views do not show it")
	}
}

// TestAPanicDuringTheRestore proves that a panic while the journal is replayed stops the cluster alone.
func TestAPanicDuringTheRestore(t *testing.T) {
	events := workload(t, 150, 5)
	store := newStore(t)
	first := newTwins(t, store, events)
	first.read(t, nil)
	if err := store.DropSnapshots(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return at(0) }
	p := mustNew(New(first.cfg, store, now, zap.NewNop(), NewMetrics(prometheus.NewRegistry())))
	defer p.Close()
	p.writers["c"].observers = append(p.writers["c"].observers, bug{events[0].ID})
	if err := p.Restore(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	w := &twins{Pipeline: p}
	w.wantStopped(t)
	if got, want := len(p.View("d").Running), len(first.View("d").Running); got != want || p.View("d").At.IsZero() {
		t.Errorf("%d jobs run on the other cluster, want %d", got, want)
	}
}

// TestAPanicOfAReaderStopsItsCluster proves that Stop stops a cluster while Run is running.
func TestAPanicOfAReaderStopsItsCluster(t *testing.T) {
	w := newTwins(t, newStore(t), workload(t, 20, 5))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, make(chan *source.Delivery)) }()
	published := w.Published()
	var none []int
	w.Stop(ctx.Done(), "c", panics.Catch(func() { _ = none[len(w.Views())] }))
	for w.View("c").Stopped == nil {
		<-published
		published = w.Published()
	}
	w.wantStopped(t)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAPanicWhileSavingStopsOneCluster proves that a panic of an encoder stops its cluster and that the transaction is
// stored without the snapshot.
func TestAPanicWhileSavingStopsOneCluster(t *testing.T) {
	events := workload(t, 150, 5)
	undisturbed, store := newStore(t), newStore(t)
	newTwins(t, undisturbed, events).read(t, nil)
	w := newTwins(t, store, events)
	names := w.writers["c"].names
	w.writers["c"].names = nil // encoding them panics
	batch := modelstore.Batch{Snapshot: w.snapshot()}
	if err := w.commit(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	w.writers["c"].names = names
	w.publish()
	if len(w.Conditions()) == 0 || w.View("c").Stopped == nil || w.View("d").Stopped != nil {
		t.Errorf("conditions %v", w.Conditions())
	}
	w.read(t, nil)
	wantTwin(t, undisturbed, store, "d")
	if snap, err := store.Latest(t.Context()); snap != nil || err != nil {
		t.Errorf("a snapshot %v, %v", snap, err)
	}
}
