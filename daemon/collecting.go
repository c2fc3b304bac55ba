package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/transfer"
	"github.com/waitcast/waitcast/pipeline"
)

// collectingCore reads the configured logs into a database and answers requests from its models.
type collectingCore struct {
	*coreParts
	store     modelstore.Store
	shared    *postgres.Store // the same store if the database is shared, nil otherwise
	stopLease context.CancelFunc
	metrics   *pipeline.Metrics
	pipeline  *pipeline.Pipeline
	// rebuildReason says what is different from the last start, if that may change the shape of the state.
	rebuildReason string

	tailMetrics *tail.Metrics
	pollMetrics *source.PollMetrics
	unknown     *unknownLines
	readers     *readerSet // readers read the configured sources; a reload replaces them
	imports     imports
	histories   histories

	reading     context.Context // the context of all readers
	stopReading context.CancelFunc
	deliveries  chan *source.Delivery
	writer      sync.WaitGroup
	unsaved     error              // why the writer could not save its state when it stopped
	abandon     context.CancelFunc // stops the writer before it has finished its work
}

// open implements core.
func (c *collectingCore) open(ctx context.Context) error {
	return c.steps.start(ctx,
		step{name: "data folder", start: c.makeDataFolder},
		step{name: "database", start: c.openDatabase, stop: c.closeDatabase},
		step{name: "lease", start: c.takeLease, stop: c.leaveLease},
		step{name: "database check", start: c.checkDatabase},
		step{name: "configuration of the last start", start: c.publishShape},
		step{name: "pipeline", start: c.makePipeline, stop: c.closePipeline},
		step{name: "HTTP interface", start: c.openWeb},
	)
}

// restore implements core.
func (c *collectingCore) restore(ctx context.Context) error {
	return c.steps.start(ctx,
		step{name: "saved state", start: c.restoreState},
		step{name: "sources", start: c.openSources, stop: c.closeSources},
		step{name: "imports", start: c.openImports, stop: c.closeImports},
		step{name: "writer", start: c.startWriter, stop: c.stopWriter},
		step{start: c.endRestore},
	)
}

// openDatabase opens the database to write.
func (c *collectingCore) openDatabase(ctx context.Context) error {
	recovered := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "waitcast_store_recovered",
		Help: "1 if the database was damaged at the start of the process and was set aside.",
	})
	c.registry.MustRegister(recovered)
	if c.cfg.Store.URL != "" {
		store, err := postgres.Open(ctx, c.cfg.Store.URL, postgres.Options{Space: c.cfg.Store.Space, Log: c.opts.Log})
		if err != nil {
			return err
		}
		c.store, c.shared = store, store
		return nil
	}
	store, err := sqlite.Open(ctx, c.cfg.Store.Path, sqlite.Options{Log: c.opts.Log, Now: time.Now})
	if err != nil {
		return err
	}
	c.store = store
	if r := store.Recovered(); r != nil {
		recovered.Set(1)
		c.opts.Log.Error("the database was damaged and has been set aside; the state is rebuilt from the logs",
			zap.Any("recovered", r))
	}
	return nil
}

func (c *collectingCore) closeDatabase() error { return c.store.Close() }

// checkDatabase returns an error if "waitcast store copy" has copied only a part of the database, because the daemon
// would never read the missing records again. It also notices if the database is not the one of the last start.
func (c *collectingCore) checkDatabase(ctx context.Context) error {
	from, err := c.store.Meta(ctx, transfer.UnfinishedKey)
	if err != nil {
		return err
	}
	if from != "" {
		return errors.New("waitcast store copy was interrupted while it copied into it: " +
			"run it again to its end, or begin with an empty database")
	}
	return c.compareStore(ctx, c.store)
}

