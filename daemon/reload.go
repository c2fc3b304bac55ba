package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/terminal"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Reload puts another configuration into force, wholly or not at all. It changes only the parts that the changed keys
// affect (config.PlanReload). If the core is replaced, requests are answered from the last published views until the
// state is restored. If the configuration cannot be used, Reload returns the reason as an error and restores the old
// configuration. If that is impossible too, the channel Failed receives an error.
func (d *Daemon) Reload(ctx context.Context, cfg *config.Config) error {
	err := d.reload(ctx, cfg)
	if err != nil {
		d.refused(ctx, cfg.File, err)
		return err
	}
	d.reloads.succeeded(time.Now())
	d.opts.refused.Store(nil)
	return nil
}

// refused records that a reload could not use a configuration. Metrics and a condition show this until a later reload
// succeeds.
func (d *Daemon) refused(ctx context.Context, file string, err error) {
	d.reloads.success.Set(0)
	if ctx.Err() != nil { // the daemon stops
		return
	}
	d.opts.refused.Store(&readmodel.Condition{
		Name: readmodel.ConfigRefused, File: file, Since: d.opts.Now(), Reason: refusal(err),
	})
}

// refusal describes in one line why a configuration cannot be used. If the file has mistakes, the line has only the
// place of the first one: everybody may read conditions, and a wrong value may be a secret.
func refusal(err error) string {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return "not in force: " + terminal.Line(err.Error())
	}
	place := wrong.Key
	if wrong.Line > 0 {
		place = strings.TrimSpace(fmt.Sprintf("%s in line %d", place, wrong.Line))
	}
	var all interface{ Unwrap() []error }
	more := 0
	if errors.As(err, &all) {
		more = len(all.Unwrap()) - 1
	}
	text := "not in force: " + terminal.Line(cmp.Or(place, wrong.Problem)) + " is wrong"
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text + "; the previous configuration stays in force; the daemon's log and waitcastd check name every mistake"
}

func (d *Daemon) reload(ctx context.Context, cfg *config.Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.core() == nil {
		return errors.New("the daemon is not running")
	}
	plan := config.PlanReload(d.cfg, cfg)
	if len(plan.Keys) == 0 {
		d.opts.Log.Info("the configuration is the one in force")
		return nil
	}
	if _, err := Sources(cfg, d.opts.Now); err != nil {
		return err
	}
	proxies, err := trustedProxies(cfg)
	if err != nil {
		return err
	}
	now := d.frontend.Load()
	socket, err := d.prepareSocket(ctx, cfg)
	if err != nil {
		return err
	}
	if plan.Has(config.EffectRestore, config.EffectRebuild) {
		err = d.replace(ctx, cfg)
	} else {
		err = d.update(ctx, cfg, plan)
	}
	var next *httpFrontend
	if err == nil && plan.Has(config.EffectListener) {
		next, err = newHTTPFrontend(socket, d)
	}
	if err != nil {
		if socket != now.socket {
			err = errors.Join(err, socket.Close())
		}
		return err
	}
	d.setFrontendLimits(cfg, proxies)
	if next != nil {
		d.replaceFrontend(now, next)
	}
	d.finishReload(cfg, plan)
	return nil
}

// finishReload applies the keys whose change cannot fail, and reports the new configuration.
func (d *Daemon) finishReload(cfg *config.Config, plan config.ReloadPlan) {
	d.cfg = cfg
	if plan.Has(config.EffectAccess, config.EffectListener) {
		d.warnOpen(cfg)
	}
	if plan.Has(config.EffectNextStart) {
		d.opts.Log.Warn("log.format, socket and socket_mode count from the next start on")
	}
	// The level is set even if the key is the same: a reload ends a change of an administrator that has no duration.
	if d.opts.Level != nil {
		if err := d.opts.Level.Configure(cfg.Log.Level); err != nil {
			d.opts.Log.Warn("log.level is not changed", zap.Error(err))
		}
	}
	d.opts.Log.Info("the new configuration is in force", zap.String("url", d.frontend.Load().url()),
		zap.String("database", databaseName(cfg)), zap.Strings("changed", plan.Keys))
}

// prepareSocket returns the socket for a configuration. It returns the present socket if the address is the same.
func (d *Daemon) prepareSocket(ctx context.Context, cfg *config.Config) (*net.TCPListener, error) {
	if cfg.Listen == d.cfg.Listen {
		return d.frontend.Load().socket, nil
	}
	return newSocket(ctx, cfg.Listen)
}

// replaceFrontend starts to serve on another frontend. If both use the same socket, the old frontend must stop using it
// first. Connections that arrive meanwhile wait in the socket.
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

// update changes parts of the core that is in use. It first reads the access rules and replaces the sources, because
// both can fail. It applies the rules last, because that cannot fail.
func (d *Daemon) update(ctx context.Context, cfg *config.Config, plan config.ReloadPlan) error {
	apply := func() {}
	if plan.Has(config.EffectAccess, config.EffectListener) {
		var err error
		if apply, err = d.core().web().prepare(cfg); err != nil {
			return err
		}
	}
	if plan.Has(config.EffectSources) {
		if err := d.core().reloadSources(ctx, cfg); err != nil {
			return fmt.Errorf("the sources cannot be changed, the old configuration stays in force: %w", err)
		}
	}
	apply()
	return nil
}

// replace stops the core in use and starts one with another configuration. If that fails, it starts a core with the
// old configuration again.
func (d *Daemon) replace(ctx context.Context, cfg *config.Config) error {
	d.unwatch() // from here on a failure of the old core is ignored
	if err := d.core().drain(); err != nil {
		d.opts.Log.Warn("the state could not be saved before the reload; what is missing is read from the logs again",
			zap.Error(err))
	}
	c, err := d.newCore(ctx, cfg)
	if err == nil {
		d.swap(c)
		return nil
	}
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

// configFile returns the file of the configuration in force. It returns an empty text if there is no file.
func (d *Daemon) configFile() string {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.cfg.File
}

// reloadFrom reads the configuration and applies it. It logs errors, because no caller waits for them.
func (d *Daemon) reloadFrom(ctx context.Context, why string) {
	d.opts.Log.Info("reading the configuration again", zap.String("because", why))
	cfg, err := d.opts.Load()
	if err != nil {
		d.refused(ctx, d.configFile(), err)
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
