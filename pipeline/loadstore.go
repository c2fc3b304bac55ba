package pipeline

import (
	"context"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
)

// The state of the load forecast is stored as a saved model, not in the snapshots: the state has up to 35 MB, and by
// default a snapshot is made every minute. It is stored in its own transaction, so that everything else continues if
// there is no disk space for it.

// loadKey returns the name of the saved model that has a cluster's load forecast.
func loadKey(cluster string) string { return cluster + "/load" }

// oldLoadKey returns the key under which the load forecast was stored among the checkpoints, before stores had saved
// models. No source can have that name.
func oldLoadKey(cluster string) string { return cluster + "/.load" }

// saveLoads stores the states that the load forecasts have produced since the last call, and deletes the checkpoints
// under oldLoadKey. If that fails, it logs the error.
func (p *Pipeline) saveLoads(ctx context.Context) {
	var batch modelstore.Batch
	for name, l := range p.writers {
		if l.load == nil || l.stopped != nil {
			continue
		}
		if saved := l.load.TakeSaved(); saved != nil {
			model := modelstore.SavedModel{Name: loadKey(name), Seq: saved.Seq, Data: saved.Data}
			batch.Models = append(batch.Models, model)
			if key := oldLoadKey(name); p.saved[key] != nil {
				// A checkpoint without data is deleted.
				batch.Checkpoints = append(batch.Checkpoints, modelstore.Checkpoint{Source: key})
			}
		}
	}
	if batch.Empty() {
		return
	}
	if err := p.store.Commit(ctx, batch); err != nil {
		if ctx.Err() == nil {
			p.metrics.StoreErrors.Inc()
			p.log.Warn("cannot store what was learned of the load: learning goes on, and it is stored later",
				zap.Error(err))
		}
		return
	}
	for _, c := range batch.Checkpoints {
		delete(p.saved, c.Source)
	}
}

// finishLoads saves and stores the states of the load forecasts at an orderly end.
func (p *Pipeline) finishLoads() {
	for _, l := range p.writers {
		if l.load != nil && l.stopped == nil {
			l.load.Finish()
		}
	}
	p.saveLoads(context.Background())
}

// beginLoads passes the stored states to the load forecasts. It is called before the journal is replayed.
func (p *Pipeline) beginLoads(ctx context.Context) error {
	if !p.cfg.Load {
		return nil
	}
	models, err := p.store.Models(ctx)
	if err != nil {
		return err
	}
	for name, l := range p.writers {
		saved, ok := models[loadKey(name)]
		if !ok {
			saved.Data = p.saved[oldLoadKey(name)]
		}
		_ = p.guard(name, nil, func() error { // it returns no error
			l.load.BeginReplay(saved.Data)
			return nil
		})
	}
	return nil
}

// endLoads ends the replay that beginLoads began.
func (p *Pipeline) endLoads() {
	for name, l := range p.writers {
		if l.load == nil {
			continue
		}
		_ = p.guard(name, nil, func() error { // it returns no error
			l.load.EndReplay(p.seq, l.state)
			return nil
		})
	}
}
