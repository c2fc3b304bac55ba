package api

import (
	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// nowMetrics are the metrics of the present content of the queues, and of the waits of typical jobs.
type nowMetrics struct {
	jobs             gauge
	procs            gauge
	flurryJobs       gauge
	wait             gauge
	typicalJobs      gauge
	typicalProcs     gauge
	typicalTimeLimit gauge
	waitAsOf         gauge
	summaries        *scrapeSummaries
}

func newNowMetrics(s *metricSet, service *ask.Service) nowMetrics {
	return nowMetrics{
		jobs: s.gauge("queue_jobs",
			"Jobs of the queue by state: running, queued, held. Each task of an array counts as one.",
			"cluster", "queue", "state"),
		procs: s.gauge("queue_procs",
			"Processors of the queue's jobs by state: allocated for running jobs, requested for the "+
				"others.", "cluster", "queue", "state"),
		flurryJobs: s.gauge("flurry_active_jobs",
			"Jobs that one user has submitted to the queue within a day, in the largest burst under "+
				"way; 0 if there is none.", "cluster", "queue"),
		wait: s.gauge("forecast_wait_seconds",
			"Forecast quantile of the wait of a typical job of the queue and size class if it were submitted now.",
			"cluster", "queue", "size", "level"),
		typicalJobs: s.gauge("forecast_wait_jobs",
			"Number of recent jobs from which the typical job of the queue and size class is taken: "+
				"running, waiting or recently ended.", "cluster", "queue", "size"),
		typicalProcs: s.gauge("forecast_wait_procs",
			"Processors of the typical job of the queue and size class: the median of recent jobs.",
			"cluster", "queue", "size"),
		typicalTimeLimit: s.gauge("forecast_wait_time_limit_seconds",
			"Time limit of the typical job of the queue and size class: the median of recent jobs; 0 "+
				"if unknown.", "cluster", "queue", "size"),
		waitAsOf: s.gauge("forecast_wait_timestamp_seconds",
			"Event time of the cluster's state from which the forecasts for typical jobs were made.", "cluster"),
		summaries: newScrapeSummaries(service),
	}
}

// collect sends the content of every queue, and the summary of the view.
func (m *nowMetrics) collect(ch scrape, v *readmodel.View) {
	loads := v.Loads()
	for _, queue := range v.Queues() {
		l := loads[queue]
		for _, s := range [...]struct {
			state       string
			jobs, procs int
		}{
			{"running", l.RunningJobs, l.RunningProcs}, {"queued", l.QueuedJobs, l.QueuedProcs},
			{"held", l.HeldJobs, l.HeldProcs},
		} {
			ch.gauge(m.jobs, float64(s.jobs), v.Cluster, queue, s.state)
			ch.gauge(m.procs, float64(s.procs), v.Cluster, queue, s.state)
		}
	}
	m.collectSummary(ch, v)
}

// collectSummary sends the waits of typical jobs and the sizes of bursts.
func (m *nowMetrics) collectSummary(ch scrape, v *readmodel.View) {
	g := m.summaries.of(v)
	if !g.view.At.IsZero() {
		ch.gauge(m.waitAsOf, unix(g.view.At), v.Cluster)
	}
	for i := range g.typical {
		t := &g.typical[i]
		ch.gauge(m.typicalJobs, float64(t.Jobs), v.Cluster, t.Queue, t.Size)
		ch.gauge(m.typicalProcs, float64(t.Procs), v.Cluster, t.Queue, t.Size)
		ch.gauge(m.typicalTimeLimit, t.TimeLimit.Seconds(), v.Cluster, t.Queue, t.Size)
		if g.forecasts[i] == nil {
			continue
		}
		for l, level := range waittime.Levels() {
			ch.gauge(m.wait, g.forecasts[i][l], v.Cluster, t.Queue, t.Size, ask.LevelName(level))
		}
	}
	bursts := map[string]int{}
	for queue, jobs := range g.bursts {
		bursts[v.MetricQueue(queue)] = max(jobs, bursts[v.MetricQueue(queue)])
	}
	for _, queue := range v.MetricQueues() {
		ch.gauge(m.flurryJobs, float64(bursts[queue]), v.Cluster, queue)
	}
}
