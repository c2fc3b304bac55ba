package api

import (
	"math"

	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// engine tells what the engine of a cluster learnt from, and what its work in the background takes.
func (e emitter) engine(v *pipeline.View) {
	s := v.Learning
	trees := s.TreesAt
	if math.IsNaN(trees) {
		trees = 0
	}
	for name, value := range map[string]float64{
		"forecasts_waits_learnt": float64(s.Learnt), "engine_rows": float64(s.Rows),
		"engine_training_seconds": s.TrainingTook.Seconds(), "engine_trees_timestamp_seconds": trees, "engine_trees_behind_waits": float64(s.TreesBehind),
		"engine_simulation_seconds": s.SimulationTook.Seconds(), "engine_simulation_age_seconds": s.SimulationAge,
	} {
		e.gauge(name, value, v.Cluster)
	}
	for name, value := range map[string]int{
		"engine_trainings_total": s.Trainings, "engine_training_failures_total": s.Failures, "engine_simulations_total": s.Simulations,
	} {
		e.counter(name, float64(value), v.Cluster)
	}
}

// drifts tells the changes that the engine noticed.
func (e emitter) drifts(v *pipeline.View) {
	newest := 0.0
	alarms := map[string]map[ensemble.Reason]float64{}
	for _, queue := range v.MetricQueues() {
		alarms[queue] = map[ensemble.Reason]float64{}
	}
	for i := range v.Drifts {
		d := &v.Drifts[i]
		queue := v.MetricQueue(d.Queue)
		if alarms[queue] == nil && !d.Whole {
			alarms[queue] = map[ensemble.Reason]float64{}
		}
		for _, why := range ensemble.Reasons() {
			if d.Whole {
				e.counter("forecasts_drifts_total", float64(d.Alarms[why]), v.Cluster, why.String())
			} else {
				alarms[queue][why] += float64(d.Alarms[why])
			}
		}
		if !math.IsNaN(d.Last) {
			newest = math.Max(newest, d.Last)
		}
	}
	for queue, of := range alarms {
		for _, why := range ensemble.Reasons() {
			e.counter("queue_drifts_total", of[why], v.Cluster, queue, why.String())
		}
	}
	e.gauge("forecasts_drift_timestamp_seconds", newest, v.Cluster)
}
