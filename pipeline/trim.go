package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
)

const (
	// trimEvery is how often the history of a cluster is searched for events that are too old, in event time.
	trimEvery = 24 * time.Hour
	// trimMost is the maximum number of chunks of a history that are dropped at once, while the writer's other work
	// waits.
	trimMost = 50
)

// trimHistories drops the oldest events of histories, in whole chunks, if these events are older than HistoryRetention.
// States that have learnt them do not change; a later rebuild begins with the remaining events. A history is kept if
// all its events are older: it was imported on purpose, from an archive.
func (p *Pipeline) trimHistories(ctx context.Context) error {
	for name, w := range p.writers {
		h := p.histories.inForce[name]
		if _, unlearnt := p.unlearnt.of(name); h == nil || unlearnt { // a rebuild reads the chunks, or they are damaged
			continue
		}
		newest := later(h.To, w.state.Now())
		if newest.Before(p.histories.trimmed[name].Add(trimEvery)) {
			continue
		}
		oldest := newest.Add(-p.cfg.HistoryRetention)
		if h.To.Before(oldest) {
			continue
		}
		kept, err := h.Trim(ctx, p.store, name, oldest, trimMost)
		if err == nil && kept != h {
			err = p.putTrimmed(ctx, name, h, kept)
		}
		if err != nil {
			return fmt.Errorf("history of cluster %s: %w", name, err)
		}
		if kept.First < h.First+trimMost {
			p.histories.trimmed[name] = newest
		}
	}
	return nil
}

// putTrimmed puts the history now in force. It is the history before without some of the oldest chunks. Then putTrimmed
// empties these chunks in the store. If a crash prevents that, they remain but are never read.
func (p *Pipeline) putTrimmed(ctx context.Context, name string, before, now *past.History) error {
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := p.store.SetMeta(ctx, past.InForceKey(name), string(text)); err != nil {
		return err
	}
	p.histories.inForce[name] = now
	p.log.Info("events of a history are older than history_retention and were dropped", zap.String("cluster", name),
		zap.Int64("events", before.Events-now.Events), zap.Time("from", now.From))
	empty, err := past.EmptyChunk()
	if err != nil {
		return err
	}
	for n := before.First; n < now.First; n++ {
		c := modelstore.HistoryChunk{Cluster: name, ID: now.ID, Part: past.EventsPart, N: n, Data: empty}
		if err := p.store.PutHistory(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
