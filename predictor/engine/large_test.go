package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// crowd returns an engine whose pool is too large to simulate every request.
func crowd(t *testing.T, cfg Config) (*Engine, float64) {
	t.Helper()
	return cluster(t, 120, 700, 50, cfg)
}

// TestLargePools proves the properties of views and of saved engines for large pools, in which requests are looked up,
// and for so many queues that the experts are copied now and then. A view answers like a submission, and an engine that
// is saved and restored, or that works in the background, gives the same forecasts.
func TestLargePools(t *testing.T) {
	cfg := Config{First: 450}
	plain, clock := crowd(t, Config{First: 450, Synchronous: true})
	e, _ := crowd(t, cfg)
	// enough queues that the experts are copied now and then
	for i := range ensemble.TemplateHeavy / ensemble.GroupWeights {
		for _, x := range []*Engine{e, plain} {
			x.Submit(clock, uint64(2e6+i), track.Request{Queue: fmt.Sprint("rare", i), Procs: 1, Limit: 60})
			x.Gone(clock, uint64(2e6+i))
		}
	}
	rng := rand.New(rand.NewPCG(5, 5))
	aged, making, futures := false, 0, map[int]bool{}
	var waiting, running []uint64
	for i := range sized(450, 900) {
		clock += rng.ExpFloat64() * 4
		id := uint64(1e6 + i)
		switch {
		case i%3 == 0:
			r := track.Request{Queue: "long", User: "u3", Procs: 1 + rng.IntN(40), Limit: 60 * float64(1+rng.IntN(100))}
			v := e.View(clock)
			waits, undisturbed := v.Futures().Waits(&r, nil), plain.View(clock).Futures().Waits(&r, nil)
			if futures[len(waits)] = true; !slices.Equal(waits, undisturbed) {
				t.Fatalf("step %d: %d futures, undisturbed %d, or other waits", i, len(waits), len(undisturbed))
			}
			got, want := v.Forecast(&r), plain.Submit(clock, id, r)
			if restored := e.Submit(clock, id, r); !same(got, want) || !same(restored, want) {
				t.Fatalf("step %d: view %+v, restored %+v, undisturbed %+v", i, got, restored, want)
			}
			aged = aged || want.SimulationAge > 1
			waiting = append(waiting, id)
		case i%3 == 1 && len(waiting) > 5:
			k := rng.IntN(len(waiting))
			for _, x := range []*Engine{e, plain} {
				x.Start(clock, waiting[k], true)
			}
			running = append(running, waiting[k])
			waiting = append(waiting[:k], waiting[k+1:]...)
		case len(running) > 5:
			for _, x := range []*Engine{e, plain} {
				x.End(clock, running[0])
			}
			running = running[1:]
		}
		if e.pools.Refresh != nil && making < 6 || i%200 == 0 {
			if e.pools.Refresh != nil {
				making++
			}
			data, err := e.MarshalBinary()
			check(t, err)
			fresh := quick(t, Config{First: 450, Capacity: 1200})
			fresh.cfg.Trees = e.cfg.Trees
			check(t, fresh.UnmarshalBinary(data))
			again, err := fresh.MarshalBinary()
			check(t, err)
			if !bytes.Equal(data, again) {
				t.Fatal("a restored engine is saved in other bytes")
			}
			e = fresh
		}
	}
	if !aged || making < 3 || plain.ensemble.Kept == nil || len(futures) < 2 {
		t.Fatalf("aged %v, saved %d times while tables were made, copied %v, futures %v: the test shows little", aged,
			making, plain.ensemble.Kept != nil, futures)
	}
	v := plain.View(clock)
	data, err := v.MarshalBinary()
	check(t, err)
	w, err := plain.RestoreView(data)
	check(t, err)
	for procs := 1; procs < 2000; procs *= 3 {
		r := track.Request{Queue: "long", User: "u3", Procs: procs, Limit: 5000}
		if a, b := v.Forecast(&r), w.Forecast(&r); !same(a, b) {
			t.Fatalf("restored view %+v, want %+v", b, a)
		}
	}
}
