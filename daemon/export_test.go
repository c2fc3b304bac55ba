package daemon

import "github.com/prometheus/client_golang/prometheus"

// Registry gives the tests a daemon's metrics.
func Registry(d *Daemon) *prometheus.Registry { return d.registry }
