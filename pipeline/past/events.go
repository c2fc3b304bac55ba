package past

import (
	"context"
	"fmt"

	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// Chunks gives the chunks of histories: a store.
type Chunks interface {
	HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error)
}

// Events reads the events of a history in their order, chunk by chunk.
type Events struct {
	from        Chunks
	cluster, id string
	chunk       int
	loaded      []job.Event
	next        int
	over        bool
}

// NewEvents returns a reader of the events of a cluster's history.
func NewEvents(from Chunks, cluster, id string) *Events {
	return &Events{from: from, cluster: cluster, id: id}
}

// Peek returns the next event, nil after the last. The event is valid until the next call of Peek. An error is the
// store's; one of a damaged chunk wraps modelstore.ErrCorrupt.
func (e *Events) Peek(ctx context.Context) (*job.Event, error) {
	for e.next == len(e.loaded) && !e.over {
		if err := e.load(ctx); err != nil {
			return nil, err
		}
	}
	if e.over {
		return nil, nil //nolint:nilnil // there is none: not an error
	}
	return &e.loaded[e.next], nil
}

// Pass goes on to the event behind the one that Peek returned.
func (e *Events) Pass() { e.next++ }

func (e *Events) load(ctx context.Context) error {
	data, err := e.from.HistoryChunk(ctx, e.cluster, e.id, EventsPart, e.chunk)
	if err != nil {
		return err
	}
	e.loaded, e.next = e.loaded[:0], 0
	if data == nil {
		e.over = true
		return nil
	}
	err = history.DecodeChunk(data, func(ev *history.Event) error {
		ev.Cluster, ev.Live = e.cluster, false
		e.loaded = append(e.loaded, ev.Event)
		return nil
	})
	if err != nil {
		return fmt.Errorf("history of cluster %s, chunk %d of its events: %w: %w", e.cluster, e.chunk,
			modelstore.ErrCorrupt, err)
	}
	e.chunk++
	return nil
}
