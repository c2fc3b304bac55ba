package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// Several daemons share a PostgreSQL database. A daemon that collects holds the lease on its space. One that finds it
// held by another of the same configuration stands by: it answers from the other's journal, and takes over when the
// lease runs out.

// shapeKey is the key under which a collecting daemon stores the part of its configuration that others need to follow
// its journal; fingerprintKey is that of package pipeline.
const (
	shapeKey       = "shape"
	fingerprintKey = "fingerprint"
)

// leasePolls is how often within the time of a lease a standby checks it.
const leasePolls = 4

// errTakeOver ends a core that stands by: the lease is free.
var errTakeOver = errors.New("nobody holds the lease any more")

// OtherConfigError says that a space is collected by a daemon whose configuration shapes another state.
type OtherConfigError struct {
	Space, Holder string
}

// Error implements error.
func (e *OtherConfigError) Error() string {
	return fmt.Sprintf("space %q of store.url is collected by %s with another configuration: "+
		"give this daemon's a name of its own (store.space), or both the same clusters and models", e.Space, e.Holder)
}

// takeLease acquires the right to collect into the space, if the database is shared. Its loss fails the core.
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
	if err := c.publishShape(ctx); err != nil {
		return errors.Join(err, c.leaveLease())
	}
	c.opts.Log.Info("collecting",
		zap.String("space", c.shared.Space()), zap.String("holder", lease.Holder()), zap.Int64("lease", lease.Epoch()))
	return nil
}

// leaveLease gives the right to collect back.
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

// publishShape stores the part of the configuration that daemons which follow the journal need.
func (c *collectingCore) publishShape(ctx context.Context) error {
	shape, err := c.cfg.MarshalShape()
	if err != nil {
		return err
	}
	old, err := c.shared.Meta(ctx, shapeKey)
	if err != nil || old == string(shape) {
		return err
	}
	return c.shared.SetMeta(ctx, shapeKey, string(shape))
}

// processName is the name of this process in messages.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d (%s)", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// standBy waits until the lease is free, and ends the core then.
func (c *servingCore) standBy(ctx context.Context, store *postgres.Store) {
	poll := time.NewTicker(c.cfg.Store.Lease / leasePolls)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		h, err := store.Holding(ctx)
		if err == nil && !h.Held() {
			c.fail(errTakeOver)
			return
		}
	}
}

// databaseName returns the place of the database for messages, without a password.
func databaseName(cfg *config.Config) string {
	switch {
	case cfg.Store.URL == "":
		return cfg.Store.Path
	case cfg.ServeOnly:
		return "PostgreSQL, of others"
	}
	return "PostgreSQL, space " + cfg.Store.Space
}
