package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reloadMetrics are the metrics of reloads. They outlive the cores.
type reloadMetrics struct {
	success prometheus.Gauge
	at      prometheus.Gauge
}

func newReloadMetrics() *reloadMetrics {
	return &reloadMetrics{
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_config_last_reload_successful",
			Help: "1 if the configuration could be read and used at the newest start or reload.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_config_last_reload_success_timestamp_seconds",
			Help: "Time at which the current configuration came into force, by the machine's clock.",
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
