package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// cluster returns an engine with trees and with the given numbers of running jobs, waiting jobs and users, and its
// time.
func cluster(t testing.TB, runs, waits, users int, cfg Config) (*Engine, float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	capacity := 10 * runs
	cfg.Capacity = capacity
	if cfg.First == 0 {
		cfg.First = 400
	}
	e, err := New(cfg)
	check(t, err)
	t.Cleanup(e.Close)
	tell := func() {
		for _, q := range []string{"batch", "debug", "long"} {
			e.SetPool(q, pools.PoolConfig{Name: "all", Procs: capacity, PolicyKnown: true, Policy: forward.EASY})
		}
	}
	request := func() track.Request {
		limit := []float64{600, 1800, 3600, 7200, 14400, 86400}[rng.IntN(6)]
		return track.Request{
			Queue: []string{"batch", "debug", "long"}[rng.IntN(3)], User: fmt.Sprint("u", rng.IntN(users)),
			Procs: min(1+int(math.Exp2(4*rng.Float64())), capacity/4), Limit: limit,
		}
	}
	clock, id := 1e9, uint64(0)
	for range 500 { // some history
		id++
		clock++
		e.Submit(clock, id, request())
		e.Start(clock+float64(rng.IntN(300)), id, true)
		e.End(e.tracker.Clock+float64(rng.IntN(30)), id)
		clock = e.tracker.Clock
	}
	view := e.View(clock)
	if runs+waits < 5000 {
		tell()
	}
	for range runs + waits { // forecast from one kept view, because a submission for each would take long
		id++
		clock += .01
		e.SubmitAt(view, clock, clock, id, request())
		if id <= 500+uint64(runs) {
			e.Start(clock, id, false)
		}
	}
	tell()
	e.SubmitAt(view, clock, clock, id+1, request())
	return e, clock + 1
}

var sizes = []struct {
	name               string
	runs, waits, users int
}{{"Small", 100, 50, 200}, {"Large", 10_000, 20_000, 2000}}

// BenchmarkView takes a view after one more job was submitted, has started and has ended. Only the view is measured.
func BenchmarkView(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			e, clock := cluster(b, c.runs, c.waits, c.users, Config{})
			r := track.Request{Queue: "batch", User: "u1", Procs: 4, Limit: 3600}
			view := e.View(clock)
			id := uint64(1e9)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				id++
				clock++
				e.SubmitAt(view, clock, clock, id, r)
				e.Start(clock, id, true)
				e.End(clock, id)
				b.StartTimer()
				view = e.View(clock)
			}
		})
	}
}

// BenchmarkEvent measures a submission with its forecast, its start and its end.
func BenchmarkEvent(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			e, clock := cluster(b, c.runs, c.waits, c.users, Config{First: 1e9})
			r := track.Request{Queue: "batch", User: "u1", Procs: 4, Limit: 3600}
			id := uint64(1e9)
			b.ReportAllocs()
			for b.Loop() {
				id++
				clock++
				e.Submit(clock, id, r)
				e.Start(clock, id, true)
				e.End(clock, id)
			}
		})
	}
}

// BenchmarkSteady measures a submission with its forecast, its start and its end, a second apart, in a cluster of
// 10,000 running and 1,000 waiting jobs. Simulations become due as in a daemon, and are included. The metric is the CPU
// time of an event, which does not depend on other work on the machine.
func BenchmarkSteady(b *testing.B) {
	e, clock := cluster(b, 10_000, 1000, 2000, Config{First: 1e9, Cores: 2, Synchronous: true})
	r := track.Request{Queue: "batch", User: "u1", Procs: 4, Limit: 3600}
	id, events := uint64(1e9), 0
	simulations, begun := e.pools.Simulations, processor(b)
	for b.Loop() {
		id++
		for _, event := range []func(float64){
			func(now float64) { e.Submit(now, id, r) }, func(now float64) { e.Start(now, id, true) },
			func(now float64) { e.End(now, id) },
		} {
			clock++
			event(clock)
			events++
		}
	}
	b.ReportMetric(float64(processor(b)-begun)/float64(events), "cpu-ns/event")
	b.ReportMetric(float64(events)/float64(e.pools.Simulations-simulations), "events/simulation")
}