// makePipeline creates the writer, with an empty state.
func (c *collectingCore) makePipeline(context.Context) error {
	c.metrics = pipeline.NewMetrics(c.registry)
	c.tailMetrics, c.pollMetrics = tail.NewMetrics(c.registry), source.NewPollMetrics(c.registry)
	c.unknown = c.newUnknownLines()
	cfg := c.pipelineConfig(c.cfg)
	cfg.Noticed, cfg.RebuildReason = c.noticed(), c.rebuildReason
	var err error
	c.pipeline, err = pipeline.New(cfg, c.store, c.opts.Now, c.opts.Log, c.metrics)
	c.pipelines = []*pipeline.Pipeline{c.pipeline}
	return err
}

func (c *collectingCore) closePipeline() error {
	c.pipeline.Close()
	c.pipeline.Release()
	return nil
}

func (c *collectingCore) restoreState(ctx context.Context) error {
	return c.pipeline.Restore(ctx, c.cfg.Fingerprint())
}

func (c *collectingCore) openWeb(context.Context) error {
	c.collecting.Set(1)
	return c.openAPI(collectingViews{c.pipeline, c}, []modelstore.Store{c.store}, c.takeImport)
}

// startWriter starts the goroutine of the writer, and the readers that send deliveries to it.
func (c *collectingCore) startWriter(context.Context) error {
	var writing context.Context
	writing, c.abandon = context.WithCancel(context.Background())
	c.reading, c.stopReading = context.WithCancel(context.Background())
	c.deliveries = make(chan *source.Delivery, queued)
	c.histories.start(c)
	c.startReaders()
	c.writer.Go(func() {
		switch err := c.pipeline.Run(writing, c.deliveries); {
		case err == nil:
		case c.reading.Err() != nil: // the core is stopping
			c.unsaved = err
		default:
			c.fail(err)
			c.stopReading()
		}
	})
	return nil
}

// stopWriter stops reading and lets the writer save its state. It abandons work that takes longer than stopGrace.
func (c *collectingCore) stopWriter() error {
	timer := time.AfterFunc(stopGrace, c.abandon)
	defer timer.Stop()
	c.stopReading()
	c.readers.wait()
	if err := c.closeImports(); err != nil { // before the writer stops: imports wait for it
		return err
	}
	c.histories.end()
	dropQueued(c.deliveries)
	close(c.deliveries)
	c.writer.Wait()
	c.abandon()
	if c.unsaved != nil {
		return fmt.Errorf("the state could not be saved, the next start rebuilds it from the journal: %w", c.unsaved)
	}
	return nil
}

// dropQueued removes the deliveries that wait for the writer when the daemon stops. The next start reads their lines
// again. Processing them at the stop could take many seconds if the lines are about large arrays.
func dropQueued(deliveries <-chan *source.Delivery) {
	for {
		select {
		case <-deliveries:
		default:
			return
		}
	}
}

// errBusy is the error of a reload if the writer stays busy for longer than stopGrace.
var errBusy = errors.New("the writer is busy, or waits for the database: see /readyz, and reload again later")

// reloadSources implements core. While the writer waits, reloadSources opens the new sources at the committed
// checkpoints and stops the old readers. Meanwhile requests are answered and imports continue.
func (c *collectingCore) reloadSources(ctx context.Context, cfg *config.Config) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopGrace, errBusy)
	defer cancel()
	before := c.readers
	err := c.pipeline.ReplaceSources(ctx, func(checkpoints map[string][]byte) ([]source.Config, error) {
		next, err := c.openReaders(cfg, checkpoints)
		if err != nil {
			return nil, err
		}
		if err := before.close(); err != nil {
			c.opts.Log.Warn("closing a source", zap.Error(err))
		}
		c.readers = next
		return next.configs(), nil
	})
	if err != nil {
		return err
	}
	c.cfg = cfg
	c.touchSources(before)
	c.startReaders()
	return nil
}

// startReaders starts to read the sources.
func (c *collectingCore) startReaders() {
	names := make([]string, 0, len(c.readers.all))
	for _, s := range c.readers.configs() {
		names = append(names, s.Name)
	}
	c.readers.start(c.reading, c.read)
	c.opts.Log.Info(followingText(len(names)), zap.Strings("sources", names))
}
