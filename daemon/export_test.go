package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/modelstore"
)

// Registry gives the tests a daemon's metrics.
func Registry(d *Daemon) *prometheus.Registry { return d.Registry() }

// Store gives the tests a daemon's database.
func Store(d *Daemon) modelstore.Store { return d.core.Load().store }
