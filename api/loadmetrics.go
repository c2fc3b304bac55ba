package api

import (
	"time"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// loadMetrics are those of the forecast of the load: of the whole cluster only, so that they are few.
type loadMetrics struct {
	queuedWork     gauge
	queuedJobs     gauge
	utilization    gauge
	made           counter
	failures       counter
	madeFor        gauge
	seconds        gauge
	observeSeconds gauge
	replicas       gauge
	saturation     gauge
	outcomes       gauge
	outside        gauge
	logPinball     gauge
}

func newLoadMetrics(s *metricSet) loadMetrics {
	return loadMetrics{
		queuedWork: s.gauge("load_forecast_queued_work_processor_seconds",
			"Forecast quantile of the queued work: processors times time limits of the jobs that compete.",
			"cluster", "horizon", "level"),
		queuedJobs: s.gauge("load_forecast_queued_jobs",
			"Forecast quantile of the number of jobs that compete.", "cluster", "horizon", "level"),
		utilization: s.gauge("load_forecast_utilization_ratio",
			"Forecast quantile of the part of the processors in use.", "cluster", "horizon", "level"),
		made: s.counter("load_forecasts_total",
			"Forecasts of the load that were made since the start of the process.", "cluster"),
		failures: s.counter("load_forecast_failures_total",
			"Attempts to observe or to forecast the load that failed; the forecast before goes on.", "cluster"),
		madeFor: s.gauge("load_forecast_timestamp_seconds",
			"Event time that the newest forecast of the load was made for; 0 before the first of the process.",
			"cluster"),
		seconds: s.gauge("load_forecast_seconds",
			"What the newest forecast of the load took; 0 before the first of the process.", "cluster"),
		observeSeconds: s.gauge("load_forecast_observe_seconds",
			"What it took to learn from the newest look at the cluster.", "cluster"),
		replicas: s.gauge("load_forecast_replicas",
			"Replicas that the newest forecast of the load simulated: fewer on large clusters.", "cluster"),
		saturation: s.gauge("load_forecast_saturation_probability_ratio",
			"Probability that the queue grows without bound if jobs go on coming as they do.", "cluster"),
		outcomes: s.gauge("load_forecast_outcomes",
			"Outcomes of forecasts of the queued work that are scored.", "cluster", "horizon"),
		outside: s.gauge("load_forecast_outside_ratio",
			"Part of them outside the band from 0.05 to 0.95.", "cluster", "horizon"),
		logPinball: s.gauge("load_forecast_log_pinball_mean",
			"Mean pinball loss of the queued work, on a log scale, of what is served and of other methods on "+
				"the same outcomes.", "cluster", "horizon", "method"),
	}
}

func horizonName(seconds float64) string {
	return duration.String(time.Duration(seconds * float64(time.Second)))
}

// collect sends the newest forecast of a cluster's load, and how such forecasts turned out.
func (m *loadMetrics) collect(ch scrape, v *readmodel.View) {
	if v.ForecastsLoad() {
		made, failures := v.LoadForecasts()
		ch.counter(m.made, float64(made), v.Cluster)
		ch.counter(m.failures, float64(failures), v.Cluster)
	}
	o := v.Outlook()
	if o == nil {
		if v.ForecastsLoad() {
			ch.gauge(m.madeFor, 0, v.Cluster)
			ch.gauge(m.seconds, 0, v.Cluster)
		}
		return
	}
	ch.gauge(m.madeFor, unix(o.At), v.Cluster)
	ch.gauge(m.seconds, o.ForecastTook.Seconds(), v.Cluster)
	ch.gauge(m.observeSeconds, o.ObserveTook.Seconds(), v.Cluster)
	ch.gauge(m.replicas, float64(o.Replicas), v.Cluster)
	if o.Saturation.Replicas > 0 {
		ch.gauge(m.saturation, o.Saturation.Probability, v.Cluster)
	}
	for i := range o.Cluster.Points {
		p := &o.Cluster.Points[i]
		for l, level := range outlook.Levels() {
			labels := []string{v.Cluster, horizonName(p.Horizon), ask.LevelName(level)}
			ch.gauge(m.queuedWork, p.QueuedWork[l], labels...)
			ch.gauge(m.queuedJobs, p.QueueLength[l], labels...)
			ch.gauge(m.utilization, p.Utilization[l], labels...)
		}
	}
	for i := range o.Scores {
		s := &o.Scores[i]
		if s.Queues || s.Series != outlook.QueuedWork || s.N == 0 {
			continue
		}
		horizon := horizonName(s.Horizon)
		ch.gauge(m.outcomes, s.N, v.Cluster, horizon)
		ch.gauge(m.outside, s.Below+s.Above, v.Cluster, horizon)
		for i, method := range outlook.Methods() {
			ch.gauge(m.logPinball, s.Mean(i), v.Cluster, horizon, method)
		}
	}
}
