package pipeline

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
)

// storedEvents returns the number of stored events in each chunk of the history "h".
func storedEvents(t *testing.T, store modelstore.Store) []int {
	t.Helper()
	var sizes []int
	err := store.HistoryChunks(t.Context(), "c", "h", past.EventsPart, func(_ int, data []byte) error {
		sizes = append(sizes, 0)
		return history.DecodeChunk(data, func(*history.Event) error { sizes[len(sizes)-1]++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return sizes
}

// TestArchiveStays proves that a history is kept if all its events are older than the retention.
func TestArchiveStays(t *testing.T) {
	log := cut(t, 420, 250, 42)
	store := newStore(t)
	cfg := testConfig()
	archive := log.past[:150]
	cfg.HistoryRetention = archive[len(archive)-1].Time.Sub(archive[0].Time)
	p, src := newPipeline(cfg, store, collector.Live)
	restore(t, p, "one")
	learns(t, p, store, past.Exact, archive)
	follows(t, p, src, log.live)
	if newest := p.writers["c"].state.Now().Add(-cfg.HistoryRetention); !newest.After(archive[len(archive)-1].Time) {
		t.Fatal("the archive is not older than the retention: the test proves nothing")
	}
	h, sizes := p.histories.inForce["c"], storedEvents(t, store)
	if h.First != 0 || h.Events != 150 || !slices.Equal(sizes, []int{100, 50}) {
		t.Errorf("of an archive of 150 events %v are kept: %+v", sizes, h)
	}
}

// TestHistoryRetention proves that a running daemon drops exactly the chunks of a history whose events are all older
// than the retention, and keeps its state. A rebuilt state equals that of a daemon that imported only the remaining
// events.
func TestHistoryRetention(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestHistoryIsExact")
	}
	log := cut(t, 420, 250, 42)
	followed := len(log.live) - 200 // the other 200 events cause a snapshot after the restart
	const gone, chunk = 2, 100
	cfg := testConfig()
	look := followed + int(cfg.SnapshotEvents)
	cfg.HistoryRetention = log.live[look].Time.Sub(log.past[gone*chunk+chunk/4].Time)
	state := func(imported []job.Event) (built map[string]string, sizes []int, h *past.History) {
		store := newStore(t)
		p, src := newPipeline(testConfig(), store, collector.Live)
		restore(t, p, "one")
		learns(t, p, store, past.Exact, imported)
		follows(t, p, src, log.live[:followed])
		if err := p.finish(); err != nil {
			t.Fatal(err)
		}
		p, src = newPipeline(cfg, store, collector.Live)
		restore(t, p, "one")
		follows(t, p, src, log.live[followed:])
		before := learnt(t, p)
		if err := p.finish(); err != nil {
			t.Fatal(err)
		}
		p, _ = newPipeline(cfg, store, collector.Live)
		restore(t, p, "one")
		if _, unlearnt := p.unlearnt.of("c"); unlearnt || len(cmp.Diff(before, learnt(t, p))) > 0 {
			t.Error("a history whose oldest events are dropped is learnt again")
		}
		sizes, h = storedEvents(t, store), p.histories.inForce["c"]
		p, _ = newPipeline(cfg, store, collector.Live)
		restore(t, p, "two")
		if err := p.beginRebuilds(t.Context()); err != nil {
			t.Fatal(err)
		}
		swapNow(t, p)
		return learnt(t, p), sizes, h
	}
	want, _, _ := state(log.past[gone*chunk:])
	got, sizes, h := state(log.past)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the state that is built of the remaining events differs: %.2000s", d)
	}
	for n, size := range sizes {
		if (size == 0) != (n < gone) {
			t.Errorf("chunk %d has %d events", n, size)
		}
	}
	if h.First != gone || h.Events != int64(len(log.past)-gone*chunk) ||
		!h.From.Equal(log.past[gone*chunk].Time) {
		t.Errorf("the history in force is %+v", h)
	}
}
