package api

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/api/wire"
)

// viewCollector computes metrics from views at each scrape.
type viewCollector struct {
	server *Server
	set    metricSet

	buildInfo gauge
	degraded  gauge
	condition gauge
	clock     gauge

	clusters clusterMetrics
	sources  sourceMetrics
	engine   engineMetrics
	load     loadMetrics
	now      nowMetrics
	scores   scoreMetrics
	coverage coverageMetrics
	models   modelMetrics
	history  historyMetrics
}

func newViewCollector(server *Server) *viewCollector {
	s := &metricSet{}
	c := &viewCollector{
		server: server,

		buildInfo: s.gauge("build_info",
			"Always 1; the label has the version of the daemon.", "version"),
		degraded: s.gauge("degraded", "1 if a problem keeps the daemon from doing all of its work, as in /readyz."),
		condition: s.gauge("health_condition",
			"Always 1, for each current condition of /readyz; the labels name the problem, the "+
				"source, the file or database, and the reason.", "condition", "cluster", "source", "file", "reason"),
		clock: s.gauge("clock_timestamp_seconds",
			"Time of the daemon's clock; the clock of a demonstration runs faster than others."),

		clusters: newClusterMetrics(s),
		sources:  newSourceMetrics(s),
		engine:   newEngineMetrics(s),
		load:     newLoadMetrics(s),
		now:      newNowMetrics(s, server.ask),
		scores:   newScoreMetrics(s),
		coverage: newCoverageMetrics(s),
		models:   newModelMetrics(s),
		history:  newHistoryMetrics(s),
	}
	c.set = *s
	return c
}

// Describe implements prometheus.Collector.
func (c *viewCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.set.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *viewCollector) Collect(to chan<- prometheus.Metric) {
	ch, service := scrape(to), c.server.ask
	ch.gauge(c.buildInfo, 1, c.server.opts.Version)
	ch.gauge(c.clock, unix(c.server.opts.Now()))
	c.health(ch)
	for _, v := range c.server.views.Views() {
		c.clusters.collect(ch, service, v)
		c.sources.collect(ch, v)
		c.engine.collect(ch, v)
		c.load.collect(ch, v)
		c.now.collect(ch, v)
		c.scores.collect(ch, v)
		c.coverage.collect(ch, v)
		for _, queue := range v.Models.Queues() {
			if v.MetricQueue(queue) != queue {
				continue
			}
			m, known := v.Models.Queue(queue), service.Analysis(v, queue, analysisAge)
			c.models.collect(ch, v.Cluster, queue, m, known)
			c.history.collect(ch, v.Cluster, queue, known, service.Saturation(v, queue))
		}
	}
}

// health sends the conditions of /readyz. Conditions that differ only in the time at which they began are one series.
func (c *viewCollector) health(ch scrape) {
	health := c.server.health()
	ch.gauge(c.degraded, flag(health.Status != wire.Ready))
	written := map[string]bool{}
	for _, one := range health.Conditions {
		if !written[one.Text] {
			written[one.Text] = true
			ch.gauge(c.condition, 1, one.Name, one.Cluster, one.Source, one.File, one.Reason)
		}
	}
}
