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
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// Several daemons share a PostgreSQL database. A daemon that collects holds the lease on its space; one that finds it held by another of the same configuration stands
// by: it answers from the other's journal, and takes over when the lease runs out.

// shapeKey is where a collecting daemon leaves the part of its configuration that others need to follow its journal; fingerprintKey is pipeline's.
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
	return fmt.Sprintf("space %q of store.url is collected by %s with another configuration: give this daemon's a name of its own (store.space), or both the same clusters and models",
		e.Space, e.Holder)
}

// openShared opens the space to collect into. The lease's loss fails the core.
func (d *core) openShared(ctx context.Context) (modelstore.Store, error) {
	store, err := postgres.Open(ctx, d.cfg.Store.URL, postgres.Options{Space: d.cfg.Store.Space, Log: d.opts.Log})
	if err != nil {
		return nil, err
	}
	lease, err := store.Acquire(ctx, processName(), d.cfg.Store.Lease)
	if err != nil {
		var held *postgres.HeldError
		if errors.As(err, &held) {
			err = errors.Join(err, d.differs(ctx, store, held))
		}
		return nil, errors.Join(err, store.Close())
	}
	keeping, stop := context.WithCancel(context.Background())
	d.background.Go(func() {
		if err := lease.Keep(keeping); err != nil {
			d.fail(err)
		}
	})
	d.stopping = append(d.stopping, store.Close, func() error {
		stop()
		d.background.Wait()
		return nil
	})
	if err := d.publishFingerprint(ctx, store); err != nil {
		return nil, err
	}
	d.opts.Log.Info("collecting", zap.String("space", store.Space()), zap.String("holder", lease.Holder()), zap.Int64("lease", lease.Epoch()))
	return store, nil
}

// differs returns an *OtherConfigError if the holder of the lease has another configuration.
func (d *core) differs(ctx context.Context, store modelstore.Store, held *postgres.HeldError) error {
	theirs, err := store.Meta(ctx, fingerprintKey)
	if err != nil || theirs == "" || theirs == d.cfg.Fingerprint() {
		return err
	}
	return &OtherConfigError{Space: held.Space, Holder: held.Holder}
}

// publishFingerprint stores the parts of the configuration that daemons which follow need.
func (d *core) publishFingerprint(ctx context.Context, store modelstore.Store) error {
	shape, err := d.cfg.MarshalShape()
	if err != nil {
		return err
	}
	old, err := store.Meta(ctx, shapeKey)
	if err != nil || old == string(shape) {
		return err
	}
	return store.SetMeta(ctx, shapeKey, string(shape))
}

// processName is the name of this process in messages.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d (%s)", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// standBy waits until the lease is free.
func (d *core) standBy(ctx context.Context, store *postgres.Store) {
	look := time.NewTicker(d.cfg.Store.Lease / leasePolls)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		h, err := store.Holding(ctx)
		if err == nil && !h.Held() {
			d.fail(errTakeOver)
			return
		}
	}
}

// databaseName says where the state is kept, without a password.
func databaseName(cfg *config.Config) string {
	switch {
	case cfg.Store.URL == "":
		return cfg.Store.Path
	case cfg.ServeOnly:
		return "PostgreSQL, of others"
	}
	return "PostgreSQL, space " + cfg.Store.Space
}
