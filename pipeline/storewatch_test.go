package pipeline

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// movableStore is an empty store that behaves as if it had a file that can be moved. The file of the zero value is in
// its place.
type movableStore struct {
	modelstore.Store // nil: the tests use only the methods below

	lost    atomic.Pointer[modelstore.IdentityError]
	commits atomic.Int64
}

func (s *movableStore) Verify() error {
	if lost := s.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// take lets the store report that its file has changed in the given way.
func (s *movableStore) take(change modelstore.FileChange) {
	s.lost.Store(&modelstore.IdentityError{Path: "/w.db", Change: change, Remedy: "put it back"})
}

// Known finds nothing. It succeeds even if the file is not in its place, because the file is still open.
func (s *movableStore) Known(context.Context, string, string) ([]modelstore.Key, error) {
	return nil, nil
}

func (s *movableStore) Commit(ctx context.Context, _ modelstore.Batch) error {
	if err := s.Verify(); err != nil {
		return err
	}
	s.commits.Add(1)
	return ctx.Err()
}

// wantFailing fails the test unless the condition of a failing database is as wanted: shown if want is true, absent
// otherwise.
func wantFailing(t *testing.T, when string, p *Pipeline, want bool) {
	t.Helper()
	reported := 0
	for _, c := range p.Conditions() {
		if c.Name == readmodel.StoreFailing {
			reported++
		}
	}
	if metric := testutil.ToFloat64(p.metrics.StoreFailing); (reported == 1) != want || reported > 1 ||
		p.StoreFails() != want || (metric == 1) != want {
		t.Errorf("%s: %d conditions, StoreFails %v, metric %g; want failing %v", when, reported, p.StoreFails(), metric,
			want)
	}
}

// TestStoreWatched proves that the removal of a database file causes a condition within two seconds, even if nothing is
// stored. An operation that still works does not end the condition. Nothing is committed in the meantime, and the
// condition ends when the file is back.
func TestStoreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &movableStore{}
		p, src := newPipeline(testConfig(), store, collector.Live)
		ctx, cancel := context.WithCancel(t.Context())
		deliveries, ended := make(chan *source.Delivery), make(chan error, 1)
		go func() { ended <- p.Run(ctx, deliveries) }()
		settled := func() { <-time.After(2 * verifyEvery); synctest.Wait() }
		settled()
		wantFailing(t, "untouched", p, false)

		store.take(modelstore.Moved)
		settled()
		wantFailing(t, "taken away", p, true)
		settled()
		wantFailing(t, "still away", p, true)
		if n := testutil.ToFloat64(p.metrics.StoreErrors); n != 1 {
			t.Errorf("%g errors are counted of one change", n)
		}
		store.lost.Store(nil)
		settled()
		wantFailing(t, "back", p, false)

		store.take(modelstore.Deleted)
		deliveries <- &source.Delivery{Source: src, Events: workload(t, 1, 1)[:1], Lines: 1, Checkpoint: []byte("1")}
		settled()
		wantFailing(t, "with something to store", p, true)
		if store.commits.Load() != 0 {
			t.Error("something was stored")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		wantFailing(t, "stopped", p, true)
		p.Close()
	})
}

// TestReadingHidesNothing proves that a successful read does not end the condition of a database file that is not in
// its place.
func TestReadingHidesNothing(t *testing.T) {
	store := &movableStore{}
	store.take(modelstore.Replaced)
	p, _ := newPipeline(testConfig(), store, collector.Live)
	for range 2 {
		if _, known := p.lookup("c", "1"); known {
			t.Error("an empty journal knows a job")
		}
		wantFailing(t, "read", p, true)
	}
	store.lost.Store(nil)
	p.lookup("c", "1")
	wantFailing(t, "read once it is back", p, false)
	p.Close()
}
