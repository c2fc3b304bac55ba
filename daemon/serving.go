package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/pipeline"
)

const (
	// spacesPollInterval is the time between two searches for new spaces by a daemon that only serves.
	spacesPollInterval = 10 * time.Second
	// leasePollInterval is the time between two checks of the writer's lease by a daemon that follows a journal.
	leasePollInterval = 2 * time.Second
)

// errSpaces ends a serving core because the set of spaces to serve has changed.
var errSpaces = errors.New("the spaces of the shared database have changed")

// servedSpace is a space whose clusters this daemon answers requests about.
type servedSpace struct {
	name        string
	store       *postgres.Store
	pipeline    *pipeline.Pipeline
	fingerprint string
}

// servingCore answers requests from spaces that other daemons write in a shared database.
type servingCore struct {
	*coreParts
	standsBy bool            // standsBy is true if the daemon takes over once the lease is free
	own      *postgres.Store // the store of the space that the daemon would take over; nil while there is no such space
	spaces   []*servedSpace
	// The spaces that are served, and those that are not served only because another space has a cluster with the
	// same name.
	found    map[string]bool
	views    *manyViews
	unfollow context.CancelFunc
}

// open implements core.
func (c *servingCore) open(ctx context.Context) error {
	return c.steps.start(ctx,
		step{name: "data folder", start: c.makeDataFolder},
		step{name: "spaces", start: c.openSpaces},
		step{name: "HTTP interface", start: c.openWeb},
	)
}

// restore implements core.
func (c *servingCore) restore(ctx context.Context) error {
	for _, s := range c.spaces {
		if err := c.steps.start(ctx, step{
			name:  "saved state of space " + s.name,
			start: func(ctx context.Context) error { return s.pipeline.Restore(ctx, s.fingerprint) },
		}); err != nil {
			return err
		}
	}
	return c.steps.start(ctx,
		step{name: "followers", start: c.follow, stop: c.stopFollowing},
		step{start: c.endRestore},
	)
}

// reloadSources implements core. It does nothing, because the daemon that collects reads the sources. New sources
// take effect when this daemon takes over.
func (c *servingCore) reloadSources(context.Context, *config.Config) error { return nil }

// openSpaces opens the spaces to serve, each as its own step.
func (c *servingCore) openSpaces(ctx context.Context) error {
	metrics := pipeline.NewMetrics(c.registry)
	names, err := c.spaceNames(ctx)
	if err != nil {
		return err
	}
	c.found = map[string]bool{}
	for _, name := range names {
		s, err := c.openSpace(ctx, name, metrics)
		var missing *postgres.NoSpaceError
		switch {
		case errors.As(err, &missing):
			c.opts.Log.Warn("nothing to serve yet", zap.String("space", name), zap.Error(err))
		case err != nil:
			return fmt.Errorf("space %s: %w", name, err)
		case s != nil:
			c.found[name] = true
			if c.unique(s) {
				c.spaces, c.pipelines = append(c.spaces, s), append(c.pipelines, s.pipeline)
			}
		}
	}
	return nil
}

// spaceNames returns the names of the spaces to serve.
func (c *servingCore) spaceNames(ctx context.Context) ([]string, error) {
	if c.cfg.Store.Space != "" {
		return []string{c.cfg.Store.Space}, nil
	}
	return postgres.Spaces(ctx, c.cfg.Store.URL)
}

// openSpace opens a space. It returns nil if the space's collector has not started yet.
func (c *servingCore) openSpace(ctx context.Context, name string, metrics *pipeline.Metrics) (*servedSpace, error) {
	store, err := postgres.Open(ctx, c.cfg.Store.URL, postgres.Options{Space: name, ReadOnly: true, Log: c.opts.Log})
	if err != nil {
		return nil, err
	}
	if c.standsBy { // standing by is possible even if the holder was killed before it stored anything
		c.own = store
	}
	s := &servedSpace{name: name, store: store}
	if err := c.steps.start(ctx, step{name: "database of space " + name, stop: store.Close}); err != nil {
		return nil, err
	}
	shape, err := store.Meta(ctx, shapeKey)
	if err != nil || shape == "" {
		return nil, err
	}
	cfg, err := c.cfg.WithShape([]byte(shape))
	if err != nil {
		return nil, err
	}
	if s.fingerprint, err = store.Meta(ctx, fingerprintKey); err != nil || s.fingerprint == "" {
		return nil, err
	}
	shaped := c.pipelineConfig(cfg)
	shaped.Follows = true
	if s.pipeline, err = pipeline.New(shaped, store, c.opts.Now, c.opts.Log, metrics); err != nil {
		return nil, err
	}
	return s, c.steps.start(ctx, step{name: "pipeline of space " + name, stop: func() error {
		s.pipeline.Close()
		s.pipeline.Release()
		return nil
	}})
}

