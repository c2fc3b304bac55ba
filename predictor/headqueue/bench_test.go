package headqueue

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
)

// BenchmarkTail1000x10000 measures Pr{F >= n'} at one t for every n' up to 10,000 with 1,000 running jobs. The budget
// is 10 ms.
func BenchmarkTail1000x10000(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, bc := range []struct {
		name string
		size func() int
		t    float64
	}{
		{"total20000", func() int { return 1 + rng.IntN(39) }, 3600},
		{"total100000", func() int { return 1 + rng.IntN(199) }, 3600},
		// Nearly all probability stays within the 10,000 states, so that nothing ends early.
		{"total1000000", func() int { return 1 + rng.IntN(1999) }, 30},
	} {
		holders := machine(rng, 1000, bc.size)
		b.Run(bc.name, func(b *testing.B) {
			var c Calc
			var dst []float64
			b.ReportAllocs()
			for b.Loop() {
				dst = c.Tail(dst, holders, bc.t, 10_000)
			}
		})
	}
}

func benchForecast(b *testing.B, s *State, procs, limit int) {
	c := Calc{WorkLimit: limit}
	var r Result
	levels := waittime.Levels()
	within := []float64{3600}
	evals := 0
	b.ReportAllocs()
	for b.Loop() {
		c.behind.known = false // otherwise the results of the jobs ahead are reused from the second call on
		if err := c.ForecastInto(&r, s, procs, levels, within); err != nil {
			b.Fatal(err)
		}
		evals = len(c.pts)
	}
	b.ReportMetric(float64(evals), "instants")
	b.Logf("%s need %d: %.5g", r.Method, r.Need, r.Quantiles)
}

// BenchmarkQueueAgain measures a request in the same state as the previous request, but of another size.
func BenchmarkQueueAgain(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 3))
	size := func() int { return 1 + rng.IntN(64) }
	s := State{Running: machine(rng, 150, size)}
	s.Capacity = totalProcs(s.Running)
	for _, h := range machine(rng, 140, size) {
		s.Ahead = append(s.Ahead, Ahead{h.Procs, h.Limit, h.Law})
	}
	var c Calc
	var r Result
	for i := 0; b.Loop(); i++ {
		if err := c.ForecastInto(&r, &s, 1+i%s.Capacity, waittime.Levels(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSixQuantiles1000 measures six quantiles of one request with 1,000 running jobs: by the exact method with n'
// = 1,000, and by the saddlepoint approximation with several mixes of sizes. The budgets are 20 ms and 1 ms.
func BenchmarkSixQuantiles1000(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, bc := range []struct {
		name        string
		size        func() int
		need, limit int
	}{
		{"exact/small_jobs", func() int { return 1 + rng.IntN(8) }, 1000, 0},
		{"exact/wide_jobs", func() int { return 1 + rng.IntN(199) }, 1000, 0},
		{"exact/benefactor", func() int { return 1 + rng.IntN(8) }, 1000, 0},
		{"exact/limits_only", func() int { return 1 + rng.IntN(8) }, 1000, 0},
		{"saddlepoint/small_jobs", func() int { return 1 + rng.IntN(8) }, 1000, -1},
		{"saddlepoint/wide_jobs", func() int { return 1 + rng.IntN(199) }, 50_000, -1},
		{"saddlepoint/16s", mixes(rng)["9/10 multiples of 16"], 20_000, -1},
		{"saddlepoint/48s", mixes(rng)["97% multiples of 48"], 50_000, -1},
		{"saddlepoint/few256", mixes(rng)["a few 256 in small"], 3_000, -1},
	} {
		s := State{Capacity: 1 << 30, Running: machine(rng, 1000, bc.size)}
		switch bc.name {
		case "exact/benefactor": // without a benefactor, the error of Predictor A is allocated
			s.Running[0].Procs = bc.need
		case "exact/limits_only": // the cdf has only jumps
			for i := range s.Running {
				h := &s.Running[i]
				h.Law, h.Limit = nil, h.Age+60*float64(1+rng.IntN(60))
			}
		}
		b.Run(bc.name, func(b *testing.B) { benchForecast(b, &s, bc.need, bc.limit) })
	}
}

// BenchmarkQueue measures the whole forecast behind a queue: with a law per job, and with four laws in total, as a
// daemon has one per queue and class.
func BenchmarkQueue(b *testing.B) {
	for _, bc := range []struct {
		name           string
		running, ahead int
	}{
		{"20_running_100_ahead", 20, 100}, {"1000_running_300_ahead", 1000, 300},
		{"10000_running_20000_ahead", 10_000, 20_000},
	} {
		rng := rand.New(rand.NewPCG(3, 3))
		size := func() int { return 1 + rng.IntN(64) }
		s := State{Running: machine(rng, bc.running, size)}
		s.Capacity = totalProcs(s.Running)
		for _, h := range machine(rng, bc.ahead, size) {
			s.Ahead = append(s.Ahead, Ahead{h.Procs, h.Limit, h.Law})
		}
		b.Run(bc.name+"/own_laws", func(b *testing.B) { benchForecast(b, &s, 64, 0) })
		var laws [4]uniformLog
		for i := range laws {
			laws[i] = newUniformLog(10, 3600*math.Exp(float64(i)))
		}
		for i := range s.Running {
			s.Running[i].Law = &laws[i%4]
			s.Running[i].Age = math.Mod(s.Running[i].Age, laws[i%4].tmax)
		}
		for i := range s.Ahead {
			s.Ahead[i].Law = &laws[i%4]
		}
		b.Run(bc.name+"/four_laws", func(b *testing.B) { benchForecast(b, &s, 64, 0) })
	}
}
