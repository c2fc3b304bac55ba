package api

import (
	"time"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// described is a metric with its help and labels.
type described struct {
	name, help string
	labels     []string
}

// loadMetrics are those of the forecast of the load: of the whole cluster only, so that they are few.
func loadMetrics() []described {
	byLevel, byHorizon := []string{"cluster", "horizon", "level"}, []string{"cluster", "horizon"}
	return []described{
		{"load_forecast_queued_work_processor_seconds", "Forecast quantile of the queued work: processors times time limits of the jobs that compete.", byLevel},
		{"load_forecast_queued_jobs", "Forecast quantile of the number of jobs that compete.", byLevel},
		{"load_forecast_utilization_ratio", "Forecast quantile of the part of the processors in use.", byLevel},
		{"load_forecasts_total", "Forecasts of the load that were made since the start of the process.", []string{"cluster"}},
		{"load_forecast_failures_total", "Attempts to observe or to forecast the load that failed; the forecast before goes on.", []string{"cluster"}},
		{"load_forecast_timestamp_seconds", "Event time that the newest forecast of the load was made for; 0 before the first of the process.", []string{"cluster"}},
		{"load_forecast_seconds", "What the newest forecast of the load took; 0 before the first of the process.", []string{"cluster"}},
		{"load_forecast_observe_seconds", "What it took to learn from the newest look at the cluster.", []string{"cluster"}},
		{"load_forecast_replicas", "Replicas that the newest forecast of the load simulated: fewer on large clusters.", []string{"cluster"}},
		{"load_forecast_saturation_probability_ratio", "Probability that the queue grows without bound if jobs go on coming as they do.", []string{"cluster"}},
		{"load_forecast_outcomes", "Outcomes of forecasts of the queued work that are scored.", byHorizon},
		{"load_forecast_outside_ratio", "Part of them outside the band from .05 to .95.", byHorizon},
		{"load_forecast_log_pinball_mean", "Mean pinball loss of the queued work, on a log scale, of what is served and of other methods on the same outcomes.", []string{"cluster", "horizon", "method"}},
	}
}

func horizonName(seconds float64) string {
	return duration.String(time.Duration(seconds * float64(time.Second)))
}

// load tells the newest forecast of a cluster's load, and how such forecasts turned out.
func (e emitter) load(v *pipeline.View) {
	if v.ForecastsLoad() {
		made, failures := v.LoadForecasts()
		e.counter("load_forecasts_total", float64(made), v.Cluster)
		e.counter("load_forecast_failures_total", float64(failures), v.Cluster)
	}
	o := v.Outlook()
	if o == nil {
		if v.ForecastsLoad() {
			e.gauge("load_forecast_timestamp_seconds", 0, v.Cluster)
			e.gauge("load_forecast_seconds", 0, v.Cluster)
		}
		return
	}
	e.gauge("load_forecast_timestamp_seconds", unix(o.At), v.Cluster)
	e.gauge("load_forecast_seconds", o.ForecastTook.Seconds(), v.Cluster)
	e.gauge("load_forecast_observe_seconds", o.ObserveTook.Seconds(), v.Cluster)
	e.gauge("load_forecast_replicas", float64(o.Replicas), v.Cluster)
	if o.Saturation.Replicas > 0 {
		e.gauge("load_forecast_saturation_probability_ratio", o.Saturation.Probability, v.Cluster)
	}
	for i := range o.Cluster.Points {
		p := &o.Cluster.Points[i]
		for l, level := range outlook.Levels() {
			labels := []string{v.Cluster, horizonName(p.Horizon), levelName(level)}
			e.gauge("load_forecast_queued_work_processor_seconds", p.QueuedWork[l], labels...)
			e.gauge("load_forecast_queued_jobs", p.QueueLength[l], labels...)
			e.gauge("load_forecast_utilization_ratio", p.Utilization[l], labels...)
		}
	}
	for i := range o.Scores {
		s := &o.Scores[i]
		if s.Queues || s.Series != outlook.QueuedWork || s.N == 0 {
			continue
		}
		e.gauge("load_forecast_outcomes", s.N, v.Cluster, horizonName(s.Horizon))
		e.gauge("load_forecast_outside_ratio", s.Below+s.Above, v.Cluster, horizonName(s.Horizon))
		for m, method := range outlook.Methods() {
			e.gauge("load_forecast_log_pinball_mean", s.Mean(m), v.Cluster, horizonName(s.Horizon), method)
		}
	}
}
