package api

import (
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline"
)

// nowMetrics are those of what is in the queues now, what a job would wait there, and how the newest forecasts turned out.
func nowMetrics() []described {
	byQueue, bySize := []string{"cluster", "queue"}, []string{"cluster", "queue", "size"}
	byState := []string{"cluster", "queue", "state"}
	return []described{
		{"clock_timestamp_seconds", "The clock of the daemon: that of a demonstration runs faster than others.", nil},
		{"source_last_line_timestamp_seconds", "When the source last told a line, or the scheduler that was asked answered, by the daemon's clock; 0 before the first of the process.", []string{"cluster", "source"}},
		{"queue_jobs", "Jobs of a queue: running, queued, held. Each task of an array is one.", byState},
		{"queue_procs", "Processors that these jobs hold or ask for.", byState},
		{"flurry_active_jobs", "Jobs that one user submitted to the queue within a day, of the largest burst that is under way; 0 if none is.", byQueue},
		{"forecast_wait_seconds", "Forecast quantile of the wait of a typical job of the queue and size class if it were submitted now.", []string{"cluster", "queue", "size", "level"}},
		{"forecast_wait_jobs", "Jobs that run, wait or left lately and tell what is typical.", bySize},
		{"forecast_wait_procs", "Processors of the typical job: the median.", bySize},
		{"forecast_wait_time_limit_seconds", "Time limit of the typical job: the median; 0 where none is told.", bySize},
		{"forecast_wait_timestamp_seconds", "Event time of the picture behind the forecasts for typical jobs.", []string{"cluster"}},
		{"forecasts_recent", "Forecasts among the newest scored ones of a queue: up to 1000.", byQueue},
		{"forecasts_coverage_ratio", "Part of the newest scored forecasts whose wait was below the quantile (bound below, rounded down to whole seconds), or not longer (bound hits, rounded up).", []string{"cluster", "queue", "level", "bound"}},
		{"forecasts_recent_log_pinball", "Mean pinball loss of ln(wait + 60 s) of the newest scored forecasts.", []string{"cluster", "queue", "level"}},
		{"model_ks", "Kolmogorov-Smirnov distance of the window's lifetimes to the uniform-log law that is fitted to them.", []string{"cluster", "queue", "class"}},
	}
}

// queues tells what every queue holds and how its forecasts turned out, those of too many queues together. A queue that is known has all its series from the beginning.
func (e emitter) queues(v *pipeline.View) {
	loads := v.Loads()
	none := pipeline.NewScore(len(waittime.Levels()))
	for _, queue := range v.Queues() {
		l := loads[queue]
		for _, s := range [...]struct {
			state       string
			jobs, procs int
		}{{"running", l.RunningJobs, l.RunningProcs}, {"queued", l.QueuedJobs, l.QueuedProcs}, {"held", l.HeldJobs, l.HeldProcs}} {
			e.gauge("queue_jobs", float64(s.jobs), v.Cluster, queue, s.state)
			e.gauge("queue_procs", float64(s.procs), v.Cluster, queue, s.state)
		}
	}
	scores, recent := v.MetricScores(), v.MetricRecent()
	for _, queue := range v.MetricQueues() {
		e.recent(v.Cluster, queue, recent[queue])
		for _, size := range v.SizesOf(queue) {
			if key := (pipeline.ScoreKey{Queue: queue, Size: size}); scores[key] == nil {
				e.scores(v.Cluster, key, none)
			}
		}
	}
	for key, s := range scores {
		e.scores(v.Cluster, key, s)
	}
}

// recent tells how the newest scored forecasts of a queue turned out; f is nil where there are none.
func (e emitter) recent(cluster, queue string, f *pipeline.Figures) {
	if f == nil || f.N == 0 {
		e.gauge("forecasts_recent", 0, cluster, queue)
		return
	}
	n := float64(f.N)
	e.gauge("forecasts_recent", n, cluster, queue)
	for i, level := range waittime.Levels() {
		name := levelName(level)
		e.gauge("forecasts_coverage_ratio", float64(f.Below[i])/n, cluster, queue, name, "below")
		e.gauge("forecasts_coverage_ratio", float64(f.UpTo[i])/n, cluster, queue, name, "hits")
		e.gauge("forecasts_recent_log_pinball", f.LogPinball[i]/n, cluster, queue, name)
	}
}

// summary emits the waits of typical jobs and the sizes of bursts.
func (e emitter) summary(v *pipeline.View) {
	g := e.server.summaries.of(v, e.server.summarize)
	if !g.view.At.IsZero() {
		e.gauge("forecast_wait_timestamp_seconds", unix(g.view.At), v.Cluster)
	}
	for i := range g.typical {
		t := &g.typical[i]
		e.gauge("forecast_wait_jobs", float64(t.Jobs), v.Cluster, t.Queue, t.Size)
		e.gauge("forecast_wait_procs", float64(t.Procs), v.Cluster, t.Queue, t.Size)
		e.gauge("forecast_wait_time_limit_seconds", t.TimeLimit.Seconds(), v.Cluster, t.Queue, t.Size)
		if g.forecasts[i] == nil {
			continue
		}
		for l, level := range waittime.Levels() {
			e.gauge("forecast_wait_seconds", g.forecasts[i][l], v.Cluster, t.Queue, t.Size, levelName(level))
		}
	}
	bursts := map[string]int{}
	for queue, jobs := range g.bursts {
		bursts[v.MetricQueue(queue)] = max(jobs, bursts[v.MetricQueue(queue)])
	}
	for _, queue := range v.MetricQueues() {
		e.gauge("flurry_active_jobs", float64(bursts[queue]), v.Cluster, queue)
	}
}
