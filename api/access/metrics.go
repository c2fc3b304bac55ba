package access

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/api/access/fairqueue"
)

// These are the reasons for which requests and connections are refused, as labels of metrics.
const (
	reasonCredential  = "credential"   // 401: a wrong credential
	reasonMissing     = "missing"      // 401: no credential
	reasonRole        = "role"         // 403
	reasonOrigin      = "cross_origin" // 403
	reasonHost        = "host"         // 421
	reasonRate        = "rate"         // 429
	reasonConnections = "connections"  // 503: the connection is beyond the limit
	reasonQueue       = "queue"        // 429: too many requests of the client wait for a slot
	reasonBusy        = "busy"         // 503
)

// metrics are the package's metrics.
type metrics struct {
	refused  *prometheus.CounterVec
	files    *prometheus.GaugeVec
	slotWait prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, expensive *fairqueue.Queue) *metrics {
	m := &metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_refused_total",
			Help: "HTTP requests refused for the caller's credential or load, by reason: credential " +
				"(wrong), missing (no credential), role, cross_origin, host (of another site), rate, " +
				"connections (on the reserve), queue (too many of the client wait for a slot), busy (no slot " +
				"in time).",
		}, []string{"reason"}),
		files: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waitcast_access_file_ok",
			Help: "1 if the newest content of the file is in force; 0 if it cannot be used and older " +
				"content is in force.",
		}, []string{"file"}),
		slotWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "waitcast_http_expensive_wait_seconds",
			Help: "Time for which questions of many candidates waited for their first slot. Questions that got " +
				"no slot do not count.",
			Buckets: []float64{0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5},
		}),
	}
	for _, reason := range []string{reasonCredential, reasonMissing, reasonRole, reasonOrigin, reasonHost,
		reasonRate, reasonConnections, reasonQueue, reasonBusy} {
		m.refused.WithLabelValues(reason)
	}
	if reg != nil {
		reg.MustRegister(m.refused, m.files, m.slotWait)
		reg.MustRegister(queueMetrics(expensive)...)
	}
	return m
}

// queueMetrics returns the metrics of the queue of expensive requests.
func queueMetrics(q *fairqueue.Queue) []prometheus.Collector {
	gauge := func(name, help string, value func(fairqueue.State) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(q.State())) })
	}
	return []prometheus.Collector{
		gauge("waitcast_http_expensive_computing", "Questions of many candidates that are being answered.",
			func(s fairqueue.State) int { return s.Busy }),
		gauge("waitcast_http_expensive_waiting", "Questions of many candidates that wait for a slot.",
			func(s fairqueue.State) int { return s.Waiting }),
		gauge("waitcast_http_expensive_clients", "Clients whose questions of many candidates wait for a slot.",
			func(s fairqueue.State) int { return s.Clients }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "waitcast_http_expensive_yields_total",
			Help: "Times that a question of many candidates let another one go first, between two " +
				"candidates."},
			func() float64 { return float64(q.State().Yields) }),
	}
}

// file sets the metric that reports whether the newest content of a file is in force.
func (m *metrics) file(kind string, ok bool) {
	value := 0.0
	if ok {
		value = 1
	}
	m.files.WithLabelValues(kind).Set(value)
}

// noFile removes the series of a file that is no longer configured.
func (m *metrics) noFile(kind string) { m.files.DeleteLabelValues(kind) }
