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
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/pipeline"
)

const (
	// spacesPollInterval is the time between two searches for new spaces, in a daemon that only serves.
	spacesPollInterval = 10 * time.Second
	// leasePollInterval is the time between two checks of the writer's lease, in a daemon that follows a journal.
	leasePollInterval = 2 * time.Second
)

// errSpaces ends a core that serves: there are others to serve now.
var errSpaces = errors.New("the spaces of the shared database have changed")

// served is one space that is answered from.
type served struct {
	name        string
	store       *postgres.Store
	pipeline    *pipeline.Pipeline
	fingerprint string
}

// serve makes the core answer from what other daemons collect. If it stands by it takes over once it can.
func (d *core) serve(ctx context.Context, standsBy bool) error {
	d.standsBy = standsBy
	metrics := pipeline.NewMetrics(d.registry)
	names, err := d.spaces(ctx)
	if err != nil {
		return err
	}
	var all []*served
	found := map[string]bool{}
	for _, name := range names {
		s, err := d.openServed(ctx, name, metrics)
		var missing *postgres.NoSpaceError
		switch {
		case errors.As(err, &missing):
			d.opts.Log.Warn("nothing to serve yet", zap.String("space", name), zap.Error(err))
		case err != nil:
			return fmt.Errorf("space %s: %w", name, err)
		case s != nil:
			found[name] = true
			if d.unique(all, s) {
				all = append(all, s)
			}
		}
	}
	for _, s := range all {
		d.pipelines, d.stores = append(d.pipelines, s.pipeline), append(d.stores, s.store)
	}
	views := newManyViews(d.pipelines)
	d.views = views
	if err := d.openAPI(d.refuseImport); err != nil {
		return err
	}
	d.follow(all, views, found)
	return nil
}

// spaces returns the names of those that are to be served.
func (d *core) spaces(ctx context.Context) ([]string, error) {
	if d.cfg.Store.Space != "" {
		return []string{d.cfg.Store.Space}, nil
	}
	return postgres.Spaces(ctx, d.cfg.Store.URL)
}

// openServed restores the state of a space; nil if its collector has not begun yet.
func (d *core) openServed(ctx context.Context, name string, metrics *pipeline.Metrics) (*served, error) {
	store, err := postgres.Open(ctx, d.cfg.Store.URL, postgres.Options{Space: name, ReadOnly: true, Log: d.opts.Log})
	if err != nil {
		return nil, err
	}
	d.stopping = append(d.stopping, store.Close)
	shape, err := store.Meta(ctx, shapeKey)
	if err != nil || shape == "" {
		return nil, err
	}
	cfg, err := d.cfg.WithShape([]byte(shape))
	if err != nil {
		return nil, err
	}
	s := &served{name: name, store: store}
	if s.fingerprint, err = store.Meta(ctx, fingerprintKey); err != nil || s.fingerprint == "" {
		return nil, err
	}
	shaped := d.pipelineConfig(cfg)
	shaped.Follows = true
	if s.pipeline, err = pipeline.New(shaped, store, d.opts.Now, d.opts.Log, metrics); err != nil {
		return nil, err
	}
	d.stopping = append(d.stopping, func() error {
		s.pipeline.Close()
		return nil
	})
	return s, s.pipeline.Restore(ctx, s.fingerprint)
}

// unique reports whether none of the clusters of a space is in another one: their names are all that tells them apart.
func (d *core) unique(all []*served, s *served) bool {
	for _, v := range s.pipeline.Views() {
		for _, other := range all {
			if other.pipeline.View(v.Cluster) != nil {
				d.opts.Log.Error("two spaces have a cluster of the same name; the second space is not served: rename its cluster, or choose one with store.space",
					zap.String("cluster", v.Cluster), zap.String("served", other.name), zap.String("not_served", s.name))
				return false
			}
		}
	}
	return true
}

// follow begins to follow the journals.
func (d *core) follow(all []*served, views *manyViews, found map[string]bool) {
	ctx, stop := context.WithCancel(context.Background())
	for _, s := range all {
		d.background.Go(func() {
			if err := s.pipeline.Follow(ctx, s.fingerprint, s.wait()); err != nil {
				d.fail(err)
			}
		})
		d.background.Go(func() { views.listen(ctx, s.pipeline) })
		if d.standsBy {
			d.background.Go(func() { d.standBy(ctx, s.store) })
		}
	}
	d.background.Go(func() { d.watchSpaces(ctx, found) })
	d.stopping = append(d.stopping, func() error {
		stop()
		d.background.Wait()
		return nil
	})
}

// wait returns what waits for more of a journal.
func (s *served) wait() pipeline.Wait {
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

// watchSpaces fails the core when there is a space to serve that is not among those that were found: its collector has begun.
func (d *core) watchSpaces(ctx context.Context, found map[string]bool) {
	tick := time.NewTicker(min(spacesPollInterval, d.cfg.Store.Lease))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		names, err := d.spaces(ctx)
		if err != nil {
			continue // the journals tell that the database is away
		}
		for _, name := range names {
			if !found[name] && d.begun(ctx, name) {
				d.fail(errSpaces)
				return
			}
		}
	}
}

// begun reports whether the collector of a space has left what it takes to follow.
func (d *core) begun(ctx context.Context, name string) bool {
	store, err := postgres.Open(ctx, d.cfg.Store.URL, postgres.Options{Space: name, ReadOnly: true, Log: d.opts.Log})
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

// refuseImport is the api.ImportFunc of a daemon that reads nothing.
func (d *core) refuseImport(context.Context, api.ImportRequest, func(wire.ImportProgress)) (*wire.ImportReport, error) {
	return nil, &api.Refused{Status: http.StatusConflict, Detail: "this daemon does not collect: it answers from what another one writes",
		Hint: "import through the daemon that collects"}
}
