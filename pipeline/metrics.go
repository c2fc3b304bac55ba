package pipeline

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Metrics are the metrics that the writer updates. Package api collects those that are read from views.
type Metrics struct {
	Lines         *prometheus.CounterVec
	BadLines      *prometheus.CounterVec
	SetAside      *prometheus.CounterVec
	Events        *prometheus.CounterVec
	StoreErrors   prometheus.Counter
	StoreFailing  prometheus.Gauge
	CommitSeconds prometheus.Histogram
	Stopped       *prometheus.GaugeVec
	Published     prometheus.Counter
	*Observed
}

// NewMetrics creates and registers the metrics of one pipeline.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		Lines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_lines_total", Help: "Lines of the source that were parsed, including bad ones.",
		}, []string{"cluster", "source"}),
		BadLines: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_bad_lines_total", Help: "Lines of the source that could not be used, by reason.",
		}, []string{"cluster", "source", "reason"}),
		SetAside: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_set_aside_lines_total",
			Help: "Lines of the source that were dated ahead of the clock and set aside.",
		}, []string{"cluster", "source"}),
		Events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waitcast_events_total",
			Help: "Job events by their effect on the state of the cluster: applied, duplicate, orphan.",
		}, []string{"cluster", "source", "verdict"}),
		StoreFailing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_store_failing",
			Help: "1 while new records wait because the database cannot be read or written, or its file is " +
				"not in its place.",
		}),
		StoreErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waitcast_store_errors_total", Help: "Failed operations of the database.",
		}),
		CommitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "waitcast_store_commit_seconds", Help: "Time that one transaction of the database took.",
			Buckets: prometheus.ExponentialBuckets(.0005, 2, 14),
		}),
		Published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waitcast_views_published_total", Help: "States of the clusters that were published to readers.",
		}),
		Stopped: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waitcast_cluster_stopped",
			Help: "1 if a bug has stopped the cluster: its answers are those of that time until the daemon is " +
				"restarted.",
		}, []string{"cluster"}),
		Observed: newObserved(reg),
	}
	reg.MustRegister(m.Lines, m.BadLines, m.SetAside, m.Events, m.StoreErrors, m.StoreFailing,
		m.CommitSeconds, m.Published, m.Stopped)
	return m
}

// Touch creates a source's counters with the value zero.
func (m *Metrics) Touch(s source.Config) {
	m.Lines.WithLabelValues(s.Options.Cluster, s.Name)
	m.SetAside.WithLabelValues(s.Options.Cluster, s.Name)
	m.touchBad(s)
	for v := cluster.Applied; v <= cluster.Orphan; v++ {
		m.Events.WithLabelValues(s.Options.Cluster, s.Name, v.String())
	}
}

// TouchImports creates the counters of the bad lines of imports into a cluster with the value zero.
func (m *Metrics) TouchImports(clusterName string) {
	for _, reason := range collector.Reasons() {
		m.BadLines.WithLabelValues(clusterName, clusterName+"/"+ImportName, reason)
	}
}

// forget removes the series of a source that is no longer read.
func (m *Metrics) forget(clusterName, sourceName string) {
	labels := prometheus.Labels{"cluster": clusterName, "source": sourceName}
	for _, series := range [...]*prometheus.CounterVec{m.Lines, m.BadLines, m.SetAside, m.Events} {
		series.DeletePartialMatch(labels)
	}
}

func (m *Metrics) observe(d *source.Delivery) {
	name, clusterName := d.Source.Name, d.Source.Options.Cluster
	m.Lines.WithLabelValues(clusterName, name).Add(float64(d.Lines))
	for _, b := range d.Bad {
		m.BadLines.WithLabelValues(clusterName, name, b.Reason).Inc()
	}
}

func (m *Metrics) publish(map[string]*readmodel.View) { m.Published.Inc() }
