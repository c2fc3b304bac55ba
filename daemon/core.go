package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/transfer"
	"github.com/waitcast/waitcast/pipeline"
)

// core is all of a daemon that its configuration shapes: store, pipeline, readers and what answers requests. A reload replaces it as a whole, while the listener stays.
// It goes through three states: working, resting (nothing is read or written any more, but what was published last is still answered from), closed.
type core struct {
	cfg       *config.Config
	opts      Options
	registry  *prometheus.Registry
	views     api.Views
	stores    []modelstore.Store // that the ledgers and quarantines are in
	store     modelstore.Store   // that is written; nil where nothing is collected, as are those that follow
	pipeline  *pipeline.Pipeline
	pipelines []*pipeline.Pipeline // that one, or those that follow
	imports   *imports
	unknown   *unknownLines
	readers   []reader
	guard     *access.Guard
	api       *api.Server
	handler   http.Handler

	draining   atomic.Bool
	standsBy   bool // it serves until it can take over
	background sync.WaitGroup
	failed     chan error
	stopping   []func() error // done in reverse order
}

// reader is a source that is open: a log that is followed or a scheduler that is asked.
type reader interface {
	// Next waits for what is new. It returns io.EOF when there will be no more.
	Next(ctx context.Context) (*source.Delivery, error)
	Close() error
}

// newCore makes a core that works: one that collects; or, of a shared database, one that serves what others collect. Of a core that fails nothing is left. own are metrics of the
// daemon that outlive a core.
func newCore(ctx context.Context, cfg *config.Config, opts Options, own ...prometheus.Collector) (*core, error) {
	begin := func(start func(*core) error) (*core, error) {
		d := &core{cfg: cfg, opts: opts, registry: prometheus.NewRegistry(), failed: make(chan error, 1)}
		d.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		d.registry.MustRegister(own...)
		if err := start(d); err != nil {
			return nil, errors.Join(err, d.drain())
		}
		collecting := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_collecting", Help: "1 if this daemon reads the logs, 0 if it answers from what another one collects.",
		})
		d.registry.MustRegister(collecting)
		if d.store != nil {
			collecting.Set(1)
		}
		return d, nil
	}
	if cfg.DataDir != "" { // a file of SQLite makes it, a shared database does not; the admin token wants it
		if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
			return nil, fmt.Errorf("data_dir: %w", err)
		}
	}
	if cfg.ServeOnly {
		return begin(func(d *core) error { return d.serve(ctx, false) })
	}
	d, err := begin(func(d *core) error { return d.collect(ctx) })
	var held *postgres.HeldError
	var other *OtherConfigError
	if !errors.As(err, &held) || errors.As(err, &other) {
		return d, err
	}
	opts.Log.Info("standing by", zap.String("space", held.Space), zap.String("collecting", held.Holder))
	return begin(func(d *core) error { return d.serve(ctx, true) })
}

// collect opens the store, restores the state and begins to read the logs.
func (d *core) collect(ctx context.Context) error {
	if err := d.openStore(ctx); err != nil {
		return err
	}
	metrics := pipeline.NewMetrics(d.registry)
	cfg := d.pipelineConfig(d.cfg)
	cfg.Noticed = d.noticed()
	var err error
	if d.pipeline, err = pipeline.New(cfg, d.store, d.opts.Now, d.opts.Log, metrics); err != nil {
		return err
	}
	d.views, d.pipelines = d.pipeline, []*pipeline.Pipeline{d.pipeline}
	d.stopping = append(d.stopping, func() error {
		d.pipeline.Close()
		return nil
	})
	if err := d.pipeline.Restore(ctx, d.cfg.Fingerprint()); err != nil {
		return err
	}
	if err := d.openSources(ctx, metrics); err != nil {
		return err
	}
	if err := d.openImports(metrics); err != nil {
		return err
	}
	if err := d.openAPI(d.imports.take); err != nil {
		return err
	}
	d.run()
	return nil
}

// openStore opens the database to write.
func (d *core) openStore(ctx context.Context) error {
	recovered := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "waitcast_store_recovered", Help: "1 if the database was damaged at the start of the process and was set aside.",
	})
	d.registry.MustRegister(recovered)
	var opened modelstore.Store
	var err error
	if d.cfg.Store.URL != "" {
		opened, err = d.openShared(ctx)
	} else {
		opened, err = d.openFile(ctx, recovered)
	}
	if err == nil {
		err = whole(ctx, opened)
	}
	if err == nil {
		err = d.compareStore(ctx, opened)
	}
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	d.imports = newImports()
	d.store = &watchedStore{Store: opened, imports: d.imports}
	d.stores = []modelstore.Store{d.store}
	return nil
}

