package daemon

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"go.uber.org/zap"
)

// openCore opens the core that a configuration needs: it either collects, or serves the spaces of a shared database.
// If another daemon with the same configuration collects already, openCore opens a serving core that stands by. own
// are metrics of the daemon that outlive a core.
func openCore(ctx context.Context, cfg *config.Config, opts Options, own ...prometheus.Collector) (core, error) {
	if cfg.ServeOnly {
		return opened(ctx, &servingCore{coreParts: newCoreParts(cfg, opts, own)})
	}
	c, err := opened(ctx, &collectingCore{coreParts: newCoreParts(cfg, opts, own)})
	var held *postgres.HeldError
	var other *OtherConfigError
	if !errors.As(err, &held) || errors.As(err, &other) {
		return c, err
	}
	opts.Log.Info("standing by", zap.String("space", held.Space), zap.String("collecting", held.Holder))
	return opened(ctx, &servingCore{coreParts: newCoreParts(cfg, opts, own), standsBy: true})
}

// opened opens a core and returns it.
func opened(ctx context.Context, c core) (core, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c, nil
}
