package past

import (
	"context"
	"fmt"
	"time"

	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// Chunks is the part of a store from which the chunks of histories are read.
type Chunks interface {
	HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error)
}

// Events reads the events of a stored history in the order of their times, chunk by chunk.
type Events struct {
	from        Chunks
	cluster, id string
	chunk       int
	loaded      []job.Event
	next        int
	over        bool
}

// NewEvents returns a reader that begins with the first event of a cluster's history.
func NewEvents(from Chunks, cluster string, of *History) *Events {
	return &Events{from: from, cluster: cluster, id: of.ID, chunk: of.First}
}

// Peek returns the next event, nil after the last one. It does not advance. The event is valid until the next call of
// Peek. Errors come from the store; the error for a damaged chunk wraps modelstore.ErrCorrupt.
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

// Pass advances by one event. The next Peek returns the event after the one that it returned before.
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

// EmptyChunk returns a chunk without events. It replaces stored chunks whose events are dropped.
func EmptyChunk() ([]byte, error) { return history.EncodeChunk(nil) }

// Trim returns the description of the history h without some of its first chunks. It removes at most the given number
// of chunks, and only chunks whose events are all before the given instant. It does not change the store. If no chunk
// can be removed, it returns h itself.
func (h *History) Trim(ctx context.Context, from Chunks, cluster string, before time.Time, most int) (*History, error) {
	kept := *h
	for dropped := 0; ; dropped++ {
		e := NewEvents(from, cluster, &kept)
		first, err := e.Peek(ctx)
		if err != nil {
			return nil, err
		}
		if first == nil { // no event is left
			break
		}
		kept.From = first.Time
		if last := &e.loaded[len(e.loaded)-1]; dropped == most || !last.Time.Before(before) {
			break
		}
		for i := range e.loaded {
			if e.loaded[i].Kind == job.Submit {
				kept.Submissions--
			}
		}
		kept.From = e.loaded[len(e.loaded)-1].Time
		kept.Events -= int64(len(e.loaded))
		kept.First = e.chunk
	}
	if kept.First == h.First {
		return h, nil
	}
	return &kept, nil
}
