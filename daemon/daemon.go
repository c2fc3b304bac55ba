// Package daemon wires waitcast together: store, pipeline, one reader per source, HTTP. Two daemons can run in one
// process; nothing is global.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline"
)

// stopGrace is how long an orderly stop may take before work under way is abandoned; nothing is lost then, the logs are
// read again from the last checkpoint.
const stopGrace = 10 * time.Second

// queued is the number of deliveries that may wait for the writer.
const queued = 16

// batchLines bounds the lines of one delivery. Every submission among them is forecast before the delivery can be committed, which
// takes about a millisecond each.
const batchLines = 256

// Options are what a daemon needs beside its configuration.
type Options struct {
	// Log may be nil.
	Log *zap.Logger
	// Now is the wall clock; nil means time.Now. A simulated cluster brings its own.
	Now func() time.Time
	// Version is the program's.
	Version string
}

// Daemon is one running waitcast. Make it with New, then Start, then Stop.
type Daemon struct {
	cfg      *config.Config
	opts     Options
	registry *prometheus.Registry
	store    modelstore.Store
	pipeline *pipeline.Pipeline
	imports  *imports
	unknown  *unknownLines
	readers  []reader
	listener net.Listener
	server   *http.Server

	failed   chan error
	stopping []func() error // done in reverse order
}

// reader is a source that is open: a log that is followed or a scheduler that is asked.
type reader interface {
	// Next waits for what is new. It returns io.EOF when there will be no more.
	Next(ctx context.Context) (*source.Delivery, error)
	Close() error
}

// New returns a daemon that is not started yet.
func New(cfg *config.Config, opts Options) *Daemon {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Daemon{cfg: cfg, opts: opts, registry: prometheus.NewRegistry(), failed: make(chan error, 1)}
}

// Start opens the store, restores the state, begins to read the logs and to answer requests. After an error everything is
// undone. A database that another process holds is a *sqlite.LockedError.
func (d *Daemon) Start(ctx context.Context) error {
	err := d.start(ctx)
	if err != nil {
		return errors.Join(err, d.teardown())
	}
	return nil
}

func (d *Daemon) start(ctx context.Context) error {
	d.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := d.openStore(ctx); err != nil {
		return err
	}
	metrics := pipeline.NewMetrics(d.registry)
	d.pipeline = pipeline.New(pipelineConfig(d.cfg, true), d.store, d.opts.Now, d.opts.Log, metrics)
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
	if err := d.listen(ctx); err != nil {
		return err
	}
	d.run()
	return nil
}

func (d *Daemon) openStore(ctx context.Context) error {
	store, err := sqlite.Open(ctx, d.cfg.Store.Path, sqlite.Options{Log: d.opts.Log, Now: time.Now})
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	d.imports = newImports()
	d.store = &watchedStore{Store: store, imports: d.imports}
	d.stopping = append(d.stopping, store.Close)
	recovered := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "waitcast_store_recovered", Help: "1 if the database was damaged at the start of the process and was set aside.",
	})
	d.registry.MustRegister(recovered)
	if r := store.Recovered(); r != nil {
		recovered.Set(1)
		d.opts.Log.Error("the database was damaged and has been set aside; the state is rebuilt from the logs", zap.Any("recovered", r))
	}
	return nil
}

// openSources opens every source at its checkpoint.
func (d *Daemon) openSources(ctx context.Context, metrics *pipeline.Metrics) error {
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
func (d *Daemon) add(s source.Config, r reader, metrics *pipeline.Metrics) {
	d.readers = append(d.readers, r)
	d.stopping = append(d.stopping, r.Close)
	d.pipeline.AddSource(s)
	metrics.Touch(s)
}

func (d *Daemon) listen(ctx context.Context) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", d.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w; choose another address with listen, WAITCAST_LISTEN or --listen", err)
	}
	d.listener = listener
	token, err := adminToken(d.cfg.AdminTokenFile, d.opts.Log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	handler := api.New(d.pipeline, api.Options{
		Version: d.opts.Version, StaleAfter: d.cfg.StaleAfter, Now: d.opts.Now, Registry: d.registry, Log: d.opts.Log,
		Accuracy: d.accuracy,
		Admin:    &api.Admin{Token: token, Import: d.imports.take, Quarantine: d.quarantine},
	}).Handler()
	requests, end := context.WithCancelCause(context.Background())
	d.server = &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler:     handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: zap.NewStdLog(d.opts.Log),
	}
	d.server.RegisterOnShutdown(func() { end(errStopping) })
	return nil
}

// run starts the goroutines: readers and writer, then the server.
func (d *Daemon) run() {
	reading, stopReading := context.WithCancel(context.Background())
	writing, abandon := context.WithCancel(context.Background())
	deliveries := make(chan *source.Delivery, queued)
	var readers, writer, serving sync.WaitGroup
	for _, r := range d.readers {
		readers.Go(func() { d.read(reading, r, deliveries) })
	}
	writer.Go(func() {
		readers.Wait()
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
	serving.Go(func() {
		if err := d.server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
			d.fail(fmt.Errorf("serving HTTP: %w", err))
		}
	})
	d.stopping = append(d.stopping, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		err := d.server.Shutdown(ctx)
		serving.Wait()
		return err
	})
}

// read hands one source's deliveries to the writer.
func (d *Daemon) read(ctx context.Context, r reader, to chan<- *source.Delivery) {
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

func (d *Daemon) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// Failed delivers the error that keeps the daemon from going on, if one occurs.
func (d *Daemon) Failed() <-chan error { return d.failed }

// Addr returns the address the daemon listens on.
func (d *Daemon) Addr() net.Addr { return d.listener.Addr() }

// Views returns the published pictures.
func (d *Daemon) Views() []*pipeline.View { return d.pipeline.Views() }

// Stop ends serving and reading, saves the state, and closes the store.
func (d *Daemon) Stop() error { return d.teardown() }

// teardown undoes what start did, last first.
func (d *Daemon) teardown() error {
	var errs error
	for _, stop := range slices.Backward(d.stopping) {
		errs = errors.Join(errs, stop())
	}
	d.stopping = nil
	return errs
}
