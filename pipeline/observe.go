package pipeline

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
)

// Observed are the metrics of what a process sees happen, beside the counters of its lines.
type Observed struct {
	// Waits are those of jobs that started, as native and as classic histogram.
	Waits *prometheus.HistogramVec
	// RefitSeconds is what it takes to bring the models of one cluster up to date.
	RefitSeconds prometheus.Histogram
}

// waitBuckets are the bounds of the classic buckets, in seconds: what people say of a wait, from at once to a week.
func waitBuckets() []float64 {
	return []float64{1, 10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 604800}
}

func newObserved(reg prometheus.Registerer) *Observed {
	o := &Observed{
		Waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waitcast_observed_wait_seconds",
			Help: "Waits of jobs whose start was told as it happened, since the start of the process.",

			Buckets: waitBuckets(),

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"cluster", "queue", "size"}),
		RefitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "waitcast_model_refit_seconds",
			Help:    "Time it took to fit the models of one cluster that had learnt something to what they know.",
			Buckets: prometheus.ExponentialBuckets(.0001, 4, 9),
		}),
	}
	reg.MustRegister(o.Waits, o.RefitSeconds)
	return o
}

// observeWriters begins to report changes to the observers: those restored from a journal were reported by the process
// before.
func (p *Pipeline) observeWriters() {
	for name, l := range p.writers {
		known := map[string]bool{}
		touch := func(queue string) {
			if !known[queue] {
				known[queue] = true
				p.metrics.touchWaits(name, l.names.View().Metric(queue), l.state.Pool(queue).Capacity(cluster.Procs))
			}
		}
		for _, queue := range p.View(name).Queues() {
			touch(queue)
		}
		l.watch = func(c cluster.Change) {
			if c.After == nil {
				return
			}
			starts := c.Event.Kind == job.Start && (c.Before == nil || !c.Before.Running())
			if c.After.Queue != cluster.DefaultQueue || starts { // in the default queue jobs are until theirs is known
				touch(c.After.Queue)
			}
			if starts && c.Event.Live {
				wait := c.After.Start.Sub(c.After.Submit).Seconds()
				counted := l.names.View().Metric(c.After.Queue)
				p.metrics.Waits.WithLabelValues(name, counted, waittime.SizeClass(c.After.Procs)).Observe(max(0, wait))
			}
		}
	}
}

// touchWaits makes the histograms of a queue appear at zero, for the sizes that its jobs can have.
func (m *Metrics) touchWaits(clusterName, queue string, procs int) {
	for _, size := range waittime.SizeClassesUpTo(procs) {
		m.Waits.WithLabelValues(clusterName, queue, size)
	}
}

// touchBad makes the counters of a source's bad lines appear at zero.
func (m *Metrics) touchBad(s source.Config) {
	for _, reason := range collector.Reasons() {
		m.BadLines.WithLabelValues(s.Options.Cluster, s.Name, reason)
	}
}
