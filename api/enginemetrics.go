package api

import (
	"math"

	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
)

// engineMetrics are the metrics of the engine of a cluster: its training data and its background work.
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
	remembered        gauge
	forgotten         counter
}

func newEngineMetrics(s *metricSet) engineMetrics {
	return engineMetrics{
		learnt: s.gauge("forecasts_waits_learnt",
			"Waits from which the forecasts have learnt.", "cluster"),
		rows: s.gauge("engine_rows", "Waits on which the trees can be trained.", "cluster"),
		trainings: s.counter("engine_trainings_total",
			"Trainings of the trees since the start of the process, including failed ones.", "cluster"),
		trainingFailures: s.counter("engine_training_failures_total",
			"Failed trainings of the trees; the old trees stay in use.", "cluster"),
		trainingSeconds: s.gauge("engine_training_seconds",
			"Time that the newest training of the trees took; 0 before the first of the process.", "cluster"),
		treesAt: s.gauge("engine_trees_timestamp_seconds",
			"Event time at which the training of the current trees began; 0 before the first.", "cluster"),
		treesBehind: s.gauge("engine_trees_behind_waits",
			"Waits learnt since the training of the current trees began.", "cluster"),
		simulations: s.counter("engine_simulations_total",
			"Simulations of a large pool for all requests, since the start of the process.", "cluster"),
		simulationSeconds: s.gauge("engine_simulation_seconds",
			"Time that the newest simulation of a large pool took; 0 before the first of the process.", "cluster"),
		simulationAge: s.gauge("engine_simulation_age_seconds",
			"Age, in event time, of the oldest current simulation of a large pool; 0 if no pool is "+
				"large, because then each request is simulated separately.", "cluster"),
		drifts: s.counter("forecasts_drifts_total",
			"Noticed changes of how jobs wait, in all jobs together, by reason (scores, capacity, "+
				"limit, new_queue). Forecasts learn faster after a change.", "cluster", "reason"),
		queueDrifts: s.counter("queue_drifts_total",
			"Noticed changes of how jobs of the queue wait, by reason (scores, capacity, limit, "+
				"new_queue). Forecasts of the queue learn faster after a change.", "cluster", "queue", "reason"),
		newestDrift: s.gauge("forecasts_drift_timestamp_seconds",
			"Event time of the newest noticed change of how jobs wait; 0 if there was none.", "cluster"),
		remembered: s.gauge("engine_remembered",
			"Entries that the forecasts remember, by kind: users, and histories (the runs of a user "+
				"in a queue).",
			"cluster", "kind"),
		forgotten: s.counter("engine_forgotten_total",
			"Entries that the forecasts have forgotten since the start of the process, by kind "+
				"(users, histories of a user in a queue, classes of a time limit in a queue) and reason: "+
				"to make room for others, or for their age (models.forget_after).", "cluster", "kind", "reason"),
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
	m.collectMemory(ch, v)
}

// collectMemory sends how many users and histories the engine remembers, and how many users, histories and classes of
// time limits it has forgotten.
func (m *engineMetrics) collectMemory(ch scrape, v *readmodel.View) {
	s := v.Learning
	ch.gauge(m.remembered, float64(s.Users), v.Cluster, "users")
	ch.gauge(m.remembered, float64(s.Histories), v.Cluster, "histories")
	f := s.Forgotten
	for _, c := range []struct {
		kind      string
		room, age int
	}{
		{"users", f.UsersForRoom, f.UsersByAge}, {"histories", f.Laws.HistoriesForRoom, f.Laws.HistoriesByAge},
		{"classes", f.Laws.ClassesForRoom, f.Laws.ClassesByAge},
	} {
		ch.counter(m.forgotten, float64(c.room), v.Cluster, c.kind, "room")
		ch.counter(m.forgotten, float64(c.age), v.Cluster, c.kind, "age")
	}
}

// collectDrifts sends the numbers of drift alarms, by queue and for the whole cluster, and the time of the newest
// drift.
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
