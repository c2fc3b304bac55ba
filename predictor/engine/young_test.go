package engine

import (
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// TestFirstForecastsAreWide proves that an engine that has learnt nothing gives no single value as forecast, on an
// empty machine or a full one. Once enough jobs have started at once, its forecast for the next one is narrow.
func TestFirstForecastsAreWide(t *testing.T) {
	e, err := New(Config{Capacity: 64, Synchronous: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	job := track.Request{Queue: "batch", User: "u", Procs: 4, Limit: 3600}
	width := func(r track.Request) float64 {
		q := e.View(e.tracker.Clock).Forecast(&r).Quantiles
		return q[len(q)-1] - q[e.median]
	}
	if w := width(job); w < 600 {
		t.Errorf("on an empty machine the first forecast's .95 quantile is %v s above its median", w)
	}
	whole := job
	whole.Procs = 64
	e.Submit(0, 1, whole)
	e.Start(0, 1, true)
	if w := width(job); w < 600 {
		t.Errorf("on a full machine it is %v s above", w)
	}
	e.End(1, 1)
	now := 1.
	for id := uint64(2); len(e.ensemble.Early.Known[ensemble.StartsAtOnce]) < ensemble.EarlyWaits; id++ {
		e.Submit(now, id, job)
		e.Start(now, id, true)
		e.End(now+1, id)
		now += 2
	}
	if w := width(job); w > 60 {
		t.Errorf("after %d jobs that started at once it is %v s above", ensemble.EarlyWaits, w)
	}
}
