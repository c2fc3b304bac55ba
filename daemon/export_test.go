package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// ErrBusy is the error of a reload that may be tried again.
var ErrBusy = errBusy

// Registry returns the registry of a daemon's metrics.
func Registry(d *Daemon) *prometheus.Registry { return d.Registry() }

// Store returns a daemon's database.
func Store(d *Daemon) modelstore.Store { return d.core().(*collectingCore).store }

// Alive performs the watchdog's check.
func Alive(ctx context.Context, d *Daemon, limit time.Duration) error { return d.alive(ctx, limit) }

// Deafen closes a daemon's listener without the daemon's knowledge.
func Deafen(d *Daemon) error { return d.frontend.Load().socket.Close() }

// URL returns the address that a daemon reports.
func URL(d *Daemon) string { return d.frontend.Load().url() }

// Pipeline returns a daemon's writer. It is another one after the state was restored.
func Pipeline(d *Daemon) *pipeline.Pipeline { return d.core().(*collectingCore).pipeline }

// Server returns a daemon's HTTP server.
func Server(d *Daemon) *http.Server { return d.frontend.Load().server }

// StartLine returns the status that the daemon reports to systemd during its start.
func StartLine(d *Daemon) string { return d.startLine() }
