package pipeline

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestRestoredWaitsAreNotObserved proves that after a restart the histograms of waits get the waits of later starts,
// but not again those in the journal.
func TestRestoredWaitsAreNotObserved(t *testing.T) {
	store := newStore(t)
	events := workload(t, 60, 9)
	cfg := testConfig()
	cfg.SnapshotEvents = 0
	half := len(events) / 2
	for _, part := range [][]job.Event{events[:half], events[half:]} {
		registry := prometheus.NewRegistry()
		p := mustNew(New(cfg, store, func() time.Time { return at(0) }, zap.NewNop(), NewMetrics(registry)))
		src := source.Config{Name: "log", Format: collector.Format{Name: "test", Order: collector.Live},
			Options: collector.Options{Cluster: "c"}}
		p.AddSource(src)
		restore(t, p, "one")
		feed := make(chan *source.Delivery, 1)
		feed <- &source.Delivery{Source: &src, Events: part, Lines: len(part), CaughtUp: true}
		close(feed)
		if err := p.Run(t.Context(), feed); err != nil {
			t.Fatal(err)
		}
		p.Close()
		want := uint64(0)
		for _, ev := range part {
			if ev.Kind == job.Start {
				want++
			}
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := uint64(0)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "waitcast_observed_wait_seconds" {
					got += m.GetHistogram().GetSampleCount()
				}
			}
		}
		if got != want || want == 0 {
			t.Errorf("%d waits observed, want %d", got, want)
		}
	}
}

// TestTypical proves that the typical job of a queue and size class has the medians of the jobs' sizes and of their
// time limits, the lower of two middle values. Jobs without a time limit do not count for the median of limits. The
// classes with most jobs come first.
func TestTypical(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	defer p.Close()
	submit := func(id string, procs int, limit time.Duration) job.Event {
		ev := sized(event(job.Submit, id, 1), procs)
		ev.Queue, ev.TimeLimit, ev.Times.Submit = "a", limit, at(1)
		return ev
	}
	events := []job.Event{
		submit("1", 8, time.Hour), submit("2", 2, 0), submit("3", 4, 3*time.Hour), submit("4", 3, 2*time.Hour),
		submit("5", 100, time.Minute),
		sized(event(job.Submit, "unsized", 1), 0),
	}
	take(t, p, &source.Delivery{Source: src, Events: events, Lines: len(events), CaughtUp: true})
	p.publish()
	got := p.View("c").Typical(5)
	want := []readmodel.Typical{
		// the medians of 2, 3, 4, 8 and of 1 h, 2 h, 3 h
		{Key: accuracy.Key{Queue: "a", Size: "2-8"}, Jobs: 4, Procs: 3, TimeLimit: 2 * time.Hour},
		{Key: accuracy.Key{Queue: "a", Size: "65-512"}, Jobs: 1, Procs: 100, TimeLimit: time.Minute},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := p.View("c").Typical(1); !slices.Equal(got, want[:1]) {
		t.Errorf("the first of them is %+v, want %+v", got, want[:1])
	}
}
