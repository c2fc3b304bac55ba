package access

import "github.com/prometheus/client_golang/prometheus"

// The reasons for which requests and connections are refused, as metrics have them.
const (
	reasonCredential = "credential"   // 401: a wrong one
	reasonMissing    = "missing"      // 401: none
	reasonRole       = "role"         // 403
	reasonOrigin     = "cross_origin" // 403
	reasonRate       = "rate"         // 429
	reasonBusy       = "busy"         // 503
)

// metrics are the package's own.
type metrics struct {
	refused *prometheus.CounterVec
	files   *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_http_refused_total",
			Help: "Requests that were refused for who asked, or how much: credential (wrong), missing (no " +
				"credential), role, cross_origin, rate, busy.",
		}, []string{"reason"}),
		files: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waitcast_access_file_ok",
			Help: "1 if the newest content of the file is in force; 0 if it cannot be used and an older one is.",
		}, []string{"file"}),
	}
	for _, reason := range []string{reasonCredential, reasonMissing, reasonRole, reasonOrigin, reasonRate, reasonBusy} {
		m.refused.WithLabelValues(reason)
	}
	if reg != nil {
		reg.MustRegister(m.refused, m.files)
	}
	return m
}

// file notes whether the newest content of a file is in force.
func (m *metrics) file(kind string, ok bool) {
	value := 0.0
	if ok {
		value = 1
	}
	m.files.WithLabelValues(kind).Set(value)
}

// noFile removes the series of a file that is not configured any more.
func (m *metrics) noFile(kind string) { m.files.DeleteLabelValues(kind) }
