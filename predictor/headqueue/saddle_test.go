package headqueue

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// approximationError returns the largest |saddlepoint - exact| over the whole range of needs of random states of the
// mix, at random instants.
func approximationError(t *testing.T, rng *rand.Rand, size func() int, jobs, states int) float64 {
	t.Helper()
	var c Calc
	var tail []float64
	worst := 0.0
	for range states {
		holders := machine(rng, jobs, size)
		at := math.Exp(math.Log(30) + rng.Float64()*math.Log(3000))
		top := totalProcs(holders) + 1
		tail = c.Tail(tail, holders, at, top)
		for range 100 {
			// Three quarters of the needs are spread evenly over the probability, the others over the range.
			need := 1 + rng.IntN(top)
			if level := rng.Float64(); rng.IntN(4) > 0 {
				need = max(1, sort.Search(top, func(n int) bool { return tail[n] <= level }))
			}
			if d := math.Abs(c.approximate(need) - tail[need]); d > worst {
				worst = d
			}
		}
	}
	return worst
}

// TestSaddlepointError bounds the error of the approximation on random states of 300 and more jobs by .005 of
// probability.
func TestSaddlepointError(t *testing.T) {
	for name := range mixes(nil) {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			size := mixes(rng)[name]
			for _, jobs := range []int{300, 1000} {
				worst := approximationError(t, rng, size, jobs, 6)
				t.Logf("%d jobs: %.5f", jobs, worst)
				if worst > .005 {
					t.Errorf("%d jobs: error %.4f, want at most .005", jobs, worst)
				}
			}
		})
	}
}

// TestSaddlepointQuantiles proves that the quantiles of the approximation are quantiles of the exact distribution,
// within .005 of probability.
func TestSaddlepointQuantiles(t *testing.T) {
	for name := range mixes(nil) {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(21, 22))
			size := mixes(rng)[name]
			approximate := Calc{WorkLimit: -1}
			var exact Calc
			for range 4 {
				holders := machine(rng, 400, size)
				need := 1 + rng.IntN(totalProcs(holders))
				s := State{Capacity: 1 << 30, Running: holders}
				r, err := approximate.Forecast(&s, need, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.Method != MethodSaddlepoint {
					t.Fatalf("method %s", r.Method)
				}
				for i, q := range r.Levels {
					at := r.Quantiles[i]
					if math.IsInf(at, 1) {
						at = horizon
						if p := exact.AtLeast(holders, need, at); p > q+.005 {
							t.Errorf("need %d level %g: never, but exactly %.4f is reached", need, q, p)
						}
						continue
					}
					p, before := exact.AtLeast(holders, need, at), exact.AtLeast(holders, need, at-slack(at))
					if p < q-.005 || before > q+.005 {
						t.Errorf("need %d level %g: %g s, exactly %.4f there and %.4f before", need, q, at, p, before)
					}
				}
			}
		})
	}
}
