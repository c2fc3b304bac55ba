package source

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PollMetrics are the metrics that all pollers of a process share. A nil *PollMetrics counts nothing.
type PollMetrics struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
	success  *prometheus.GaugeVec
	inARow   *prometheus.GaugeVec
}

// NewPollMetrics registers the metrics on reg. Call it once, and share the result.
func NewPollMetrics(reg prometheus.Registerer) *PollMetrics {
	m := &PollMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waitcast_snapshot_seconds",
			Help: "Time that one query of the scheduler took, by a command or over slurmrestd, including failed " +
				"queries.",
			Buckets: prometheus.ExponentialBuckets(.005, 2, 13),
		}, []string{"cluster", "source"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_snapshot_failures_total", Help: "Failed queries of the scheduler, by reason.",
		}, []string{"cluster", "source", "reason"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waitcast_snapshot_last_success_timestamp_seconds",
			Help: "Time at which the newest successful query of the scheduler ended; 0 before the first.",
		}, []string{"cluster", "source"}),
		inARow: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waitcast_snapshot_consecutive_failures",
			Help: "Failed queries of the scheduler since the newest successful one.",
		}, []string{"cluster", "source"}),
	}
	reg.MustRegister(m.seconds, m.failures, m.success, m.inARow)
	return m
}

// Forget removes the series of a source that is no longer polled.
func (m *PollMetrics) Forget(name string) {
	labels := prometheus.Labels{"source": name}
	m.seconds.DeletePartialMatch(labels)
	m.failures.DeletePartialMatch(labels)
	m.success.DeletePartialMatch(labels)
	m.inARow.DeletePartialMatch(labels)
}

// touch creates a source's metrics with the value zero.
func (m *PollMetrics) touch(cfg *Config) {
	if m == nil {
		return
	}
	m.seconds.WithLabelValues(cfg.Options.Cluster, cfg.Name)
	m.success.WithLabelValues(cfg.Options.Cluster, cfg.Name)
	m.inARow.WithLabelValues(cfg.Options.Cluster, cfg.Name)
	for _, reason := range [...]string{FailedStart, FailedTimeout, FailedExit, FailedOutput} {
		m.failures.WithLabelValues(cfg.Options.Cluster, cfg.Name, reason)
	}
}

func (m *PollMetrics) observe(cfg *Config, took time.Duration, now time.Time, err error) {
	if m == nil {
		return
	}
	m.seconds.WithLabelValues(cfg.Options.Cluster, cfg.Name).Observe(took.Seconds())
	if err == nil {
		m.success.WithLabelValues(cfg.Options.Cluster, cfg.Name).Set(float64(now.UnixMilli()) / 1e3)
		m.inARow.WithLabelValues(cfg.Options.Cluster, cfg.Name).Set(0)
		return
	}
	reason := FailedExit
	var call *CallError
	if errors.As(err, &call) {
		reason = call.Reason
	}
	m.failures.WithLabelValues(cfg.Options.Cluster, cfg.Name, reason).Inc()
	m.inARow.WithLabelValues(cfg.Options.Cluster, cfg.Name).Inc()
}
