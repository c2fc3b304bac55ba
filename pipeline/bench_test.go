package pipeline

import (
	"testing"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// BenchmarkTake folds a workload on 128 processors with a clusterWriter: picture, models and journal entries, with and
// without a forecast for every job.
func BenchmarkTake(b *testing.B) {
	events := workload(b, 1500, 1)
	for _, c := range []struct {
		name      string
		forecasts bool
	}{{"fold", false}, {"forecasts", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			n, rows := 0, 0
			for b.Loop() {
				cfg := testConfig()
				cfg.Models.WindowJobs, cfg.Models.WindowAge = 10_000, 0
				cfg.Forecasts = c.forecasts
				l := newWriter(b, cfg)
				takeAll(l, events, &rows)
				n += len(events)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			if c.forecasts {
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "forecasts/s")
			}
			b.ReportMetric(journaled(b, events), "journal-B/event")
		})
	}
}

func takeAll(l *clusterWriter, events []job.Event, rows *int) {
	var out output
	var n int64
	seq := func() int64 { n++; return n }
	for i := range events {
		if i%1000 == 0 {
			*rows += len(out.rows)
			out = output{}
		}
		l.take(events[i], "log", seq, &out)
	}
	*rows += len(out.rows)
}

// journaled returns the mean size of an event in the journal, in bytes.
func journaled(b *testing.B, events []job.Event) float64 {
	bytes := 0
	for i := range events {
		data, err := modelstore.EncodeEvent(&events[i])
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(data)
	}
	return float64(bytes) / float64(len(events))
}
