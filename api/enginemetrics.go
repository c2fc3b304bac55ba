package api

import (
	"math"

	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// engineMetrics are those of what the engine of a cluster learnt from, and of its work in the background.
type engineMetrics struct {
	learnt            gauge
	rows              gauge
	trainings         counter
	trainingFailures  counter
	trainingSeconds   gauge
	treesAt           gauge
	treesBehind       gauge
	simulations       counter
	simulationSeconds gauge
	simulationAge     gauge
	drifts            counter
	queueDrifts       counter
	newestDrift       gauge
}

func newEngineMetrics(s *metricSet) engineMetrics {
	return engineMetrics{
		learnt: s.gauge("forecasts_waits_learnt", "Waits that the forecasts have learnt from.", "cluster"),
		rows:   s.gauge("engine_rows", "Waits that trees can be trained on.", "cluster"),
		trainings: s.counter("engine_trainings_total",
			"Trainings of trees, failed ones included, since the start of the process.", "cluster"),
		trainingFailures: s.counter("engine_training_failures_total",
			"Trainings of trees that failed; those that were there go on.", "cluster"),
		trainingSeconds: s.gauge("engine_training_seconds",
			"What the newest training took; 0 before the first of the process.", "cluster"),
		treesAt: s.gauge("engine_trees_timestamp_seconds",
			"Event time at which the training of the trees in force began; 0 before the first.", "cluster"),
		treesBehind: s.gauge("engine_trees_behind_waits",
			"Waits learnt since the training of the trees in force began.", "cluster"),
		simulations: s.counter("engine_simulations_total",
			"How often a large pool was simulated for all requests, since the start of the process.", "cluster"),
		simulationSeconds: s.gauge("engine_simulation_seconds",
			"What the newest of these simulations took; 0 before the first of the process.", "cluster"),
		simulationAge: s.gauge("engine_simulation_age_seconds",
			"Event time since the oldest of these simulations in force; 0 where no pool is large, and each "+
				"request is played itself.", "cluster"),
		drifts: s.counter("forecasts_drifts_total",
			"Changes that were noticed in all jobs together, by reason (scores, capacity, limit, new_queue), "+
				"after which forecasts learn faster.", "cluster", "reason"),
		queueDrifts: s.counter("queue_drifts_total",
			"Changes that were noticed in a queue, by reason (scores, capacity, limit, new_queue), after "+
				"which its forecasts learn faster.", "cluster", "queue", "reason"),
		newestDrift: s.gauge("forecasts_drift_timestamp_seconds",
			"Event time of the newest change that was noticed; 0 if there was none.", "cluster"),
	}
}

func (m *engineMetrics) collect(ch scrape, v *readmodel.View) {
	s := v.Learning
	trees := s.TreesAt
	if math.IsNaN(trees) {
		trees = 0
	}
	ch.gauge(m.learnt, float64(s.Learnt), v.Cluster)
	ch.gauge(m.rows, float64(s.Rows), v.Cluster)
	ch.counter(m.trainings, float64(s.Trainings), v.Cluster)
	ch.counter(m.trainingFailures, float64(s.Failures), v.Cluster)
	ch.gauge(m.trainingSeconds, s.TrainingTook.Seconds(), v.Cluster)
	ch.gauge(m.treesAt, trees, v.Cluster)
	ch.gauge(m.treesBehind, float64(s.TreesBehind), v.Cluster)
	ch.counter(m.simulations, float64(s.Simulations), v.Cluster)
	ch.gauge(m.simulationSeconds, s.SimulationTook.Seconds(), v.Cluster)
	ch.gauge(m.simulationAge, s.SimulationAge, v.Cluster)
	m.collectDrifts(ch, v)
}

// collectDrifts sends the changes that the engine noticed.
func (m *engineMetrics) collectDrifts(ch scrape, v *readmodel.View) {
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
				ch.counter(m.drifts, float64(d.Alarms[why]), v.Cluster, why.String())
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
			ch.counter(m.queueDrifts, of[why], v.Cluster, queue, why.String())
		}
	}
	ch.gauge(m.newestDrift, newest, v.Cluster)
}
