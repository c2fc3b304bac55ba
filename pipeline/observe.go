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

// observeWriters begins to measure waits. Changes that were restored from a journal are left out: the process before
// measured them. A second call does nothing.
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

// waitObserver measures the waits of one cluster.
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
	if c.After.Queue != cluster.DefaultQueue || starts { // in the default queue jobs are until theirs is known
		w.touch(c.After.Queue)
	}
	if starts && c.Event.Live {
		wait := c.After.Start.Sub(c.After.Submit).Seconds()
		size := waittime.SizeClass(c.After.Procs)
		w.metrics.Waits.WithLabelValues(w.cluster, w.label(c.After.Queue), size).Observe(max(0, wait))
	}
}

// touch makes the histograms of a queue appear.
func (w *waitObserver) touch(queue string) {
	if !w.touched[queue] {
		w.touched[queue] = true
		w.metrics.touchWaits(w.cluster, w.label(queue), w.writer.state.Pool(queue).Capacity(cluster.Procs))
	}
}

// label returns the name under which a queue's waits are counted.
func (w *waitObserver) label(queue string) string { return w.writer.names.View().Metric(queue) }

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
