package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
)

// begun returns a pipeline that has followed the given events and nothing before them.
func begun(t *testing.T, store modelstore.Store, events []job.Event) (*Pipeline, *source.Config) {
	t.Helper()
	p, src := newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "one")
	follows(t, p, src, events)
	return p, src
}

// damage overwrites a chunk of the history "h".
func damage(t *testing.T, store modelstore.Store) {
	t.Helper()
	c := modelstore.HistoryChunk{Cluster: "c", ID: "h", Part: past.EventsPart, N: 1, Data: []byte("x")}
	if err := store.PutHistory(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// runUntilUsable runs the writer until the cluster has a usable state and its damaged history has caused an error. Then
// it stops the writer.
func runUntilUsable(t *testing.T, p *Pipeline) {
	t.Helper()
	ended := make(chan error, 1)
	incoming := make(chan *source.Delivery)
	go func() { ended <- p.Run(t.Context(), incoming) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.AwaitUsable(ctx, "c"); err != nil {
		t.Error("no state to go on from:", err)
	}
	if err := p.AwaitTaught(ctx, "c"); err == nil || !strings.Contains(err.Error(), "chunk 1 of its events") {
		t.Errorf("%v, want an error that names the chunk", err)
	}
	close(incoming)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// failures returns the texts of the pipeline's conditions about histories.
func failures(p *Pipeline) string {
	var out []string
	for _, c := range p.Conditions() {
		if strings.HasPrefix(string(c.Name), "history_") {
			out = append(out, c.String())
		}
	}
	return strings.Join(out, "\n")
}

// faultyStore is a store in which some data cannot be read.
type faultyStore struct {
	modelstore.Store
	journal bool // the journal is damaged
	away    int  // how often reading the second chunk of a history still fails
}

func (f *faultyStore) Replay(ctx context.Context, after int64, fn func(modelstore.Entry) error) error {
	if f.journal {
		return modelstore.ErrCorrupt
	}
	return f.Store.Replay(ctx, after, fn)
}

func (f *faultyStore) HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error) {
	if n == 1 && f.away > 0 {
		f.away--
		return nil, errAway
	}
	return f.Store.HistoryChunk(ctx, cluster, id, part, n)
}

// TestDamagedHistoryWithoutState proves that the state is built from the journal alone if the configuration has changed
// and the history is damaged. The state equals that of a daemon with the same journal and no history. It is saved, the
// condition of the damaged history stays visible, and the next process begins with this state.
func TestDamagedHistoryWithoutState(t *testing.T) {
	log := cut(t, 300, 180, 39)
	store := newStore(t)
	p, src := begun(t, store, log.live[:60])
	learns(t, p, store, past.Exact, log.past)
	follows(t, p, src, log.live[60:140])
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	damage(t, store)
	cfg := testConfig()
	cfg.Follows = true
	follower, _ := newPipeline(cfg, &onlyRead{Store: store, t: t}, collector.Live)
	restore(t, follower, "one")

	p, _ = newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "two")
	runUntilUsable(t, p)
	const shown = "history_failing: cluster c: cannot be learnt, forecasts go on without it"
	if got := failures(p); !strings.HasPrefix(got, shown) {
		t.Errorf("the conditions are %q", got)
	}
	if snap, err := store.Latest(t.Context()); err != nil || snap == nil {
		t.Errorf("the state is not saved (%v)", err)
	}
	got := learnt(t, p)

	p, src = newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "two")
	if usable, ok := p.unlearnt.of("c"); !ok || !usable {
		t.Errorf("the saved state is usable: %t, and lacks its history: %t", usable, ok)
	}
	runUntilUsable(t, p)
	if d := cmp.Diff(got, learnt(t, p)); d != "" {
		t.Errorf("the next process begins with another state: %.2000s", d)
	}
	if err := follower.checkLearnt(t.Context()); err == nil {
		t.Error("a process that follows goes on with the history that the published state does not know any more")
	}
	follows(t, p, src, log.live[140:])
	got = learnt(t, p)

	if err := store.SetMeta(t.Context(), past.InForceKey("c"), ""); err != nil {
		t.Fatal(err)
	}
	p, _ = newPipeline(testConfig(), store, collector.Live)
	restore(t, p, "three")
	if d := cmp.Diff(learnt(t, p), got); d != "" {
		t.Errorf("without a history (-) and with a damaged one (+) the states differ: %.2000s", d)
	}
}

// TestDamagedHistoryAndJournal proves that the writer ends with an error if it has no usable state and can read neither
// the history nor the journal.
func TestDamagedHistoryAndJournal(t *testing.T) {
	log := cut(t, 120, 60, 40)
	store := newStore(t)
	p, _ := begun(t, store, log.live[:30])
	learns(t, p, store, past.Exact, log.past)
	damage(t, store)
	broken := &faultyStore{Store: store}
	p, _ = newPipeline(testConfig(), broken, collector.Live)
	restore(t, p, "two")
	broken.journal = true
	err := p.Run(t.Context(), make(chan *source.Delivery))
	if err == nil || !strings.Contains(err.Error(), "building the state of cluster c from the journal") {
		t.Errorf("the writer ends with %v", err)
	}
}

// TestRebuildThroughFailures proves that a rebuild continues where it was after the store failed for a while: the state
// is the same as without failures.
func TestRebuildThroughFailures(t *testing.T) {
	log := cut(t, 200, 120, 41)
	states := [2]map[string]string{}
	for i := range states {
		store := &faultyStore{Store: newStore(t)}
		p, src := begun(t, store, log.live[:60])
		store.away = i
		learns(t, p, store, past.Exact, log.past)
		if store.away > 0 {
			t.Fatal("the store did not fail: the test proves nothing")
		}
		follows(t, p, src, log.live[60:])
		states[i] = learnt(t, p)
	}
	if d := cmp.Diff(states[0], states[1]); d != "" {
		t.Errorf("after failures of the store the state differs: %.2000s", d)
	}
}

// TestHistoryThatIsDamaged proves that the state does not change if the new history is damaged, and that views are
// published only until one shows the failure.
func TestHistoryThatIsDamaged(t *testing.T) {
	log := cut(t, 120, 60, 37)
	store := newStore(t)
	p, _ := begun(t, store, log.live[:30])
	before := learnt(t, p)
	h := putHistory(t, store, "h", past.Exact, log.past)
	damage(t, store)
	teachNow(t, t.Context(), p, h)
	if err := p.AwaitTaught(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "chunk 1 of its events") {
		t.Errorf("%v, want an error that names the chunk", err)
	}
	p.publishedAt, p.publishNeeded = time.Time{}, false
	if err := p.doDueWork(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := p.View("c")
	p.publishedAt = time.Time{} // long ago
	if err := p.doDueWork(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.View("c") != shown {
		t.Error("views are published because of a history that is not learnt any more")
	}
	if teaching := shown.Teaching; teaching == nil || teaching.Failure == "" || !teaching.Usable {
		t.Errorf("the view says %+v", teaching)
	}
	if d := cmp.Diff(before, learnt(t, p)); d != "" {
		t.Errorf("the published state changed: %.1000s", d)
	}
}
