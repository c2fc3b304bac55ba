package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// core is the part of a daemon that owns the database and the state in memory. There are two kinds. A collectingCore
// reads logs and writes. A servingCore follows the journal of another daemon. A core works after open and restore.
// After drain it neither reads nor writes, and it answers requests from the last published view. A core must not be
// used once its webAPI is closed.
type core interface {
	// open opens the database and the part that answers requests. Until restore is done, that part answers only what
	// needs no state. On error open undoes everything; the error names the step that failed.
	open(ctx context.Context) error
	// restore restores the state and starts all further work. It is called after open. On error it undoes everything,
	// what open did too.
	restore(ctx context.Context) error
	// web returns the part that answers requests about forecasts, health, metrics and imports. The part stays the
	// same as long as the core exists.
	web() *webAPI
	// reloadSources applies a configuration that differs from the present one only in keys of config.EffectSources, and
	// in keys whose effect needs less work. The state is kept. After an error nothing has changed.
	reloadSources(ctx context.Context, cfg *config.Config) error
	// restoring returns the condition of a core whose state is not restored yet, nil for any other.
	restoring() *readmodel.Condition
	// failed returns the channel that receives an error if the core cannot continue.
	failed() <-chan error
	// idle returns how long the core has not done work that is due. It returns 0 while the core waits for a database
	// that fails, and once drain was called.
	idle() time.Duration
	// drain stops reading, saves the state and closes the database. A second call has no effect.
	drain() error
}

// coreParts are the parts that both kinds of core have.
type coreParts struct {
	cfg        *config.Config
	opts       Options
	steps      lifecycle
	opened     time.Time   // by the injected clock
	restored   atomic.Bool // the state is restored
	registry   *prometheus.Registry
	collecting prometheus.Gauge
	api        *webAPI
	pipelines  []*pipeline.Pipeline
	draining   atomic.Bool
	background sync.WaitGroup
	failure    chan error
}

func newCoreParts(cfg *config.Config, opts Options, own []prometheus.Collector) *coreParts {
	c := &coreParts{
		cfg: cfg, opts: opts, registry: prometheus.NewRegistry(), failure: make(chan error, 1), opened: opts.Now(),
		collecting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_collecting",
			Help: "1 if this daemon reads the logs, 0 if it answers from data that another one collects.",
		}),
	}
	c.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		c.collecting)
	c.registry.MustRegister(own...)
	return c
}

// makeDataFolder is a step that creates data_dir for the admin token. When an SQLite file is opened, its folder is
// created anyway. A shared database has no folder.
func (c *coreParts) makeDataFolder(context.Context) error {
	if c.cfg.DataDir == "" {
		return nil
	}
	if err := os.MkdirAll(c.cfg.DataDir, 0o750); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	return nil
}

// restoring implements core.
func (c *coreParts) restoring() *readmodel.Condition {
	if c.restored.Load() {
		return nil
	}
	for _, p := range c.pipelines {
		if condition := p.Restoring(); condition != nil {
			return condition
		}
	}
	return &readmodel.Condition{Name: readmodel.StateRestoring, Reason: "reading the saved state", Since: c.opened}
}

// endRestore is the last step of restore.
func (c *coreParts) endRestore(context.Context) error {
	c.restored.Store(true)
	return nil
}

// web implements core.
func (c *coreParts) web() *webAPI { return c.api }

// failed implements core.
func (c *coreParts) failed() <-chan error { return c.failure }

// fail records the first error that prevents the core from continuing.
func (c *coreParts) fail(err error) {
	select {
	case c.failure <- err:
	default:
	}
}

// idle implements core.
func (c *coreParts) idle() time.Duration {
	var longest time.Duration
	for _, p := range c.pipelines {
		if !p.StoreFails() && !c.draining.Load() {
			longest = max(longest, p.Idle())
		}
	}
	return longest
}

// drain implements core.
func (c *coreParts) drain() error {
	c.draining.Store(true)
	return c.steps.stop()
}

// openAPI creates the part that answers requests. The function `take` imports recorded logs.
func (c *coreParts) openAPI(views api.Views, stores []modelstore.Store, take api.ImportFunc) error {
	rules, err := accessOptions(c.cfg, c.opts)
	if err != nil {
		return err
	}
	rules.Registry = c.registry
	guard, err := access.New(rules)
	if err != nil {
		return err
	}
	views = coreViews{views, c}
	w := &webAPI{opts: c.opts, registry: c.registry, views: views, stores: stores, guard: guard}
	admin := &api.Admin{Import: take, Quarantine: w.quarantine}
	if c.opts.Level != nil {
		admin.LogLevel = c.opts.Level
	}
	w.server = api.New(views, api.Options{
		Version: c.opts.Version, StaleAfter: c.cfg.StaleAfter, Now: c.opts.Now, Registry: c.registry, Log: c.opts.Log,
		SimulatedSpeed: c.opts.SimulatedSpeed,
		Accuracy:       w.accuracy, History: w.history, Recent: w.recent, Guard: guard, WasReady: c.opts.wasReady,
		Restoring: c.restoring,
		MostBody:  int64(c.cfg.Limits.Body), Admin: admin,
	})
	c.api = w
	return nil
}

// pipelineConfig returns the configuration for a pipeline that makes forecasts.
func (c *coreParts) pipelineConfig(cfg *config.Config) pipeline.Config {
	out := PipelineConfig(cfg, true)
	out.Engine.Cores = c.opts.Cores
	return out
}
