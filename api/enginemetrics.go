package api

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor/engine"
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
	newest, missing := 0.0, v.Queues()
	for i := range v.Drifts {
		d := &v.Drifts[i]
		for _, why := range engine.Reasons() {
			if d.Whole {
				e.counter("forecasts_drifts_total", float64(d.Alarms[why]), v.Cluster, why.String())
			} else {
				e.counter("queue_drifts_total", float64(d.Alarms[why]), v.Cluster, d.Queue, why.String())
			}
		}
		if !math.IsNaN(d.Last) {
			newest = math.Max(newest, d.Last)
		}
		if !d.Whole {
			missing = slices.DeleteFunc(missing, func(queue string) bool { return queue == d.Queue })
		}
	}
	for _, queue := range missing {
		for _, why := range engine.Reasons() {
			e.counter("queue_drifts_total", 0, v.Cluster, queue, why.String())
		}
	}
	e.gauge("forecasts_drift_timestamp_seconds", newest, v.Cluster)
}
