package pipeline

import (
	"testing"

	"github.com/waitcast/waitcast/job"
)

// BenchmarkTake folds a workload of 5,000 jobs on 128 processors through a lane: picture, models and journal entries, with
// and without a forecast for every job.
func BenchmarkTake(b *testing.B) {
	events := workload(b, 5000, 1)
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
				l := newLane(cfg.Clusters[0], cfg.Models, nil, c.forecasts)
				takeAll(l, events, &rows)
				n += len(events)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			if c.forecasts {
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "forecasts/s")
			}
		})
	}
}

func takeAll(l *lane, events []job.Event, rows *int) {
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
