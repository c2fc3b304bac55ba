package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// TestReplaceSources proves that the writer continues with new sources from the committed checkpoints, keeps its state,
// and drops deliveries of the old readers that still wait. If the new sources cannot be opened, nothing changes.
func TestReplaceSources(t *testing.T) {
	store := newStore(t)
	p, log := newPipeline(testConfig(), store, collector.Live)
	deliveries := make(chan *source.Delivery, 8)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(t.Context(), deliveries) }()
	tell := func(s *source.Config, checkpoint string, ids ...string) {
		d := &source.Delivery{Source: s, Checkpoint: []byte(checkpoint), CaughtUp: true, Lines: len(ids)}
		for _, id := range ids {
			d.Events = append(d.Events, sized(event(job.Submit, id, 1), 1))
		}
		deliveries <- d
	}
	queued := func() (ids []string) {
		for _, j := range p.View("c").Queued {
			ids = append(ids, j.ID)
		}
		slices.Sort(ids)
		return ids
	}
	eventually := func(what string, cond func() bool) {
		t.Helper()
		patience := time.After(time.Minute)
		for {
			published := p.Published()
			if cond() {
				return
			}
			select {
			case <-published:
			case <-patience:
				t.Fatalf("waited in vain for %s: %v", what, queued())
			}
		}
	}
	tell(log, "first", "1")
	eventually("the first job", func() bool { return slices.Equal(queued(), []string{"1"}) })
	writer := p.writers["c"]

	broken := errors.New("cannot be opened")
	err := p.ReplaceSources(t.Context(), func(checkpoints map[string][]byte) ([]source.Config, error) {
		if string(checkpoints["log"]) != "first" {
			t.Errorf("the checkpoint is %q", checkpoints["log"])
		}
		return nil, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("sources that cannot be opened: %v", err)
	}
	tell(log, "second", "2")
	eventually("the second job", func() bool { return slices.Equal(queued(), []string{"1", "2"}) })

	other := *log
	other.Name = "other"
	err = p.ReplaceSources(t.Context(), func(checkpoints map[string][]byte) ([]source.Config, error) {
		if string(checkpoints["log"]) != "second" {
			t.Errorf("the checkpoint is %q", checkpoints["log"])
		}
		tell(log, "third", "3") // from the old reader, too late for the writer
		return []source.Config{other}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	statuses := p.View("c").Sources
	if len(statuses) != 1 || statuses[0].Name != "other" || statuses[0].CaughtUp {
		t.Errorf("the sources are %+v", statuses)
	}
	tell(&other, "fourth", "2", "3", "4") // the second line is known already
	eventually("the other source", func() bool { return slices.Equal(queued(), []string{"1", "2", "3", "4"}) })
	close(deliveries)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if p.writers["c"] != writer {
		t.Error("the state is another one")
	}
	submitted := map[string]string{}
	for _, e := range keeps(t, store, p).Entries {
		if e.Event.Kind == job.Submit {
			if submitted[e.Event.ID] != "" {
				t.Errorf("job %s is in the journal twice", e.Event.ID)
			}
			submitted[e.Event.ID] = e.Source
		}
	}
	for id, from := range map[string]string{"1": "log", "2": "log", "3": "other", "4": "other"} {
		if submitted[id] != from {
			t.Errorf("job %s was told of by %q, want %q", id, submitted[id], from)
		}
	}
}

// TestReplaceSourcesWaitsNoLongerThanAsked proves that ReplaceSources returns the cause of its context, and changes
// nothing, if the writer is busy until the context ends.
func TestReplaceSourcesWaitsNoLongerThanAsked(t *testing.T) {
	p, _ := newPipeline(testConfig(), nil, collector.Live) // no writer runs
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	err := p.ReplaceSources(ctx, func(map[string][]byte) ([]source.Config, error) {
		t.Error("it was called")
		return nil, nil
	})
	if !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

// TestReplaceSourcesReadsTheStoreFirst proves that ReplaceSources returns the store's error, and changes nothing, if
// the store cannot be read.
func TestReplaceSourcesReadsTheStoreFirst(t *testing.T) {
	store := newStore(t)
	p, _ := newPipeline(testConfig(), store, collector.Live)
	deliveries, ended := make(chan *source.Delivery), make(chan error, 1)
	go func() { ended <- p.Run(t.Context(), deliveries) }()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	err := p.ReplaceSources(t.Context(), func(map[string][]byte) ([]source.Config, error) {
		t.Error("the readers were stopped")
		return nil, nil
	})
	if !errors.Is(err, modelstore.ErrClosed) {
		t.Errorf("%v, want that the store is closed", err)
	}
	close(deliveries)
	if err := <-ended; err != nil {
		t.Error(err) // the store is closed, but the writer has nothing to save
	}
}
