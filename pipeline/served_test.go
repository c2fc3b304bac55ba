package pipeline

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestPublishedForecastsNeverChange proves that later changes do not affect a snapshot of the served forecasts: it has
// exactly the forecasts that there were when it was taken.
func TestPublishedForecastsNeverChange(t *testing.T) {
	type published struct {
		got  readmodel.Forecasts
		want map[readmodel.JobKey]*readmodel.Served
	}
	rapid.Check(t, func(rt *rapid.T) {
		var b servedForecasts
		now := map[readmodel.JobKey]*readmodel.Served{}
		var all []published
		draw := func() *cluster.Job { // several jobs share a part
			part, number := rapid.IntRange(0, 2).Draw(rt, "part"), rapid.IntRange(0, 3).Draw(rt, "number")
			return &cluster.Job{Seq: uint64(part + readmodel.ForecastParts*number),
				Attempt: rapid.IntRange(0, 1).Draw(rt, "attempt")}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "changes") {
			switch j := draw(); rapid.IntRange(0, 2).Draw(rt, "change") {
			case 0:
				s := &readmodel.Served{}
				b.put(j, s)
				now[readmodel.KeyOf(j)] = s
			case 1:
				b.drop(j)
				delete(now, readmodel.KeyOf(j))
			default:
				all = append(all, published{b.snapshot(), maps.Clone(now)})
			}
		}
		for i, p := range all {
			n := 0
			for _, part := range p.got {
				n += len(part)
			}
			if n != len(p.want) {
				rt.Fatalf("snapshot %d has %d forecasts, want %d", i, n, len(p.want))
			}
			for k, want := range p.want {
				if p.got.Of(k) != want {
					rt.Fatalf("snapshot %d has another forecast of %+v", i, k)
				}
			}
		}
	})
}
