// Package daemon connects the parts of waitcast: database, pipeline, one reader for each source, and HTTP. Two
// daemons can run in one process, because the package has no global state.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Daemon is one running waitcast. Call New, then Start, then Stop. Reload may be called between Start and Stop.
type Daemon struct {
	opts     Options
	reloads  *reloadMetrics
	inForce  atomic.Pointer[core]
	frontend atomic.Pointer[httpFrontend]
	patience atomic.Int64 // a time.Duration: the maximum time for sending an answer

	changing sync.Mutex // held while the daemon starts, reloads or stops
	steps    lifecycle
	cfg      *config.Config
	bound    *access.Connections // counts the connections of all frontends
	local    *localSocket        // local is nil if no socket is configured

	failure  chan error
	watching sync.WaitGroup
	unwatch  context.CancelFunc // unwatch stops the goroutine of watchCore
}

// New returns a daemon that has not been started.
func New(cfg *config.Config, opts Options) *Daemon {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.wasReady = new(atomic.Bool)
	opts.noticed, opts.refused = new(atomic.Pointer[readmodel.Condition]), new(atomic.Pointer[readmodel.Condition])
	return &Daemon{cfg: cfg, opts: opts, reloads: newReloadMetrics(), failure: make(chan error, 1), unwatch: func() {}}
}

// Start opens the database and begins to answer requests. Then it restores the state, which may take minutes, and
// begins to read the logs. After an error everything is undone; the error names the step that failed. If another
// process has the database open, the error is a *sqlite.LockedError.
func (d *Daemon) Start(ctx context.Context) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	err := d.steps.start(ctx,
		step{name: "limits", start: d.makeBound},
		step{start: d.openCore, stop: d.stopCore},
		step{name: "listen", start: d.openListener, stop: d.closeListener},
		step{name: "HTTP server", start: d.startServer, stop: d.stopServer},
		step{name: "socket", start: d.openLocal, stop: d.closeLocal},
		step{start: d.restoreCore},
		step{name: "watch", start: d.watchCore, stop: d.stopWatching},
	)
	if err == nil {
		d.reloads.succeeded(time.Now())
	}
	return err
}

// makeBound creates the limit on connections. It outlives listeners and cores.
func (d *Daemon) makeBound(context.Context) error {
	proxies, err := trustedProxies(d.cfg)
	if err != nil {
		return err
	}
	d.bound = access.NewConnections(d.cfg.Limits.Connections, d.cfg.Limits.ConnectionsPerClient, proxies)
	d.setFrontendLimits(d.cfg, proxies)
	return nil
}

// openCore opens the first core and puts it into use.
func (d *Daemon) openCore(ctx context.Context) error {
	c, err := openCore(ctx, d.cfg, d.opts, d.ownMetrics()...)
	if err != nil {
		return err
	}
	d.inForce.Store(&c)
	return nil
}

// restoreCore restores the state of the first core.
func (d *Daemon) restoreCore(ctx context.Context) error { return d.core().restore(ctx) }

func (d *Daemon) stopCore() error { return d.core().drain() }

