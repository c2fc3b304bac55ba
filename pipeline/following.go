package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
)

// ErrReshaped tells who follows that the configuration that shapes the state is another one now: what it has is of no use, and it must begin again with that configuration.
var ErrReshaped = errors.New("the configuration of the collecting daemon has changed")

// FollowedSource is the name, behind that of the cluster, of what a pipeline that follows has in place of logs.
const FollowedSource = "database"

// Wait returns when the store may have more than the event with a number, and now and then besides. problem says why nothing may come any more, empty if all is well.
type Wait func(ctx context.Context, after int64) (problem string, err error)

// Follow keeps the pictures where another process's journal goes, until ctx ends; after Restore, in place of Run. It folds the same events in the same order and so comes to the same forecasts. It
// returns an error only where it cannot go on: ErrReshaped, a damaged or closed store.
func (p *Pipeline) Follow(ctx context.Context, fingerprint string, wait Wait) error {
	p.run = ctx
	for name, l := range p.lanes {
		l.known = nil // the journal knows every event of its own
		p.sources[name+"/"+FollowedSource] = &inlet{cluster: name, status: SourceStatus{Name: name + "/" + FollowedSource, CaughtUp: true, Since: p.now()}}
	}
	p.publish()
	var problem string
	again := backoff.NewExponentialBackOff()
	for {
		err := p.followOnce(ctx, fingerprint, wait, &problem)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrReshaped) || hopeless(err):
			return err
		case err == nil:
			again.Reset()
			continue
		}
		p.metrics.StoreErrors.Inc()
		p.metrics.StoreFailing.Set(1)
		p.storeProblem.Store(new(err.Error()))
		p.log.Warn("cannot read the database: answers go on from what is known", zap.Error(err))
		p.note("cannot read the database: "+err.Error(), &problem)
		pause := time.NewTimer(again.NextBackOff())
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// followOnce waits for more, and folds it.
func (p *Pipeline) followOnce(ctx context.Context, fingerprint string, wait Wait, told *string) error {
	problem, err := wait(ctx, p.seq)
	p.pulse.beat()
	if err != nil {
		return err
	}
	if err := p.checkFingerprint(ctx, fingerprint); err != nil {
		return err
	}
	if _, err := p.replay(ctx, p.seq); err != nil {
		return err
	}
	p.metrics.StoreFailing.Set(0)
	p.storeProblem.Store(nil)
	p.note(problem, told)
	return nil
}

// note publishes, with what keeps the journal from going on.
func (p *Pipeline) note(problem string, told *string) {
	if problem != *told {
		*told = problem
		for _, in := range p.sources {
			in.status.Problem, in.status.Since = problem, p.now()
		}
	}
	p.publish()
}
