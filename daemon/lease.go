package daemon

import (
	"context"
	"errors"

	"github.com/waitcast/waitcast/modelstore/postgres"
	"go.uber.org/zap"
)

// takeLease acquires the right to write the space if the database is shared. If that right is lost later, the core
// fails.
func (c *collectingCore) takeLease(ctx context.Context) error {
	if c.shared == nil {
		return nil
	}
	lease, err := c.shared.Acquire(ctx, processName(), c.cfg.Store.Lease)
	if err != nil {
		var held *postgres.HeldError
		if errors.As(err, &held) {
			err = errors.Join(err, c.differs(ctx, held))
		}
		return err
	}
	keeping, stop := context.WithCancel(context.Background())
	c.stopLease = stop
	c.background.Go(func() {
		if err := lease.Keep(keeping); err != nil {
			c.fail(err)
		}
	})
	c.opts.Log.Info("collecting",
		zap.String("space", c.shared.Space()), zap.String("holder", lease.Holder()), zap.Int64("lease", lease.Epoch()))
	return nil
}

// leaveLease releases the right to write the space.
func (c *collectingCore) leaveLease() error {
	if c.stopLease != nil {
		c.stopLease()
	}
	c.background.Wait()
	return nil
}

// differs returns an *OtherConfigError if the holder of the lease has another configuration.
func (c *collectingCore) differs(ctx context.Context, held *postgres.HeldError) error {
	theirs, err := c.shared.Meta(ctx, fingerprintKey)
	if err != nil || theirs == "" || theirs == c.cfg.Fingerprint() {
		return err
	}
	return &OtherConfigError{Space: held.Space, Holder: held.Holder}
}
