package api

import (
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// clusterMetrics are the metrics of a cluster's state, and of the events from which the state follows.
type clusterMetrics struct {
	asOf          gauge
	stale         gauge
	outOfOrder    counter
	derived       counter
	refusals      counter
	lostEnds      counter
	unseenStarts  counter
	overdue       gauge
	queues        gauge
	foldedQueues  counter
	capacity      gauge
	poolProcs     gauge
	poolUsedProcs gauge
	poolPressure  gauge
	openForecasts gauge
	scheduler     gauge
}

func newClusterMetrics(s *metricSet) clusterMetrics {
	return clusterMetrics{
		asOf: s.gauge("as_of_timestamp_seconds",
			"Event time of the newest record of the cluster.", "cluster"),
		stale: s.gauge("stale", "1 if answers about the cluster are marked stale.", "cluster"),
		outOfOrder: s.counter("out_of_order_events_total",
			"Events that were older than the newest one of the cluster; they are used nevertheless.", "cluster"),
		derived: s.counter("derived_events_total",
			"Events without their own record, derived from a later record of the job.", "cluster"),
		refusals: s.counter("model_refusals_total",
			"Changes from which the models could not learn, because a lifetime or size was out of "+
				"their range.", "cluster"),
		lostEnds: s.counter("lost_ends_total",
			"Jobs that ran and left without a record of their end.", "cluster"),
		unseenStarts: s.counter("unseen_starts_total",
			"Jobs that ran and ended, and whose start no source has reported.", "cluster"),
		overdue: s.gauge("overdue_jobs",
			"Jobs long past their limits without a record of their end; they count as gone.", "cluster"),
		queues: s.gauge("queues",
			"Queues with their own models, or known from the configuration.", "cluster"),
		foldedQueues: s.counter("queues_folded_total",
			"Names of queues beyond models.max_queues; their jobs count in the queue other.",
			"cluster"),
		capacity: s.gauge("capacity_procs",
			"Processors of the cluster: configured, reported by the scheduler (without nodes that are "+
				"down), or the highest use seen.", "cluster"),
		poolProcs: s.gauge("pool_procs",
			"Processors of the pool, a set of nodes for which only the jobs of some queues compete.",
			"cluster", "pool"),
		poolUsedProcs: s.gauge("pool_used_procs",
			"Processors of the pool that running jobs use.", "cluster", "pool"),
		poolPressure: s.gauge("pool_pressure_ratio",
			"Share of the pool that was recently in use while jobs waited, by dimension; the "+
				"dimension with the highest share binds.",
			"cluster", "pool", "dimension"),
		openForecasts: s.gauge("forecasts_open", "Forecasts whose jobs have not started yet.", "cluster"),
		scheduler: s.gauge("scheduler_info",
			"Always 1; the label has the version that the scheduler reports.", "cluster", "version"),
	}
}

func (m *clusterMetrics) collect(ch scrape, service *ask.Service, v *readmodel.View) {
	_, _, stale := service.AsOf(v)
	ch.gauge(m.asOf, unix(service.AsOfInstant(v)), v.Cluster)
	ch.gauge(m.stale, flag(stale), v.Cluster)
	ch.gauge(m.capacity, float64(v.Capacity), v.Cluster)
	if v.Facts != nil && v.Facts.Version != "" {
		ch.gauge(m.scheduler, 1, v.Cluster, v.Facts.Version)
	}
	for _, p := range v.Pools {
		if p.Name == "" {
			continue // a pool without a name stands for the whole cluster
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
	ch.counter(m.unseenStarts, float64(v.Counts.UnseenStarts), v.Cluster)
	ch.gauge(m.overdue, float64(len(v.Overdue)), v.Cluster)
	ch.gauge(m.queues, float64(len(v.Queues())), v.Cluster)
	ch.counter(m.foldedQueues, float64(v.Names.Folded), v.Cluster)
}

// sourceMetrics are the metrics of reading the logs of a cluster.
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
			"Time of the source's newest line, or of the scheduler's newest answer, by the daemon's "+
				"clock; 0 before the first of the process.", "cluster", "source"),
		caughtUp: s.gauge("source_caught_up", "1 if the end of the log has been reached.", "cluster", "source"),
		clockOffset: s.gauge("source_clock_offset_seconds",
			"Measured time by which the log is ahead of this host's clock; its times are corrected by "+
				"it. 0 if they agree, or if clock_offset is configured.", "cluster", "source"),
		setAside: s.gauge("source_set_aside_events",
			"Events that are dated ahead of the clock, and are used when the clock reaches them.", "cluster", "source"),
		problem: s.gauge("source_problem",
			"1 if the log cannot be read.", "cluster", "source"),
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
