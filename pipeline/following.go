package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"go.uber.org/zap"
)

// ErrConfigChanged is returned by Follow when a configuration key on which state depends has changed, or when the
// collecting daemon has learnt another history. The follower must then restart.
var ErrConfigChanged = errors.New("the configuration of the collecting daemon has changed, or it has learnt a history")

// FollowedSource names the only source of a cluster in a following pipeline, the journal of another process. The full
// name of the source has the name of the cluster and a slash before it.
const FollowedSource = "database"

// Wait waits until the store may have entries after the given number. It also returns at intervals without such
// entries. problem says why entries may have stopped for good, and is empty if nothing suggests that.
type Wait func(ctx context.Context, after int64) (problem string, err error)

// Follow folds another process's journal until ctx ends. It is called after Restore, in place of Run. It folds the
// same events in the same order as that process, so it gets the same forecasts. It returns an error only if it cannot
// continue: ErrConfigChanged, or the error of a damaged or closed store.
func (p *Pipeline) Follow(ctx context.Context, fingerprint string, wait Wait) error {
	p.run = ctx
	for name, l := range p.writers {
		l.known = nil // forgotten jobs are not looked up, because the journal has the derived events too
		source := name + "/" + FollowedSource
		status := readmodel.SourceStatus{Name: source, CaughtUp: true, Since: p.now()}
		p.sources[source] = &sourceState{cluster: name, status: status}
	}
	p.publish()
	var problem string
	again := backoff.NewExponentialBackOff()
	for {
		err := p.followOnce(ctx, fingerprint, wait, &problem)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrConfigChanged) || hopeless(err):
			return err
		case err == nil:
			again.Reset()
			continue
		}
		p.storeFails(cannotRead, err)
		p.log.Warn("cannot read the database: answers go on from what is known", zap.Error(err))
		p.note(*p.storeProblem.Load())
		pause := time.NewTimer(again.NextBackOff())
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// followOnce waits for more entries, and folds them. told is the problem that the last wait reported; the problem of
// this wait replaces it, unless the wait was ended early to publish a view.
func (p *Pipeline) followOnce(ctx context.Context, fingerprint string, wait Wait, told *string) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if p.owes() {
		waiting, cancel = context.WithTimeout(ctx, publishEvery)
	}
	defer cancel()
	problem, err := wait(waiting, p.seq)
	p.heartbeat.beat()
	if err != nil {
		if waiting.Err() == nil || ctx.Err() != nil {
			return err
		}
		problem = *told // the wait only timed out
	}
	_, err = p.checkFingerprint(ctx, fingerprint)
	if err := errors.Join(err, p.checkLearnt(ctx)); err != nil {
		return err
	}
	if _, err := p.replay(ctx, p.seq); err != nil {
		return err
	}
	p.storeWorks()
	*told = problem
	if problem != "" {
		p.note(readmodel.Condition{Name: readmodel.NoCollector, File: plain(p.cfg.StoreName), Reason: plain(problem)})
	} else {
		p.note()
	}
	return nil
}

// note gives every source the given problems, which prevent the journal from growing. They replace the problems that
// the source had before. Then note publishes views.
func (p *Pipeline) note(problems ...readmodel.Condition) {
	now := p.now()
	for _, in := range p.sources {
		own := slices.Clone(problems)
		for i := range own {
			own[i].Cluster, own[i].Source = in.cluster, in.status.Name
		}
		setConditions(&in.status, readmodel.Condition.HidesSource, now, own...)
	}
	p.publish()
}
