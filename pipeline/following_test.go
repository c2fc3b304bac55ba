package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// onlyRead is a store that fails the test if it is written, and whose LastSeq returns an error while away is set.
type onlyRead struct {
	modelstore.Store
	t    *testing.T
	away atomic.Bool
}

var errAway = errors.New("the server is away")

func (s *onlyRead) LastSeq(ctx context.Context) (int64, error) {
	if s.away.Load() {
		return 0, errAway
	}
	return s.Store.LastSeq(ctx)
}

func (s *onlyRead) Commit(context.Context, modelstore.Batch) error { return s.written("Commit") }
func (s *onlyRead) SetMeta(context.Context, string, string) error  { return s.written("SetMeta") }
func (s *onlyRead) DropSnapshots(context.Context) error            { return s.written("DropSnapshots") }
func (s *onlyRead) DropHistories(context.Context, string, ...string) error {
	return s.written("DropHistories")
}
func (s *onlyRead) Prune(context.Context, time.Time, int64) (int64, error) {
	return 0, s.written("Prune")
}

func (s *onlyRead) written(by string) error {
	s.t.Errorf("who follows calls %s", by)
	return modelstore.ErrReadOnly
}

// TestFollowingIsTheSame proves that a pipeline that follows a journal, from any entry on, has the same state, models
// and engine as the writer of the journal, bit for bit. It writes nothing, shows when it cannot read, and ends only
// when the configuration of the writer changes.
func TestFollowingIsTheSame(t *testing.T) {
	events := mangle(workload(t, 220, 21), 21)
	for _, join := range []int{0, 3, 9} {
		store := newStore(t)
		w, src := newPipeline(testConfig(), store, collector.Live)
		restore(t, w, "one")
		ds := deliveries(src, events, 90, 21)
		take(t, w, ds[:join]...)
		read := &onlyRead{Store: store, t: t}
		cfg := testConfig()
		cfg.Follows = true
		f, _ := newPipeline(cfg, read, collector.Live)
		delete(f.sources, "log")
		restore(t, f, "one")
		more, folded, ended := make(chan string), make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- f.Follow(t.Context(), "one", func(ctx context.Context, _ int64) (string, error) {
				select {
				case folded <- struct{}{}:
				case <-ctx.Done():
					return "", ctx.Err()
				}
				return <-more, nil
			})
		}()
		<-folded
		for i, d := range ds[join:] {
			take(t, w, d)
			problem := ""
			if i == 2 {
				problem = "nobody collects"
			}
			more <- problem
			<-folded
			if got := f.View("c").Sources; len(got) != 1 || unreadReason(&got[0]) != problem ||
				got[0].Name != "c/database" {
				t.Errorf("the view's sources are %+v", got)
			}
			// The newest instant is published once there is time to copy the engine.
			for begun := time.Now(); f.View("c").Seq != w.seq; {
				if time.Since(begun) > time.Minute {
					t.Fatalf("the follower is at event %d, the writer at %d", f.View("c").Seq, w.seq)
				}
				more <- problem
				<-folded
			}
		}
		if d := gocmp.Diff(lanes(t, w), lanes(t, f)); d != "" {
			t.Fatalf("joined at delivery %d, writer (-) and follower (+) differ: %.3000s", join, d)
		}
		sound := len(f.Conditions()) // the log lacks ends, so that some jobs are overdue
		read.away.Store(true)
		more <- ""
		<-folded
		if c := f.Conditions(); len(c) != sound+1 || c[0].Name != readmodel.StoreFailing || !f.StoreFails() {
			t.Errorf("the store is away, the conditions are %v", c)
		}
		read.away.Store(false)
		more <- ""
		<-folded
		if c := f.Conditions(); len(c) != sound || f.StoreFails() {
			t.Errorf("the store is back, the conditions are %v", c)
		}
		if err := store.SetMeta(t.Context(), fingerprintKey, "two"); err != nil {
			t.Fatal(err)
		}
		more <- ""
		if err := <-ended; !errors.Is(err, ErrConfigChanged) {
			t.Errorf("after another configuration it ended with %v", err)
		}
	}
}

// unreadReason returns the reason why a source cannot be read, "" if it can be read.
func unreadReason(s *readmodel.SourceStatus) string {
	if c := s.Unreadable(); c != nil {
		return c.Reason
	}
	return ""
}
