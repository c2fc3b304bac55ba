package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// configPollInterval is the time between two checks of the configuration file.
const configPollInterval = time.Second

// reloadMetrics tell how reloads went. They outlive the cores.
type reloadMetrics struct {
	success prometheus.Gauge
	at      prometheus.Gauge
}

func newReloadMetrics() *reloadMetrics {
	return &reloadMetrics{
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_config_last_reload_successful", Help: "1 if the configuration could be read and used at the newest start or reload.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_config_last_reload_success_timestamp_seconds", Help: "When the configuration in force was put into force, by the machine's clock.",
		}),
	}
}

func (m *reloadMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.success, m.at}
}

func (m *reloadMetrics) succeeded(at time.Time) {
	m.success.Set(1)
	m.at.Set(float64(at.UnixMilli()) / 1000)
}

// Reload puts another configuration into force, wholly or not at all. While the state is restored under it requests are answered from what was published last. If
// it cannot be used the error says why and the old one goes on; if that cannot go on either, Failed tells.
func (d *Daemon) Reload(ctx context.Context, cfg *config.Config) error {
	err := d.reload(ctx, cfg)
	if err != nil {
		d.reloads.success.Set(0)
		return err
	}
	d.reloads.succeeded(time.Now())
	return nil
}

func (d *Daemon) reload(ctx context.Context, cfg *config.Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	old := d.core.Load()
	if old == nil {
		return errors.New("the daemon is not running")
	}
	if reflect.DeepEqual(cfg, d.cfg) {
		d.opts.Log.Info("the configuration is the one in force")
		return nil
	}
	if _, err := Sources(cfg, d.opts.Now); err != nil {
		return err
	}
	bound, socket, err := d.prepareFrontend(ctx, cfg)
	if err != nil {
		return err
	}
	now, before := d.frontend.Load(), d.bound
	d.bound = bound
	if err := d.replace(ctx, old, cfg, before); err != nil {
		if socket != now.socket {
			err = errors.Join(err, socket.Close())
		}
		return err
	}
	if !sameFrontend(cfg, d.cfg) {
		d.replaceFrontend(now, newHTTPFrontend(socket, bound, d.core.Load(), d))
	}
	if cfg.Log.Format != d.cfg.Log.Format {
		d.opts.Log.Warn("log.format is another one from the next start on")
	}
	d.cfg = cfg
	if d.opts.Level != nil {
		if err := d.opts.Level.Configure(cfg.Log.Level); err != nil {
			d.opts.Log.Warn("log.level is not changed", zap.Error(err))
		}
	}
	d.opts.Log.Info("the new configuration is in force", zap.String("url", d.frontend.Load().url()), zap.String("database", databaseName(cfg)))
	return nil
}

// prepareFrontend returns the frontend of a configuration: the present one, or its socket, as far as they can stay.
func (d *Daemon) prepareFrontend(ctx context.Context, cfg *config.Config) (*access.Connections, *net.TCPListener, error) {
	if sameFrontend(cfg, d.cfg) {
		return d.bound, d.frontend.Load().socket, nil
	}
	bound, err := newConnections(cfg)
	if err != nil || cfg.Listen == d.cfg.Listen {
		return bound, d.frontend.Load().socket, err
	}
	socket, err := newSocket(ctx, cfg.Listen)
	return bound, socket, err
}

// replaceFrontend serves on another frontend. On the same socket the old one must be done with it first; connections that come meanwhile wait in it.
func (d *Daemon) replaceFrontend(old, next *httpFrontend) {
	if next.socket != old.socket {
		next.serve(d.fail)
	}
	if err := old.stop(); err != nil {
		d.opts.Log.Warn("requests were cut off by the reload", zap.Error(err))
	}
	d.frontend.Store(next)
	if next.socket == old.socket {
		next.serve(d.fail)
	} else if err := old.socket.Close(); err != nil {
		d.opts.Log.Warn("closing the old address", zap.Error(err))
	}
}

