package accuracy

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// BenchmarkSummary measures the time and the memory of the summary for GET /v1/accuracy. The ledger has 100,000 rows
// with 512 queues and three other methods.
func BenchmarkSummary(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, queues = 100_000, 512
	names := make([]string, queues)
	for i := range names {
		names[i] = "queue" + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	row := modelstore.Row{Levels: waittime.Levels()}
	quantiles := func() []float64 {
		q, at := make([]float64, 6), 0.0
		for i := range q {
			at += 1000 * rng.ExpFloat64()
			q[i] = at
		}
		return q
	}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		a := NewSummary(Bounds{AsOf: sec(10_000_000)})
		for range rows {
			row.Queue, row.Procs, row.Replayed = names[rng.IntN(queues)], 1<<rng.IntN(12), rng.IntN(4) == 0
			row.Submit, row.WaitSeconds = sec(rng.IntN(9_000_000)), 2000*rng.ExpFloat64()
			row.Outcome, row.Start = modelstore.Cancelled, time.Time{}
			if rng.IntN(10) > 0 {
				row.Outcome = modelstore.Started
				row.Start = row.Submit.Add(time.Duration(row.WaitSeconds * 1e9))
			}
			row.Quantiles = quantiles()
			row.Peers = []modelstore.Peer{{Method: "qbets", Quantiles: quantiles()},
				{Method: "limits", Quantiles: quantiles()}, {Method: "downey_combined", Quantiles: quantiles()}}
			a.Add(&row)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(a)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
