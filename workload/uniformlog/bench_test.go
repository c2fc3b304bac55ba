package uniformlog_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/workload/uniformlog"
)

func BenchmarkAddFit100k(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	w := uniformlog.NewWindow(100000, 0)
	at := epoch
	next := func() (time.Time, float64) {
		at = at.Add(10 * time.Second)
		return at.Add(-time.Duration(rng.IntN(100000)) * time.Second), paragon.Rand(rng)
	}
	for range 100000 {
		start, lifetime := next()
		add(b, w, start, lifetime)
	}
	_ = w.N()
	b.ReportAllocs()
	for b.Loop() {
		start, lifetime := next()
		if err := w.Add(start, lifetime); err != nil {
			b.Fatal(err)
		}
		w.Expire(at)
		if _, err := w.Fit(at); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddFitSnapshot100k(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	w := uniformlog.NewWindow(0, 100000*time.Second)
	at := epoch
	step := func() {
		at = at.Add(time.Second)
		add(b, w, at.Add(-time.Duration(rng.IntN(10000))*time.Second), paragon.Rand(rng))
		w.Expire(at)
	}
	for range 110000 {
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
		if _, err := w.Fit(at); err != nil {
			b.Fatal(err)
		}
		_ = w.Snapshot()
	}
}

// BenchmarkBulk1M measures a cold import: a million lifetimes and one fit.
func BenchmarkBulk1M(b *testing.B) {
	for _, limit := range []struct {
		name  string
		count int
	}{{"unlimited", 0}, {"last100k", 100000}} {
		b.Run(limit.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			lifetimes := make([]float64, 1e6)
			starts := make([]time.Time, len(lifetimes))
			for i := range lifetimes {
				lifetimes[i] = math.Floor(paragon.Rand(rng))
				starts[i] = epoch.Add(time.Duration(30*i-rng.IntN(86400)) * time.Second)
			}
			b.ReportAllocs()
			for b.Loop() {
				w := uniformlog.NewWindow(limit.count, 0)
				for i, t := range lifetimes {
					if err := w.Add(starts[i], t); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Fit(starts[0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lifetimes)), "ns/job")
		})
	}
}

func BenchmarkMarshal100k(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	w := uniformlog.NewWindow(0, 0)
	for i := range 100000 {
		add(b, w, epoch.Add(time.Duration(i-rng.IntN(10000))*time.Second), paragon.Rand(rng))
	}
	for b.Loop() {
		if _, err := w.MarshalBinary(); err != nil {
			b.Fatal(err)
		}
	}
}
