package pipeline

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job/waittime"
)

// Observed has the histograms of waits and of the writer's work that this process has observed itself.
type Observed struct {
	// Waits are the waits of started jobs in seconds, both as native and as classic histogram.
	Waits *prometheus.HistogramVec
	// RefitSeconds are the durations of updates of one cluster's models, in seconds.
	RefitSeconds prometheus.Histogram
}

// waitBuckets returns the upper bounds of the classic buckets of waits, in seconds: from a second to a week.
func waitBuckets() []float64 {
	return []float64{1, 10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 604800}
}

func newObserved(reg prometheus.Registerer) *Observed {
	o := &Observed{
		Waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waitcast_observed_wait_seconds",
			Help: "Waits of jobs that started since the start of the process, as far as their starts were " +
				"read live.",

			Buckets: waitBuckets(),

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"cluster", "queue", "size"}),
		RefitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "waitcast_model_refit_seconds",
			Help:    "Time that one update of the fitted models of a cluster took.",
			Buckets: prometheus.ExponentialBuckets(.0001, 4, 9),
		}),
	}
	reg.MustRegister(o.Waits, o.RefitSeconds)
	return o
}

// observeWriters adds to each cluster an observer that measures waits, unless the cluster has one already. It is called
// after the replay of the journal, because the previous process measured the replayed changes.
func (p *Pipeline) observeWriters() {
	for name, l := range p.writers {
		if l.measured {
			continue
		}
		l.measured = true
		w := &waitObserver{cluster: name, writer: l, metrics: p.metrics, touched: map[string]bool{}}
		for _, queue := range p.View(name).Queues() {
			w.touch(queue)
		}
		l.observers = append(l.observers, w)
	}
}

// waitObserver records in histograms the waits of one cluster's jobs, if their starts were read live.
type waitObserver struct {
	cluster string
	writer  *clusterWriter
	metrics *Metrics
	touched map[string]bool // queues whose histograms exist
}

// InstantOver implements changes.Observer.
func (w *waitObserver) InstantOver(time.Time, bool, *cluster.State) {}

// Observe implements changes.Observer.
func (w *waitObserver) Observe(c *changes.Change, _ *cluster.State) {
	if c.After == nil {
		return
	}
	starts := c.Kind == changes.Started
	// A job in the default queue may be one whose queue is not known yet. So only a start shows that jobs use this
	// queue.
	if c.After.Queue != cluster.DefaultQueue || starts {
		w.touch(c.After.Queue)
	}
	if starts && c.Event.Live {
		wait := c.After.Start.Sub(c.After.Submit).Seconds()
		size := waittime.SizeClass(c.After.Procs)
		w.metrics.Waits.WithLabelValues(w.cluster, w.label(c.After.Queue), size).Observe(max(0, wait))
	}
}

// touch creates the empty histograms of a queue, once.
func (w *waitObserver) touch(queue string) {
	if !w.touched[queue] {
		w.touched[queue] = true
		w.metrics.touchWaits(w.cluster, w.label(queue), w.writer.state.Pool(queue).Capacity(cluster.Procs))
	}
}

// label returns the value of the label queue for the waits of a queue. Several queues may share it.
func (w *waitObserver) label(queue string) string { return w.writer.names.View().Metric(queue) }

// touchWaits creates the empty histograms of a queue, one for each size class that its jobs can have in a pool of procs
// processors.
func (m *Metrics) touchWaits(clusterName, queue string, procs int) {
	for _, size := range waittime.SizeClassesUpTo(procs) {
		m.Waits.WithLabelValues(clusterName, queue, size)
	}
}

// touchBad creates the counters of a source's bad lines with the value zero.
func (m *Metrics) touchBad(s source.Config) {
	for _, reason := range collector.Reasons() {
		m.BadLines.WithLabelValues(s.Options.Cluster, s.Name, reason)
	}
}
