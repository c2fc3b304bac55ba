package api

import (
	"time"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// loadMetrics are the metrics of the load forecast. They cover only the whole cluster, which keeps their number
// small.
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
			"Forecast quantile of the share of the processors in use.", "cluster", "horizon", "level"),
		made: s.counter("load_forecasts_total",
			"Forecasts of the load that were made since the start of the process.", "cluster"),
		failures: s.counter("load_forecast_failures_total",
			"Failed attempts to observe or to forecast the load; the previous forecast stays in use.", "cluster"),
		madeFor: s.gauge("load_forecast_timestamp_seconds",
			"Event time for which the newest forecast of the load was made; 0 before the first of the "+
				"process.",
			"cluster"),
		seconds: s.gauge("load_forecast_seconds",
			"Time that the newest forecast of the load took; 0 before the first of the process.", "cluster"),
		observeSeconds: s.gauge("load_forecast_observe_seconds",
			"Time that the load forecast took to learn from its newest observation of the cluster.", "cluster"),
		replicas: s.gauge("load_forecast_replicas",
			"Number of simulated futures in the newest forecast of the load; it is lower on large "+
				"clusters.", "cluster"),
		saturation: s.gauge("load_forecast_saturation_probability_ratio",
			"Probability that the queue grows without bound if jobs keep arriving as they do.", "cluster"),
		outcomes: s.gauge("load_forecast_outcomes",
			"Number of scored outcomes of forecasts of the queued work.", "cluster", "horizon"),
		outside: s.gauge("load_forecast_outside_ratio",
			"Share of the scored outcomes of the queued work that were outside the forecast band from "+
				"0.05 to 0.95.", "cluster", "horizon"),
		logPinball: s.gauge("load_forecast_log_pinball_mean",
			"Mean pinball loss of forecasts of the queued work, on a log scale, for the served "+
				"forecast and for other methods on the same outcomes.", "cluster", "horizon", "method"),
	}
}

func horizonName(seconds float64) string {
	return duration.String(time.Duration(seconds * float64(time.Second)))
}

// collect sends the newest forecast of a cluster's load, and the accuracy of such forecasts.
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
