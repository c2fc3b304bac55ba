package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// recoverCore replaces a failed core by a new one if that helps. It helps in three cases: the core has lost the lease
// of a shared database; the core can take over the lease; or the collector's configuration or the set of spaces to
// serve has changed. Any other failure ends the daemon. ctx ends when another goroutine replaces the core.
func (d *Daemon) recoverCore(ctx context.Context, failed core, why error) {
	if !errors.Is(why, errTakeOver) && !errors.Is(why, errSpaces) &&
		!errors.Is(why, pipeline.ErrConfigChanged) && !errors.Is(why, modelstore.ErrLeaseLost) {
		d.fail(why)
		return
	}
	d.opts.Log.Info("beginning again", zap.String("because", why.Error()))
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, d.replaceFailed(ctx, failed)
	}, backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, next time.Duration) {
		d.opts.Log.Error("cannot restart: answers continue from the old state", zap.Error(err),
			zap.Duration("next_try_in", next))
	}))
	if err != nil && ctx.Err() == nil {
		d.fail(err)
	}
}

// replaceFailed replaces a failed core.
func (d *Daemon) replaceFailed(ctx context.Context, failed core) error {
	if !d.changing.TryLock() { // a stop or a reload is under way and will cancel ctx
		return errors.New("the daemon is being changed otherwise")
	}
	defer d.changing.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := failed.drain(); err != nil {
		d.opts.Log.Info("closing what failed", zap.Error(err))
	}
	c, err := d.newCore(context.WithoutCancel(ctx), d.cfg)
	if err != nil {
		return err
	}
	d.swap(c)
	return nil
}
