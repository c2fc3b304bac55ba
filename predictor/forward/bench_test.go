package forward_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/predictor/forward"
)

// part is the law of a job with this limit in seconds: its remaining time is uniform between 0 and the time that the
// limit leaves.
type part float64

func (p part) Residual(age, u float64) float64 { return max(0, float64(p)-age) * u }

// large returns a pool with that many jobs. Sizes are about 10 on average, a few are in the hundreds and thousands, and
// limits are from 10 minutes to a day, round numbers if round is set.
func large(capacity, running, queued int, round bool) *forward.State {
	rng := rand.New(rand.NewPCG(1, 1))
	job := func() (int, float64) {
		size := math.Exp2(5 * rng.Float64())
		if rng.IntN(50) == 0 {
			size = math.Exp2(5 + 6*rng.Float64())
		}
		limit := math.Ceil(math.Exp(math.Log(600) + rng.Float64()*math.Log(144)))
		if round {
			limit = []float64{600, 1800, 3600, 7200, 14400, 28800, 43200, 86400}[rng.IntN(8)]
		}
		return min(int(size), capacity), limit
	}
	s := &forward.State{Capacity: capacity, Policy: forward.EASY}
	for busy := 0; len(s.Running) < running; {
		n, limit := job()
		if rest := (capacity - busy) / (running - len(s.Running)); n > 3*max(1, rest) {
			n = max(1, rest)
		}
		if busy+n > capacity {
			break
		}
		busy += n
		s.Running = append(s.Running,
			forward.Running{Procs: n, Limit: limit, Age: math.Floor(limit * rng.Float64() * rng.Float64()),
				Law: part(limit)})
	}
	for len(s.Waiting) < queued {
		n, limit := job()
		s.Waiting = append(s.Waiting, forward.Waiting{Procs: n, Limit: limit, Law: part(limit)})
	}
	return s
}

// BenchmarkWaits forecasts one request at a submission of a backtest, with 16 replicas.
func BenchmarkWaits(b *testing.B) {
	for _, c := range []struct{ running, waiting int }{{20, 0}, {40, 20}, {60, 200}} {
		b.Run(fmt.Sprintf("%d+%d", c.running, c.waiting), func(b *testing.B) {
			s := large(128*4, c.running, c.waiting, true)
			var sim forward.Sim
			var dst []float64
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = sim.Waits(s, forward.Request{Procs: 64, Limit: 7200}, 16, 1, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSurface makes a surface with the default options: 100 replicas of a pool of 100,000 processors with 10,000
// running and 20,000 queued jobs, and the grid. The tables of the engine have fewer replicas and no grid.
func BenchmarkSurface(b *testing.B) {
	for _, c := range []struct {
		name    string
		round   bool
		outages []forward.Outage
	}{
		{"RoundLimits", true, nil},
		{"AnyLimits", false, nil},
		{"Outages", false, []forward.Outage{{From: 300_000, Until: 330_000, Procs: 100_000},
			{From: 20_000, Until: 40_000, Procs: 5_000}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := large(100_000, 10_000, 20_000, c.round)
			s.Outages = c.outages
			b.ReportAllocs()
			for b.Loop() {
				if _, err := forward.NewSurface(context.Background(), s, forward.SurfaceOptions{Seed: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkQuantile makes one forecast from a surface.
func BenchmarkQuantile(b *testing.B) {
	s, err := forward.NewSurface(context.Background(), large(100_000, 1_000, 2_000, true), forward.SurfaceOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Quantile(1000, 10_000, .95); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNodes forecasts a request for GPUs in a pool of 300 jobs, with 24 replicas that place jobs on nodes.
func BenchmarkNodes(b *testing.B) {
	for _, nodes := range []int{16, 128, forward.MostNodes} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			s := large(8*nodes, 150, 150, true)
			s.Nodes = gpuNodes(nodes)
			for i := range s.Waiting {
				if s.Waiting[i].Procs = min(s.Waiting[i].Procs, 8*nodes); i%2 == 0 {
					s.Waiting[i].Needs = takes(1+s.Waiting[i].Procs/8, i%4*(1+s.Waiting[i].Procs/8), 0)
				}
			}
			var sim forward.Sim
			var dst []float64
			b.ReportAllocs()
			for b.Loop() {
				var err error
				r := forward.Request{Procs: 8, Limit: 7200, Needs: takes(1, 4, 0)}
				if dst, err = sim.Waits(s, r, 24, 1, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