// newCore creates a core that can replace the one in use.
func (d *Daemon) newCore(ctx context.Context, cfg *config.Config) (core, error) {
	c, err := openCore(ctx, cfg, d.opts, d.ownMetrics()...)
	if err != nil {
		return nil, err
	}
	if err := c.restore(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// ownMetrics returns the metrics that outlive cores.
func (d *Daemon) ownMetrics() []prometheus.Collector {
	return append(d.reloads.collectors(), d.bound.Collectors()...)
}

// core returns the core that is in use. It returns nil before the start.
func (d *Daemon) core() core {
	if c := d.inForce.Load(); c != nil {
		return *c
	}
	return nil
}

func (d *Daemon) openListener(ctx context.Context) error {
	socket, err := newSocket(ctx, d.cfg.Listen)
	if err != nil {
		return err
	}
	f, err := newHTTPFrontend(socket, d)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	d.frontend.Store(f)
	return nil
}

func (d *Daemon) closeListener() error {
	if err := d.frontend.Load().socket.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (d *Daemon) startServer(context.Context) error {
	d.warnOpen(d.cfg)
	d.frontend.Load().serve(d.fail)
	return nil
}

func (d *Daemon) stopServer() error { return d.frontend.Load().stop() }

// watchCore starts to watch the core that is in use. If the core fails, watchCore replaces it if possible; otherwise
// the daemon fails.
func (d *Daemon) watchCore(context.Context) error {
	c := d.core()
	ctx, end := context.WithCancel(context.Background())
	d.unwatch = end
	d.watching.Go(func() {
		select {
		case err := <-c.failed():
			d.recoverCore(ctx, c, err)
		case <-ctx.Done():
		}
	})
	return nil
}

func (d *Daemon) stopWatching() error {
	d.unwatch()
	d.watching.Wait()
	return nil
}

// swap puts a core into use in place of a drained core, and watches the new one.
func (d *Daemon) swap(c core) {
	d.unwatch()
	if old := d.inForce.Swap(&c); old != nil {
		(*old).web().close()
	}
	_ = d.watchCore(context.Background()) // returns no error
}

func (d *Daemon) fail(err error) {
	select {
	case d.failure <- err:
	default:
	}
}

// Failed returns the channel that receives an error if the daemon cannot continue.
func (d *Daemon) Failed() <-chan error { return d.failure }

// Addr returns the address the daemon listens on.
func (d *Daemon) Addr() net.Addr {
	return d.frontend.Load().socket.Addr()
}

// Views returns the published views.
func (d *Daemon) Views() []*readmodel.View { return d.core().web().views.Views() }

// Registry returns the metrics. A reload that replaces the core replaces the registry too.
func (d *Daemon) Registry() *prometheus.Registry { return d.core().web().registry }

// Stop stops serving and reading, saves the state, and closes the database. A second call has no effect.
func (d *Daemon) Stop() error {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.steps.stop()
}

// warnOpen logs warnings if other hosts can reach the daemon: one if it does not use TLS, and one if everybody can read
// everything except names.
func (d *Daemon) warnOpen(cfg *config.Config) {
	guard, log := d.core().web().guard, d.opts.Log
	host, _, err := net.SplitHostPort(d.Addr().String())
	if err != nil {
		return
	}
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsLoopback() {
		return
	}
	if guard.TLS() == nil {
		log.Warn("other hosts can reach this daemon without TLS: tokens and passwords can be read on the way; " +
			"see web_config_file, or put a proxy with TLS in front")
	}
	if guard.SeesOthers(access.Caller{Role: access.Public}, false) && cfg.Access.Others != access.Public.String() {
		log.Warn("other hosts can reach this daemon, and everybody sees all waiting jobs (without names) " +
			"and may ask in anybody's name; see tokens_file and access.others")
	}
}

// handler returns a handler that passes requests to the core that is in use.
func (d *Daemon) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The deadline is set for each request, because the server's own deadline cannot change while the server
		// runs.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Duration(d.patience.Load())))
		d.core().web().ServeHTTP(w, r)
	})
}

// newHTTPFrontend returns a frontend on a socket. Each request uses the core that is in use at that time. The frontend
// answers nothing before its method serve is called.
func newHTTPFrontend(socket *net.TCPListener, d *Daemon) (*httpFrontend, error) {
	guard := d.core().web().guard
	server, err := newServer(d.handler(), guard, d.opts.Log)
	if err != nil {
		return nil, err
	}
	f := &httpFrontend{socket: socket, bound: d.bound, scheme: "http", server: server}
	d.bound.Attach(f.server)
	if guard.TLS() != nil {
		f.scheme = "https"
	}
	return f, nil
}

// setFrontendLimits sets the limits of connections and answers. They hold for new connections and requests.
func (d *Daemon) setFrontendLimits(cfg *config.Config, proxies []netip.Prefix) {
	d.bound.Configure(cfg.Limits.Connections, cfg.Limits.ConnectionsPerClient, proxies)
	d.patience.Store(int64(cmp.Or(cfg.Limits.WriteTimeout, writeTimeout)))
}
