// Package daemon wires waitcast together: store, pipeline, one reader per source, HTTP. Two daemons can run in one
// process; nothing is global.
package daemon

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline/readmodel"
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
	// Level is what administrators change the level of Log by, and a reload; nil where it stays.
	Level *LogLevel
	// Now is the wall clock; nil means time.Now. A simulated cluster brings its own.
	Now func() time.Time
	// Cores is how many processors there are, for what works in the background; 0 means runtime.GOMAXPROCS.
	Cores int
	// Version is the program's.
	Version string
	// Load reads the configuration anew, for a reload; nil where there is none.
	Load func() (*config.Config, error)
	// Reload asks Run for a reload, as SIGHUP does; nil is never.
	Reload <-chan struct{}

	// What outlives the cores.
	wasReady *atomic.Bool                         // of /readyz
	noticed  *atomic.Pointer[readmodel.Condition] // of the database; nil inside while nothing was noticed
}

// Daemon is one running waitcast. Make it with New, then Start, then Stop; Reload between them.
type Daemon struct {
	opts     Options
	reloads  *reloadMetrics
	core     atomic.Pointer[core]
	frontend atomic.Pointer[httpFrontend]

	changing sync.Mutex // held by whoever starts, reloads or stops
	cfg      *config.Config
	bound    *access.Connections // of the front

	failed chan error
	watch  sync.WaitGroup
	end    context.CancelFunc // of what watches the core
}

// New returns a daemon that is not started yet.
func New(cfg *config.Config, opts Options) *Daemon {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.wasReady, opts.noticed = new(atomic.Bool), new(atomic.Pointer[readmodel.Condition])
	return &Daemon{cfg: cfg, opts: opts, reloads: newReloadMetrics(), failed: make(chan error, 1), end: func() {}}
}

// Start opens the store, restores the state, begins to read the logs and to answer requests. After an error everything is
// undone. A database that another process holds is a *sqlite.LockedError.
func (d *Daemon) Start(ctx context.Context) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	bound, err := newConnections(d.cfg)
	if err != nil {
		return err
	}
	d.bound = bound
	c, err := d.newCore(ctx, d.cfg)
	if err != nil {
		return err
	}
	socket, err := newSocket(ctx, d.cfg.Listen)
	if err != nil {
		return errors.Join(err, c.drain())
	}
	f := newHTTPFrontend(socket, bound, c, d)
	d.frontend.Store(f)
	d.swap(c)
	f.serve(d.fail)
	d.reloads.succeeded(time.Now())
	return nil
}

// newCore makes a core, with the metrics that outlive it.
func (d *Daemon) newCore(ctx context.Context, cfg *config.Config) (*core, error) {
	return newCore(ctx, cfg, d.opts, append(d.reloads.collectors(), d.bound.Collectors()...)...)
}

// swap puts a core into force, and watches it.
func (d *Daemon) swap(c *core) {
	d.end()
	if old := d.core.Swap(c); old != nil {
		old.close()
	}
	ctx, end := context.WithCancel(context.Background())
	d.end = end
	d.watch.Go(func() {
		select {
		case err := <-c.failed:
			d.recoverCore(ctx, c, err)
		case <-ctx.Done():
		}
	})
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
func (d *Daemon) Addr() net.Addr {
	return d.frontend.Load().socket.Addr()
}

// Views returns the published pictures.
func (d *Daemon) Views() []*readmodel.View { return d.core.Load().views.Views() }

// Registry returns the metrics; a reload begins new ones.
func (d *Daemon) Registry() *prometheus.Registry { return d.core.Load().registry }

// Stop ends serving and reading, saves the state, and closes the store. A second call does nothing.
func (d *Daemon) Stop() error {
	d.changing.Lock()
	defer d.changing.Unlock()
	var err error
	if f := d.frontend.Load(); f != nil {
		err = f.stop()
		if closed := f.socket.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	d.end()
	d.watch.Wait()
	if c := d.core.Load(); c != nil {
		err = errors.Join(err, c.drain())
	}
	return err
}
