package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/codec/codectest"
	"github.com/waitcast/waitcast/internal/memdir"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline/eventtest"
	"github.com/waitcast/waitcast/pipeline/livemodels"
)

func at(seconds float64) time.Time { return eventtest.At(seconds) }

func event(kind job.Kind, id string, second float64) job.Event {
	return eventtest.New(kind, id, second)
}

func sized(ev job.Event, procs int) job.Event { return eventtest.Sized(ev, procs) }

func workload(t testing.TB, jobs int, seed uint64) []job.Event {
	t.Helper()
	return eventtest.Workload(t, jobs, seed)
}

func mangle(events []job.Event, seed uint64) []job.Event { return eventtest.Mangle(events, seed) }

func TestMain(m *testing.M) {
	memdir.Use()
	os.Exit(m.Run())
}

// differences is cmp.Diff, which takes a hundred times as long as reflect.DeepEqual, and is needed only where values
// differ, or where they have NaN.
func differences(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// testConfig returns the configuration of a cluster "c" of 128 processors. The windows of the models are so small that
// they drop old data during a test.
func testConfig() Config {
	return Config{
		Clusters:       []ClusterConfig{{Name: "c", Procs: 128, Queues: []string{"a"}}},
		Models:         livemodels.Config{WindowJobs: 300, WindowAge: 36 * time.Hour, MinSamples: 10, Forget: .001},
		SnapshotEvents: 150, Forecasts: true,
	}
}

// mustNew returns p. It panics if New returned an error, because the configurations of tests must be valid.
func mustNew(p *Pipeline, err error) *Pipeline {
	if err != nil {
		log.Panic(err)
	}
	return p
}

func newPipeline(cfg Config, store modelstore.Store, order collector.Order) (*Pipeline, *source.Config) {
	now := func() time.Time { return at(0) }
	p := mustNew(New(cfg, store, now, zap.NewNop(), NewMetrics(prometheus.NewRegistry())))
	src := &source.Config{
		Name: "log", Format: collector.Format{Name: "test", Order: order}, Options: collector.Options{Cluster: "c"},
	}
	p.AddSource(*src)
	return p, src
}

// deliveries cuts events into deliveries of random length, at most the given number of events. The checkpoint of a
// delivery is its number.
func deliveries(src *source.Config, events []job.Event, most int, seed uint64) []*source.Delivery {
	rng := rand.New(rand.NewPCG(seed, 13))
	var out []*source.Delivery
	for len(events) > 0 {
		n := min(len(events), 1+rng.IntN(most))
		checkpoint := fmt.Append(nil, len(out))
		out = append(out, &source.Delivery{Source: src, Events: events[:n:n], Lines: n, Checkpoint: checkpoint})
		events = events[n:]
	}
	return out
}

// take passes deliveries to the writer, each as one transaction.
func take(t testing.TB, p *Pipeline, ds ...*source.Delivery) {
	t.Helper()
	for _, d := range ds {
		if err := p.step(context.Background(), d, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.publishAtOnce()
}

// savedParts returns the parts of a snapshot of cluster "c". It also checks that those that are encoded piece by piece
// have the bytes of MarshalBinary.
func savedParts(t testing.TB, p *Pipeline) map[string][]byte {
	t.Helper()
	l := p.writers["c"]
	encoders := map[string]modelstore.Encoder{}
	l.save(encoders)
	snap, err := (&modelstore.Snapshot{Encoders: encoders}).Encoded()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range l.parts() {
		if want, err := part.MarshalBinary(); err != nil || !bytes.Equal(snap.Parts[part.name], want) {
			t.Errorf("part %s is not what MarshalBinary returns (%v)", part.name, err)
		}
	}
	return snap.Parts
}

// lanes returns the data that the pipeline would save for cluster "c", by part, without the counters of records that
// changed nothing.
func lanes(t testing.TB, p *Pipeline) map[string]string {
	t.Helper()
	out, parts := map[string]string{}, savedParts(t, p)
	for name, data := range parts {
		out[name] = string(data)
	}
	var state map[string]any
	if err := json.Unmarshal(codectest.Text(t, parts["c/state"]), &state); err != nil {
		t.Fatal(err)
	}
	counts := state["counts"].(map[string]any)
	delete(counts, "duplicates")
	delete(counts, "orphans")
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	out["c/state"] = string(data)
	return out
}

// kept has the entries and rows of a store, and the saved parts of the state (lanes).
type kept struct {
	Entries []modelstore.Entry
	Rows    []modelstore.Row
	Lanes   map[string]string
}

func keeps(t testing.TB, s modelstore.Store, p *Pipeline) kept {
	t.Helper()
	k := kept{Lanes: lanes(t, p)}
	err := s.Replay(context.Background(), 0, func(e modelstore.Entry) error {
		k.Entries = append(k.Entries, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Rows(context.Background(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		k.Rows = append(k.Rows, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func openStore(t testing.TB, path string) modelstore.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{Log: zap.NewNop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newStore(t testing.TB) modelstore.Store {
	t.Helper()
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// memory is a store that keeps the committed entries, rows, bad lines and checkpoints in memory.
type memory struct {
	modelstore.Store // the other methods are nil
	entries          []modelstore.Entry
	rows             []modelstore.Row
	byID             map[string][]job.Event
	bad              []modelstore.BadLine
	checkpoints      []string
	fail             func(operation string) error
}

func (m *memory) failed(operation string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(operation)
}

func (m *memory) Commit(_ context.Context, b modelstore.Batch) error {
	if err := m.failed("commit"); err != nil {
		return err
	}
	for _, e := range b.Entries {
		if want := int64(len(m.entries)) + 1; e.Seq != want {
			return &modelstore.SeqError{Got: e.Seq, Want: want}
		}
		if err := e.Check(); err != nil {
			return err
		}
		m.entries = append(m.entries, e)
		if m.byID == nil {
			m.byID = map[string][]job.Event{}
		}
		m.byID[e.Event.ID] = append(m.byID[e.Event.ID], e.Event)
	}
	for _, r := range b.Rows {
		if err := r.Check(); err != nil {
			return err
		}
		m.rows = append(m.rows, r)
	}
	for _, c := range b.Checkpoints {
		m.checkpoints = append(m.checkpoints, string(c.Data))
	}
	m.bad = append(m.bad, b.BadLines...)
	return nil
}

func (m *memory) Known(_ context.Context, _, id string) ([]modelstore.Key, error) {
	var keys []modelstore.Key
	for _, e := range m.byID[id] {
		keys = append(keys, modelstore.Key{Attempt: e.Attempt, Kind: e.Kind, Time: e.Time, Submit: e.Times.Submit})
	}
	slices.SortStableFunc(keys, func(a, b modelstore.Key) int { return a.Attempt - b.Attempt })
	return keys, m.failed("known")
}