// whole refuses a database that "waitcast store copy" has not copied to the end: what is missing would never be read again.
func whole(ctx context.Context, store modelstore.Store) error {
	from, err := store.Meta(ctx, transfer.UnfinishedKey)
	if err != nil || from == "" {
		return err
	}
	return errors.New("waitcast store copy was broken off while it copied into it: run it again to its end, or begin with an empty database")
}

func (d *core) openFile(ctx context.Context, recovered prometheus.Gauge) (modelstore.Store, error) {
	store, err := sqlite.Open(ctx, d.cfg.Store.Path, sqlite.Options{Log: d.opts.Log, Now: time.Now})
	if err != nil {
		return nil, err
	}
	d.stopping = append(d.stopping, store.Close)
	if r := store.Recovered(); r != nil {
		recovered.Set(1)
		d.opts.Log.Error("the database was damaged and has been set aside; the state is rebuilt from the logs", zap.Any("recovered", r))
	}
	return store, nil
}

// openSources opens every source at its checkpoint.
func (d *core) openSources(ctx context.Context, metrics *pipeline.Metrics) error {
	checkpoints, err := d.store.Checkpoints(ctx)
	if err != nil {
		return fmt.Errorf("reading the checkpoints: %w", err)
	}
	tailMetrics := tail.NewMetrics(d.registry)
	d.unknown = d.newUnknownLines()
	sources, err := Sources(d.cfg, d.opts.Now)
	if err != nil {
		return err
	}
	for _, s := range sources {
		s.Files.BatchLines = batchLines
		r, err := source.Open(s, checkpoints[s.Name], d.opts.Now, tail.Options{Log: d.opts.Log, Metrics: tailMetrics})
		if err != nil {
			return err
		}
		d.add(s, r, metrics)
	}
	return d.openSnapshots(metrics)
}

// add makes an open source known.
func (d *core) add(s source.Config, r reader, metrics *pipeline.Metrics) {
	d.readers = append(d.readers, r)
	d.stopping = append(d.stopping, r.Close)
	d.pipeline.AddSource(s)
	metrics.Touch(s)
}

// openAPI makes what answers requests.
func (d *core) openAPI(take api.ImportFunc) error {
	guard, err := newGuard(d.cfg, d.opts, d.registry)
	if err != nil {
		return err
	}
	admin := &api.Admin{Import: take, Quarantine: d.quarantine}
	if d.opts.Level != nil {
		admin.LogLevel = d.opts.Level
	}
	d.guard = guard
	d.api = api.New(d.views, api.Options{
		Version: d.opts.Version, StaleAfter: d.cfg.StaleAfter, Now: d.opts.Now, Registry: d.registry, Log: d.opts.Log,
		Accuracy: d.accuracy, Recent: d.recent, Guard: guard, WasReady: d.opts.wasReady, MostBody: int64(d.cfg.Limits.Body), Admin: admin,
	})
	d.handler = d.api.Handler()
	return nil
}

// run starts the goroutines: readers and writer, then the server.
func (d *core) run() {
	reading, stopReading := context.WithCancel(context.Background())
	writing, abandon := context.WithCancel(context.Background())
	deliveries := make(chan *source.Delivery, queued)
	var readers, writer sync.WaitGroup
	for _, r := range d.readers {
		readers.Go(func() { d.read(reading, r, deliveries) })
	}
	writer.Go(func() {
		readers.Wait()
		if reading.Err() != nil {
			dropQueued(deliveries)
		}
		close(deliveries)
	})
	writer.Go(func() {
		if err := d.pipeline.Run(writing, deliveries); err != nil {
			d.fail(err)
			stopReading()
			for range deliveries { // let the readers go
			}
		}
	})
	d.stopping = append(d.stopping, func() error {
		stopReading()
		timer := time.AfterFunc(stopGrace, abandon)
		defer timer.Stop()
		writer.Wait()
		abandon()
		return nil
	})
}

// dropQueued takes out what waits for the writer when the daemon stops: it is read again after the next start, and to take it in would take many seconds
// where its lines tell of large arrays.
func dropQueued(deliveries <-chan *source.Delivery) {
	for {
		select {
		case <-deliveries:
		default:
			return
		}
	}
}

// read hands one source's deliveries to the writer.
func (d *core) read(ctx context.Context, r reader, to chan<- *source.Delivery) {
	log := newLineLogger(d.opts.Log)
	for {
		delivery, err := r.Next(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, io.EOF) {
				d.fail(err)
			}
			return
		}
		log.report(delivery)
		d.unknown.count(delivery)
		select {
		case to <- delivery:
		case <-ctx.Done():
			return
		}
	}
}

func (d *core) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// drain ends reading, saves the state, and closes the store. Requests are still answered from the last published view.
func (d *core) drain() error {
	d.draining.Store(true)
	var errs error
	for _, stop := range slices.Backward(d.stopping) {
		errs = errors.Join(errs, stop())
	}
	d.stopping = nil
	return errs
}

// close ends what a core that rests still tells.
func (d *core) close() { d.api.Close() }