// unique reports whether no other space has a cluster with the same name as a cluster of this space. Requests
// distinguish clusters by name only.
func (c *servingCore) unique(s *servedSpace) bool {
	for _, v := range s.pipeline.Views() {
		for _, other := range c.spaces {
			if other.pipeline.View(v.Cluster) != nil {
				c.opts.Log.Error("two spaces have a cluster of the same name; "+
					"the second space is not served: rename its cluster, or choose one with store.space",
					zap.String("cluster", v.Cluster), zap.String("served", other.name),
					zap.String("not_served", s.name))
				return false
			}
		}
	}
	return true
}

func (c *servingCore) openWeb(context.Context) error {
	var stores []modelstore.Store
	for _, s := range c.spaces {
		stores = append(stores, s.store)
	}
	c.views = newManyViews(c.pipelines)
	return c.openAPI(c.views, stores, refuseImport)
}

// follow starts to follow the journals.
func (c *servingCore) follow(context.Context) error {
	var ctx context.Context
	ctx, c.unfollow = context.WithCancel(context.Background())
	for _, s := range c.spaces {
		c.background.Go(func() {
			if err := s.pipeline.Follow(ctx, s.fingerprint, s.wait()); err != nil {
				c.fail(err)
			}
		})
		c.background.Go(func() { c.views.listen(ctx, s.pipeline) })
	}
	if c.standsBy {
		c.background.Go(func() { c.standBy(ctx, c.own) })
	}
	c.background.Go(func() { c.watchSpaces(ctx) })
	return nil
}

func (c *servingCore) stopFollowing() error {
	c.unfollow()
	c.background.Wait()
	return nil
}

// wait returns a function that waits until the journal of the space has more entries, at most for leasePollInterval.
// The function returns a text if no daemon collects into the space.
func (s *servedSpace) wait() pipeline.Wait {
	var version int64
	return func(ctx context.Context, _ int64) (string, error) {
		waiting, cancel := context.WithTimeout(ctx, leasePollInterval)
		defer cancel()
		v, err := s.store.Changed(waiting, version)
		switch {
		case err == nil:
			version = v
		case waiting.Err() == nil || ctx.Err() != nil:
			return "", err
		}
		h, err := s.store.Holding(ctx)
		if err != nil || h.Held() {
			return "", err
		}
		return fmt.Sprintf("no daemon collects into space %s", s.name), nil
	}
}

// watchSpaces fails the core when a space can be served that could not be served at the start.
func (c *servingCore) watchSpaces(ctx context.Context) {
	tick := time.NewTicker(min(spacesPollInterval, c.cfg.Store.Lease))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		names, err := c.spaceNames(ctx)
		if err != nil {
			continue // the followers of the journals report this error
		}
		for _, name := range names {
			if !c.found[name] && c.begun(ctx, name) {
				c.fail(errSpaces)
				return
			}
		}
	}
}

// begun reports whether the collector of a space has stored the part of its configuration that a follower needs.
func (c *servingCore) begun(ctx context.Context, name string) bool {
	store, err := postgres.Open(ctx, c.cfg.Store.URL, postgres.Options{Space: name, ReadOnly: true, Log: c.opts.Log})
	if err != nil {
		return false
	}
	defer func() { _ = store.Close() }() // nothing was written
	for _, key := range [...]string{shapeKey, fingerprintKey} {
		if value, err := store.Meta(ctx, key); err != nil || value == "" {
			return false
		}
	}
	return true
}

// refuseImport is the api.ImportFunc of a daemon that only serves. It returns an error.
func refuseImport(context.Context, api.ImportRequest, func(wire.ImportProgress)) (*wire.ImportReport, error) {
	return nil, &api.Refused{
		Status: http.StatusConflict, Detail: "this daemon does not collect: it answers from what another one writes",
		Hint: "import through the daemon that collects",
	}
}

// standBy waits until the lease is free. Then it ends the core, so that a collecting core can start. If store is nil,
// the space does not exist yet, and it has no lease.
func (c *servingCore) standBy(ctx context.Context, store *postgres.Store) {
	if store == nil {
		c.fail(errTakeOver)
		return
	}
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
