package pipeline

import (
	"context"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
)

// saveLoads writes what is newly saved of the load.
func (p *Pipeline) saveLoads(ctx context.Context) {
	var batch modelstore.Batch
	for name, l := range p.writers {
		if l.load == nil {
			continue
		}
		if data := l.load.learner.take(); data != nil {
			batch.Checkpoints = append(batch.Checkpoints, modelstore.Checkpoint{Source: loadKey(name), Data: data})
		}
	}
	if len(batch.Checkpoints) == 0 {
		return
	}
	if err := p.store.Commit(ctx, batch); err != nil && ctx.Err() == nil {
		p.metrics.StoreErrors.Inc()
		p.log.Warn("cannot save what is learnt of the load: it goes on, and is saved later", zap.Error(err))
	}
}

// finishLoads saves what is learnt of the load at an orderly end.
func (p *Pipeline) finishLoads() {
	for _, l := range p.writers {
		if l.load != nil {
			l.load.learner.finish()
		}
	}
	p.saveLoads(context.Background())
}

// restoreLoads hands over what was saved of the load. Those who have it need not be told what the journal has.
func (p *Pipeline) restoreLoads(ctx context.Context) error {
	if !p.cfg.Load {
		return nil
	}
	saved, err := p.store.Checkpoints(ctx)
	if err != nil {
		return err
	}
	for name, l := range p.writers {
		l.load.replays = true
		if data := saved[loadKey(name)]; len(data) > 0 {
			l.load.paused = true
			l.load.learner.notify(loadNotification{kind: notifyState, bytes: data})
		}
	}
	return nil
}

// agreeLoads ends what restoreLoads began.
func (p *Pipeline) agreeLoads() {
	for _, l := range p.writers {
		if l.load != nil {
			l.load.restored(l.state)
		}
	}
}