// replace puts a core with another configuration in place of the old one, or else one with the old configuration and the old bound again.
func (d *Daemon) replace(ctx context.Context, old *core, cfg *config.Config, bound *access.Connections) error {
	d.end() // the old one cannot fail any more
	if err := old.drain(); err != nil {
		d.opts.Log.Warn("the state could not be saved before the reload; what is missing is read from the logs again", zap.Error(err))
	}
	c, err := d.newCore(ctx, cfg)
	if err == nil {
		d.swap(c)
		return nil
	}
	d.bound = bound
	if ctx.Err() != nil {
		return fmt.Errorf("the daemon stops before the reload is done: %w", ctx.Err())
	}
	err = fmt.Errorf("the new configuration cannot be used, the old one stays in force: %w", err)
	back, broken := d.newCore(context.WithoutCancel(ctx), d.cfg)
	if broken != nil {
		err = errors.Join(err, fmt.Errorf("and the old one cannot be used again: %w", broken))
		d.fail(err)
		return err
	}
	d.swap(back)
	return err
}

// reloadFrom reads the configuration and puts it into force. Errors are logged: nobody else hears of them.
func (d *Daemon) reloadFrom(ctx context.Context, why string) {
	d.opts.Log.Info("reading the configuration again", zap.String("because", why))
	cfg, err := d.opts.Load()
	if err != nil {
		d.reloads.success.Set(0)
		d.opts.Log.Error("the configuration has errors and is not used; the one in force stays", zap.Error(err))
		return
	}
	switch err := d.Reload(ctx, cfg); {
	case ctx.Err() != nil && err != nil:
		d.opts.Log.Info("not reloaded", zap.Error(err))
	case err != nil:
		d.opts.Log.Error("reload failed", zap.Error(err))
	}
}

// fileWatch notices that a file was changed. It looks instead of listening: editors, configuration management and mounted volumes replace files and the folders
// above them, and network file systems tell nothing.
type fileWatch struct {
	path string
	used string // content that is in force or was refused
	seen string // content at the last look
}

func newFileWatch(path string) *fileWatch {
	content, _ := os.ReadFile(path) // what cannot be read has changed once it can
	return &fileWatch{path: path, used: string(content), seen: string(content)}
}

// changed reports whether the file has another content than the one that was taken last, at two looks in a row: whoever writes it is done. It takes it.
func (w *fileWatch) changed() bool {
	if w.path == "" {
		return false
	}
	content, err := os.ReadFile(w.path)
	if err != nil {
		return false // being replaced; a start without it would fail, but this daemon runs
	}
	before := w.seen
	w.seen = string(content)
	if w.seen != before || w.seen == w.used {
		return false
	}
	w.used = w.seen
	return true
}

// recoverCore puts a new core in place of one that failed where that helps: its part in a shared database has changed. Any other failure is the daemon's. ctx ends when the core is replaced otherwise.
func (d *Daemon) recoverCore(ctx context.Context, failed *core, why error) {
	if !errors.Is(why, errTakeOver) && !errors.Is(why, errSpaces) && !errors.Is(why, pipeline.ErrConfigChanged) && !errors.Is(why, modelstore.ErrLeaseLost) {
		d.fail(why)
		return
	}
	d.opts.Log.Info("beginning anew", zap.String("because", why.Error()))
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, d.replaceCore(ctx, failed)
	}, backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, next time.Duration) {
		d.opts.Log.Error("cannot begin anew: answers go on from what is known", zap.Error(err), zap.Duration("next_try_in", next))
	}))
	if err != nil && ctx.Err() == nil {
		d.fail(err)
	}
}

// replaceCore replaces a core that failed.
func (d *Daemon) replaceCore(ctx context.Context, failed *core) error {
	if !d.changing.TryLock() { // a stop or a reload is under way, which ends ctx
		return errors.New("the daemon is being changed otherwise")
	}
	defer d.changing.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := failed.drain(); err != nil {
		d.opts.Log.Info("closing what failed", zap.Error(err))
	}
	c, err := d.newCore(context.WithoutCancel(ctx), d.cfg)
	if err != nil {
		return err
	}
	d.swap(c)
	return nil
}
