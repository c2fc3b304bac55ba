package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline"
)

// viewCollector turns views into metrics.
type viewCollector struct {
	server *Server
	descs  map[string]*prometheus.Desc
}

func newViewCollector(s *Server) *viewCollector {
	c := &viewCollector{server: s, descs: map[string]*prometheus.Desc{}}
	bySize, byLevel := []string{"cluster", "queue", "size"}, []string{"cluster", "queue", "size", "level"}
	byPeer, byPeerLevel := []string{"cluster", "queue", "peer"}, []string{"cluster", "queue", "peer", "level"}
	for _, d := range []struct {
		name, help string
		labels     []string
	}{
		{"build_info", "Always 1; the label tells the version.", []string{"version"}},
		{"degraded", "1 if anything keeps the daemon from doing all of its work, as /readyz has it.", nil},
		{"health_condition", "Always 1, for each condition of /readyz while it stands: what is wrong, of which source, with which file or database, and why.", []string{"condition", "cluster", "source", "file", "reason"}},
		{"as_of_timestamp_seconds", "Event time of the newest record.", []string{"cluster"}},
		{"stale", "1 if answers are marked stale.", []string{"cluster"}},
		{"out_of_order_events_total", "Events that were older than the newest one of the cluster; they are used all the same.", []string{"cluster"}},
		{"derived_events_total", "Events without a record of their own, learnt from a later record of the job.", []string{"cluster"}},
		{"model_refusals_total", "Changes from which the models could not learn: a lifetime or size beyond their range.", []string{"cluster"}},
		{"lost_ends_total", "Jobs that started and were submitted again with no end told between.", []string{"cluster"}},
		{"queues", "Queues with models of their own, or known from the configuration.", []string{"cluster"}},
		{"queues_folded_total", "Names of queues that got no place within models.max_queues; their jobs are in the queue other.", []string{"cluster"}},
		{"capacity_procs", "Processors of the cluster, configured, told by the scheduler (without nodes that are down), or the highest use seen.", []string{"cluster"}},
		{"pool_procs", "Processors of a pool, the nodes that only the jobs of some queues compete for.", []string{"cluster", "pool"}},
		{"pool_used_procs", "Processors of a pool that running jobs hold.", []string{"cluster", "pool"}},
		{"pool_pressure_ratio", "Part of a pool in use lately while jobs waited, by dimension: the fullest binds.", []string{"cluster", "pool", "dimension"}},
		{"source_caught_up", "1 if the end of the log has been reached.", []string{"cluster", "source"}},
		{"source_clock_offset_seconds", "By how much the times of a log are ahead of this host's clock, as measured; they are corrected by it. 0 if they agree, or clock_offset is configured.", []string{"cluster", "source"}},
		{"source_set_aside_events", "Events that are dated ahead of the clock and are used when it gets there.", []string{"cluster", "source"}},
		{"source_problem", "1 if something keeps the log from being read.", []string{"cluster", "source"}},
		{"forecasts_open", "Forecasts whose jobs have not started yet.", []string{"cluster"}},
		{"forecasts_waits_learnt", "Waits that the forecasts have learnt from.", []string{"cluster"}},
		{"engine_rows", "Waits that trees can be trained on.", []string{"cluster"}},
		{"engine_trainings_total", "Trainings of trees, failed ones included, since the start of the process.", []string{"cluster"}},
		{"engine_training_failures_total", "Trainings of trees that failed; those that were there go on.", []string{"cluster"}},
		{"engine_training_seconds", "What the newest training took; 0 before the first of the process.", []string{"cluster"}},
		{"engine_trees_timestamp_seconds", "Event time at which the training of the trees in force began; 0 before the first.", []string{"cluster"}},
		{"engine_trees_behind_waits", "Waits learnt since the training of the trees in force began.", []string{"cluster"}},
		{"engine_simulations_total", "How often a large pool was simulated for all requests, since the start of the process.", []string{"cluster"}},
		{"engine_simulation_seconds", "What the newest of these simulations took; 0 before the first of the process.", []string{"cluster"}},
		{"engine_simulation_age_seconds", "Event time since the oldest of these simulations in force; 0 where no pool is large, and each request is played itself.", []string{"cluster"}},
		{"forecasts_drifts_total", "Changes that were noticed in all jobs together, by reason (scores, capacity, limit, new_queue), after which forecasts learn faster.", []string{"cluster", "reason"}},
		{"queue_drifts_total", "Changes that were noticed in a queue, by reason (scores, capacity, limit, new_queue), after which its forecasts learn faster.", []string{"cluster", "queue", "reason"}},
		{"forecasts_drift_timestamp_seconds", "Event time of the newest change that was noticed; 0 if there was none.", []string{"cluster"}},
		{"forecasts_scored_total", "Forecasts whose jobs have started.", bySize},
		{"forecasts_scored_live_total", "Those of them that were made as it happened, not from history.", bySize},
		{"forecasts_censored_total", "Forecasts whose jobs left the queue without a start.", bySize},
		{"forecasts_impossible_total", "Jobs that started without a forecast because none was possible.", bySize},
		{"forecasts_hits_total", "Scored forecasts whose wait was not longer than the quantile of that level, rounded up to whole seconds.", byLevel},
		{"forecasts_below_total", "Scored forecasts whose wait was shorter than the quantile of that level, rounded down to whole seconds.", byLevel},
		{"forecasts_outlived_total", "Forecasts whose jobs left the queue without a start after the quantile of that level had passed.", byLevel},
		{"forecasts_log_pinball_total", "Sum of the pinball loss of ln(wait + 60 s) over scored forecasts.", byLevel},
		{"forecasts_median_error_seconds", "Median absolute error of the median over the newest 1000 scored forecasts.", bySize},
		{"peer_forecasts_scored_total", "Scored forecasts for which another method had an answer, too.", byPeer},
		{"peer_forecasts_hits_total", "Those whose wait was not longer than the other method's quantile of that level, rounded up to whole seconds.", byPeerLevel},
		{"peer_forecasts_log_pinball_total", "Sum of the pinball loss of ln(wait + 60 s) of the other method.", byPeerLevel},
		{"peer_forecasts_served_log_pinball_total", "The same sum of the forecast itself, over the same jobs.", byPeerLevel},
		{"model_samples", "Lifetimes in the window of a model.", []string{"cluster", "queue", "class"}},
		{"model_b0", "Intercept of the uniform-log law cdf(t) = b0 + b1 ln t.", []string{"cluster", "queue", "class"}},
		{"model_b1", "Slope of the uniform-log law cdf(t) = b0 + b1 ln t.", []string{"cluster", "queue", "class"}},
		{"model_r2", "Coefficient of determination of the uniform-log fit.", []string{"cluster", "queue", "class"}},
		{"model_fitted", "1 if the model could be fitted: uniform_log, lublin, markov, users.", []string{"cluster", "queue", "model"}},
		{"model_law_selected", "1 for the law of lifetimes that forecasts use, 0 for the others.", []string{"cluster", "queue", "class", "law"}},
		{"model_law_log_score", "Mean logarithm of the probability that a law of lifetimes gave beforehand to what then happened.", []string{"cluster", "queue", "class", "law"}},
		{"history_jobs", "Jobs that left and are kept to tell the users' ways.", []string{"cluster", "queue"}},
		{"history_users", "Users of the kept jobs, by how long they come: long_term, temporary, dropped (cut off by an end of the history).", []string{"cluster", "queue", "stay"}},
		{"history_flurries", "Bursts of jobs of one user among the kept jobs.", []string{"cluster", "queue"}},
		{"history_flurry_jobs", "Jobs of these bursts.", []string{"cluster", "queue"}},
		{"history_flurry_timestamp_seconds", "Event time of the newest submission of a burst; 0 if there is none.", []string{"cluster", "queue"}},
		{"history_robots", "Daily robots among the kept jobs: one user's jobs at one time of day, day after day.", []string{"cluster", "queue"}},
		{"history_saturated", "1 if jobs come faster than they can be run: the jobs in the system grew by more than one a week, and go on so in half of the simulated futures.", []string{"cluster", "queue"}},
		{"history_growth_jobs_per_second", "By how much the jobs that were submitted and have not left grow.", []string{"cluster", "queue"}},
		{"model_fit_timestamp_seconds", "Event time of the newest refit.", []string{"cluster", "queue", "class"}},
	} {
		c.descs[d.name] = prometheus.NewDesc("waitcast_"+d.name, d.help, d.labels, nil)
	}
	for _, d := range append(loadMetrics(), nowMetrics()...) {
		c.descs[d.name] = prometheus.NewDesc("waitcast_"+d.name, d.help, d.labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *viewCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *viewCollector) Collect(ch chan<- prometheus.Metric) {
	e := emitter{c, ch}
	e.gauge("build_info", 1, c.server.opts.Version)
	e.gauge("clock_timestamp_seconds", unix(c.server.opts.Now()))
	e.health()
	for _, v := range c.server.views.Views() {
		e.cluster(v)
		e.queues(v)
		e.summary(v)
		e.peers(v)
		for _, queue := range v.Models.Queues() {
			if v.MetricQueue(queue) != queue {
				continue
			}
			m := v.Models.Queue(queue)
			e.models(v.Cluster, queue, m)
			e.competition(v.Cluster, queue, m)
			e.history(v, queue, m)
		}
	}
}

type emitter struct {
	*viewCollector
	ch chan<- prometheus.Metric
}

func (e emitter) gauge(name string, value float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(e.descs[name], prometheus.GaugeValue, value, labels...)
}

func (e emitter) counter(name string, value float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(e.descs[name], prometheus.CounterValue, value, labels...)
}

// health writes the conditions of /readyz. Two that differ in their begin only are one series.
func (e emitter) health() {
	health := e.server.health()
	e.gauge("degraded", flag(health.Status != wire.Ready))
	written := map[string]bool{}
	for _, c := range health.Conditions {
		if !written[c.Text] {
			written[c.Text] = true
			e.gauge("health_condition", 1, c.Name, c.Cluster, c.Source, c.File, c.Reason)
		}
	}
}

func (e emitter) cluster(v *pipeline.View) {
	_, _, stale := e.server.ask.AsOf(v)
	e.gauge("as_of_timestamp_seconds", unix(e.server.ask.AsOfInstant(v)), v.Cluster)
	e.gauge("stale", flag(stale), v.Cluster)
	e.gauge("capacity_procs", float64(v.Capacity), v.Cluster)
	for _, p := range v.Pools {
		if p.Name == "" {
			continue // the whole cluster
		}
		e.gauge("pool_procs", float64(p.Has[cluster.Procs]), v.Cluster, p.Name)
		e.gauge("pool_used_procs", float64(p.Used[cluster.Procs]), v.Cluster, p.Name)
		for d, pressure := range p.Pressure {
			if p.Has[d] > 0 {
				e.gauge("pool_pressure_ratio", pressure, v.Cluster, p.Name, cluster.Dimension(d).String())
			}
		}
	}
	e.engine(v)
	e.gauge("forecasts_open", float64(v.Open), v.Cluster)
	e.drifts(v)
	e.load(v)
	e.counter("out_of_order_events_total", float64(v.Counts.OutOfOrder), v.Cluster)
	e.counter("derived_events_total", float64(v.Counts.Derived), v.Cluster)
	e.counter("model_refusals_total", float64(v.Refused), v.Cluster)
	e.counter("lost_ends_total", float64(v.Counts.LostEnds), v.Cluster)
	e.gauge("queues", float64(len(v.Queues())), v.Cluster)
	e.counter("queues_folded_total", float64(v.FoldedQueues), v.Cluster)
	for _, src := range v.Sources {
		e.gauge("source_last_line_timestamp_seconds", unix(src.LastLine), v.Cluster, src.Name)
		e.gauge("source_caught_up", flag(src.CaughtUp), v.Cluster, src.Name)
		e.gauge("source_clock_offset_seconds", src.ClockOffset.Seconds(), v.Cluster, src.Name)
		e.gauge("source_set_aside_events", float64(src.SetAside), v.Cluster, src.Name)
		e.gauge("source_problem", flag(src.Unreadable() != nil), v.Cluster, src.Name)
	}
}

// scores tells how the forecasts of a queue and size class turned out.
func (e emitter) scores(cluster string, key pipeline.ScoreKey, s *pipeline.Score) {
	labels := []string{cluster, key.Queue, key.Size}
	e.counter("forecasts_scored_total", float64(s.N), labels...)
	e.counter("forecasts_scored_live_total", float64(s.Live), labels...)
	e.counter("forecasts_censored_total", float64(s.Censored), labels...)
	e.counter("forecasts_impossible_total", float64(s.Unforecast), labels...)
	for i, level := range waittime.Levels() {
		at := append(labels[:3:3], levelName(level))
		e.counter("forecasts_hits_total", float64(s.UpTo[i]), at...)
		e.counter("forecasts_below_total", float64(s.Below[i]), at...)
		e.counter("forecasts_outlived_total", float64(s.Outlived[i]), at...)
		e.counter("forecasts_log_pinball_total", s.LogPinball[i], at...)
	}
	if len(s.Errors) > 0 {
		e.gauge("forecasts_median_error_seconds", s.MedianError(), labels...)
	}
}

// peers tells how other methods did on the jobs of each queue.
func (e emitter) peers(v *pipeline.View) {
	for queue, s := range pipeline.ByQueue(v.MetricScores()) {
		for i := range s.Peers {
			p := &s.Peers[i]
			e.counter("peer_forecasts_scored_total", float64(p.N), v.Cluster, queue, p.Method)
			for l, level := range waittime.Levels() {
				at := []string{v.Cluster, queue, p.Method, levelName(level)}
				e.counter("peer_forecasts_hits_total", float64(p.UpTo[l]), at...)
				e.counter("peer_forecasts_log_pinball_total", p.LogPinball[l], at...)
				e.counter("peer_forecasts_served_log_pinball_total", p.Served.LogPinball[l], at...)
			}
		}
	}
}

func levelName(level float64) string { return strconv.FormatFloat(level, 'g', -1, 64) }

func (e emitter) models(cluster, queue string, m *pipeline.QueueView) {
	for i := range m.Lifetimes {
		l, class := &m.Lifetimes[i], pipeline.Classes()[i]
		e.gauge("model_samples", float64(l.Sample.N()), cluster, queue, class)
		if l.Err != nil {
			continue
		}
		e.gauge("model_b0", l.Law.B0, cluster, queue, class)
		e.gauge("model_b1", l.Law.B1, cluster, queue, class)
		e.gauge("model_r2", l.Law.R2, cluster, queue, class)
		e.gauge("model_fit_timestamp_seconds", unix(l.Law.At), cluster, queue, class)
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
