package api

import (
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// clusterMetrics are those of what is known of a cluster, and of the events that it was learnt from.
type clusterMetrics struct {
	asOf          gauge
	stale         gauge
	outOfOrder    counter
	derived       counter
	refusals      counter
	lostEnds      counter
	queues        gauge
	foldedQueues  counter
	capacity      gauge
	poolProcs     gauge
	poolUsedProcs gauge
	poolPressure  gauge
	openForecasts gauge
}

func newClusterMetrics(s *metricSet) clusterMetrics {
	return clusterMetrics{
		asOf:  s.gauge("as_of_timestamp_seconds", "Event time of the newest record.", "cluster"),
		stale: s.gauge("stale", "1 if answers are marked stale.", "cluster"),
		outOfOrder: s.counter("out_of_order_events_total",
			"Events that were older than the newest one of the cluster; they are used all the same.", "cluster"),
		derived: s.counter("derived_events_total",
			"Events without a record of their own, learnt from a later record of the job.", "cluster"),
		refusals: s.counter("model_refusals_total",
			"Changes from which the models could not learn: a lifetime or size beyond their range.", "cluster"),
		lostEnds: s.counter("lost_ends_total",
			"Jobs that started and were submitted again with no end told between.", "cluster"),
		queues: s.gauge("queues", "Queues with models of their own, or known from the configuration.", "cluster"),
		foldedQueues: s.counter("queues_folded_total",
			"Names of queues that got no place within models.max_queues; their jobs are in the queue other.",
			"cluster"),
		capacity: s.gauge("capacity_procs",
			"Processors of the cluster, configured, told by the scheduler (without nodes that are down), or "+
				"the highest use seen.", "cluster"),
		poolProcs: s.gauge("pool_procs",
			"Processors of a pool, the nodes that only the jobs of some queues compete for.", "cluster", "pool"),
		poolUsedProcs: s.gauge("pool_used_procs", "Processors of a pool that running jobs hold.", "cluster", "pool"),
		poolPressure: s.gauge("pool_pressure_ratio",
			"Part of a pool in use lately while jobs waited, by dimension: the fullest binds.",
			"cluster", "pool", "dimension"),
		openForecasts: s.gauge("forecasts_open", "Forecasts whose jobs have not started yet.", "cluster"),
	}
}

func (m *clusterMetrics) collect(ch scrape, service *ask.Service, v *readmodel.View) {
	_, _, stale := service.AsOf(v)
	ch.gauge(m.asOf, unix(service.AsOfInstant(v)), v.Cluster)
	ch.gauge(m.stale, flag(stale), v.Cluster)
	ch.gauge(m.capacity, float64(v.Capacity), v.Cluster)
	for _, p := range v.Pools {
		if p.Name == "" {
			continue // the whole cluster
		}
		ch.gauge(m.poolProcs, float64(p.Has[cluster.Procs]), v.Cluster, p.Name)
		ch.gauge(m.poolUsedProcs, float64(p.Used[cluster.Procs]), v.Cluster, p.Name)
		for d, pressure := range p.Pressure {
			if p.Has[d] > 0 {
				ch.gauge(m.poolPressure, pressure, v.Cluster, p.Name, cluster.Dimension(d).String())
			}
		}
	}
	ch.gauge(m.openForecasts, float64(v.Open), v.Cluster)
	ch.counter(m.outOfOrder, float64(v.Counts.OutOfOrder), v.Cluster)
	ch.counter(m.derived, float64(v.Counts.Derived), v.Cluster)
	ch.counter(m.refusals, float64(v.Refused), v.Cluster)
	ch.counter(m.lostEnds, float64(v.Counts.LostEnds), v.Cluster)
	ch.gauge(m.queues, float64(len(v.Queues())), v.Cluster)
	ch.counter(m.foldedQueues, float64(v.Names.Folded), v.Cluster)
}

// sourceMetrics are those of how the logs of a cluster are read.
type sourceMetrics struct {
	lastLine    gauge
	caughtUp    gauge
	clockOffset gauge
	setAside    gauge
	problem     gauge
}

func newSourceMetrics(s *metricSet) sourceMetrics {
	return sourceMetrics{
		lastLine: s.gauge("source_last_line_timestamp_seconds",
			"When the source last told a line, or the scheduler that was asked answered, by the daemon's "+
				"clock; 0 before the first of the process.", "cluster", "source"),
		caughtUp: s.gauge("source_caught_up", "1 if the end of the log has been reached.", "cluster", "source"),
		clockOffset: s.gauge("source_clock_offset_seconds",
			"By how much the times of a log are ahead of this host's clock, as measured; they are corrected "+
				"by it. 0 if they agree, or clock_offset is configured.", "cluster", "source"),
		setAside: s.gauge("source_set_aside_events",
			"Events that are dated ahead of the clock and are used when it gets there.", "cluster", "source"),
		problem: s.gauge("source_problem", "1 if something keeps the log from being read.", "cluster", "source"),
	}
}

func (m *sourceMetrics) collect(ch scrape, v *readmodel.View) {
	for _, src := range v.Sources {
		ch.gauge(m.lastLine, unix(src.LastLine), v.Cluster, src.Name)
		ch.gauge(m.caughtUp, flag(src.CaughtUp), v.Cluster, src.Name)
		ch.gauge(m.clockOffset, src.ClockOffset.Seconds(), v.Cluster, src.Name)
		ch.gauge(m.setAside, float64(src.SetAside), v.Cluster, src.Name)
		ch.gauge(m.problem, flag(src.Unreadable() != nil && v.StandIn(&src) == nil), v.Cluster, src.Name)
	}
}
