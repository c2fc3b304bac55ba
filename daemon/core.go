package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/pipeline"
)

// core is the part of a daemon that owns the database and the state in memory. There are two: collectingCore reads logs
// and writes, servingCore follows what another daemon writes. A core is working after start, resting after drain
// (nothing is read or written, requests are answered from what was published last), and useless once its webAPI is
// closed.
type core interface {
	// start begins the work. After an error, which names the step that failed, everything is undone.
	start(ctx context.Context) error
	// web returns the part that answers requests, with health, metrics and imports; the same for the core's life.
	web() *webAPI
	// reloadSources goes on with another configuration, which differs in keys of config.EffectSources and of cheaper
	// effects only. The state stays as it is. After an error nothing has changed.
	reloadSources(ctx context.Context, cfg *config.Config) error
	// failed delivers the error that keeps the core from going on, if one occurs.
	failed() <-chan error
	// idle returns how long the core has done nothing that it should do; 0 while it waits for a database that fails.
	idle() time.Duration
	// drain ends reading, saves the state and closes the database. A second call does nothing.
	drain() error
}

// startCore starts the core that a configuration asks for: one that collects; or, of a shared database, one that serves
// what others collect. own are metrics of the daemon that outlive a core.
func startCore(ctx context.Context, cfg *config.Config, opts Options, own ...prometheus.Collector) (core, error) {
	if cfg.ServeOnly {
		return started(ctx, &servingCore{coreParts: newCoreParts(cfg, opts, own)})
	}
	c, err := started(ctx, &collectingCore{coreParts: newCoreParts(cfg, opts, own)})
	var held *postgres.HeldError
	var other *OtherConfigError
	if !errors.As(err, &held) || errors.As(err, &other) {
		return c, err
	}
	opts.Log.Info("standing by", zap.String("space", held.Space), zap.String("collecting", held.Holder))
	return started(ctx, &servingCore{coreParts: newCoreParts(cfg, opts, own), standsBy: true})
}

// started starts a core.
func started(ctx context.Context, c core) (core, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// coreParts are the parts that both kinds of core have.
type coreParts struct {
	cfg        *config.Config
	opts       Options
	steps      lifecycle
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
		cfg: cfg, opts: opts, registry: prometheus.NewRegistry(), failure: make(chan error, 1),
		collecting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_collecting",
			Help: "1 if this daemon reads the logs, 0 if it answers from what another one collects.",
		}),
	}
	c.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		c.collecting)
	c.registry.MustRegister(own...)
	return c
}

// makeDataFolder is a step: a file of SQLite makes the folder, a shared database does not, and the admin token needs
// it.
func (c *coreParts) makeDataFolder(context.Context) error {
	if c.cfg.DataDir == "" {
		return nil
	}
	if err := os.MkdirAll(c.cfg.DataDir, 0o750); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	return nil
}

// web implements core.
func (c *coreParts) web() *webAPI { return c.api }

// failed implements core.
func (c *coreParts) failed() <-chan error { return c.failure }

// fail notes the first error that keeps the core from going on.
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
