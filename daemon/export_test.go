package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// Registry gives the tests a daemon's metrics.
func Registry(d *Daemon) *prometheus.Registry { return d.Registry() }

// Store gives the tests a daemon's database.
func Store(d *Daemon) modelstore.Store { return d.core().(*collectingCore).store }

// Alive is what the watchdog asks.
func Alive(ctx context.Context, d *Daemon, limit time.Duration) error { return d.alive(ctx, limit) }

// Deafen closes a daemon's listener behind its back.
func Deafen(d *Daemon) error { return d.frontend.Load().socket.Close() }

// URL is where a daemon says that it can be asked.
func URL(d *Daemon) string { return d.frontend.Load().url() }

// Pipeline gives the tests a daemon's writer, which is another one after the state was restored.
func Pipeline(d *Daemon) *pipeline.Pipeline { return d.core().(*collectingCore).pipeline }

// Server gives the tests a daemon's HTTP server.
func Server(d *Daemon) *http.Server { return d.frontend.Load().server }