// processor returns the CPU time that the process has used, getrusage(2).
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkForecast measures forecasts of one view, made on all cores at the same time.
func BenchmarkForecast(b *testing.B) {
	for _, c := range append(sizes, struct {
		name               string
		runs, waits, users int
	}{"Idle", 20, 0, 20}) {
		b.Run(c.name, func(b *testing.B) {
			e, clock := cluster(b, c.runs, c.waits, c.users, Config{})
			v := e.View(clock)
			for i := range 32 { // until the view has shortened its trees, which its other forecasts share
				v.Forecast(&track.Request{Queue: "batch", User: "u1", Limit: 3600, Procs: 65 + i})
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				r := track.Request{Queue: "batch", User: "u1", Limit: 3600}
				for p.Next() {
					r.Procs = 1 + r.Procs%64 // 64 different sizes
					if v.Forecast(&r).Quantiles == nil {
						b.Error("it says nothing")
					}
				}
			})
		})
	}
}

// BenchmarkSave measures saving the engine.
func BenchmarkSave(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			e, clock := cluster(b, c.runs, c.waits, c.users, Config{})
			v := e.View(clock)
			saved(b, "Engine", e.MarshalBinary)
			saved(b, "View", v.MarshalBinary)
			data, err := e.MarshalBinary()
			check(b, err)
			b.Run("Restore", func(b *testing.B) {
				for b.Loop() {
					fresh, err := New(Config{Capacity: 10 * c.runs})
					check(b, err)
					check(b, fresh.UnmarshalBinary(data))
					fresh.Close()
				}
			})
		})
	}
}

// saved measures a way of saving, and the saved bytes.
func saved(b *testing.B, name string, marshal func() ([]byte, error)) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			data, err := marshal()
			check(b, err)
			b.ReportMetric(float64(len(data)), "bytes")
		}
	})
}

// BenchmarkCopy measures a copy of the engine in memory.
func BenchmarkCopy(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			e, _ := cluster(b, c.runs, c.waits, c.users, Config{})
			b.ReportAllocs()
			for b.Loop() {
				copied, err := e.Copy()
				check(b, err)
				copied.Close()
			}
		})
	}
}

// BenchmarkPivots measures the pivots of a request, in a new view (First) and in one that has cached results (Next),
// and the pivots of a waiting job. For comparison it measures the waits in the futures.
func BenchmarkPivots(b *testing.B) {
	for _, c := range append(sizes[:1:1], append([]struct {
		name               string
		runs, waits, users int
	}{{"Most", 240, 50, 200}}, sizes[1:]...)...) {
		e, clock := cluster(b, c.runs, c.waits, c.users, Config{})
		r := track.Request{Queue: "batch", User: "u1", Procs: 64, Limit: 3600}
		id := e.tracker.Line.Waiting()[5].ID
		view := e.View(clock)
		for name, work := range map[string]func(){
			"First": func() { e.View(clock).Pivots(&r) }, "Next": func() { view.Pivots(&r) },
			"Waiting": func() { view.PivotsOf("batch", id) }, "Futures": func() { view.Futures().Waits(&r, nil) },
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					work()
				}
			})
		}
	}
}

// BenchmarkRow measures all features of a request (All), and those without some newer groups (Old). The experts on
// which some features depend are not included.
func BenchmarkRow(b *testing.B) {
	for _, c := range append(sizes, struct {
		name               string
		runs, waits, users int
	}{"Most", 240, 50, 200}) {
		e, clock := cluster(b, c.runs, c.waits, c.users, Config{First: 1e9})
		v := e.View(clock)
		r := track.Request{Queue: "batch", User: "u1", Procs: 8, Limit: 3600}
		j, experts := v.resolve(&r, nil), unasked().features
		old, err := newFeatures([]string{"vacancy", "fitting", "crowd", "newest", "alike", "history", "flow", "hazard",
			"clock"}, nil)
		check(b, err)
		for name, f := range map[string]*features{"All": e.features, "Old": old} {
			v.features = f
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v.row(j, &experts, &e.scratch)
				}
			})
		}
	}
}
