package pipeline

import (
	"context"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
)

// The state of the load forecast is stored beside the snapshots, not in them: it has up to some 35 MB, and snapshots
// are made every minute. It takes the place of a checkpoint, in a transaction of its own: if there is no room for it,
// everything else goes on.

// loadKey is where the state of a cluster's load forecast is kept; no source can have that name.
func loadKey(cluster string) string { return cluster + "/.load" }

// saveLoads stores the states of load forecasts that were saved since the last call.
func (p *Pipeline) saveLoads(ctx context.Context) {
	var batch modelstore.Batch
	for name, l := range p.writers {
		if l.load == nil {
			continue
		}
		if data := l.load.TakeSaved(); data != nil {
			batch.Checkpoints = append(batch.Checkpoints, modelstore.Checkpoint{Source: loadKey(name), Data: data})
		}
	}
	if len(batch.Checkpoints) == 0 {
		return
	}
	if err := p.store.Commit(ctx, batch); err != nil && ctx.Err() == nil {
		p.metrics.StoreErrors.Inc()
		p.log.Warn("cannot store what was learned of the load: learning goes on, and it is stored later", zap.Error(err))
	}
}

// finishLoads saves and stores the states of the load forecasts at an orderly end.
func (p *Pipeline) finishLoads() {
	for _, l := range p.writers {
		if l.load != nil {
			l.load.Finish()
		}
	}
	p.saveLoads(context.Background())
}

// beginLoads passes the stored states to the load forecasts, before the journal is replayed.
func (p *Pipeline) beginLoads(ctx context.Context) error {
	if !p.cfg.Load {
		return nil
	}
	saved, err := p.store.Checkpoints(ctx)
	if err != nil {
		return err
	}
	for name, l := range p.writers {
		l.load.BeginReplay(saved[loadKey(name)])
	}
	return nil
}

// endLoads ends what beginLoads began.
func (p *Pipeline) endLoads() {
	for _, l := range p.writers {
		if l.load != nil {
			l.load.EndReplay(l.state)
		}
	}
}
