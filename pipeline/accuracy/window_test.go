package accuracy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
)

// TestWindow proves that a window has all forecasts up to 1000 and then the newest 901 to 1000, and that its figures
// are right.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	levels := waittime.Levels()
	type forecast struct {
		quantiles []float64
		wait      float64
	}
	var all []forecast
	var w Window
	for n := 1; n <= 2345; n++ {
		f := forecast{wait: math.Floor(100 * rng.ExpFloat64() * float64(rng.IntN(2)))}
		q := 0.0
		for range levels {
			q += 40 * rng.Float64() * float64(rng.IntN(3))
			f.quantiles = append(f.quantiles, q)
		}
		all = append(all, f)
		w.add(levels, f.quantiles, f.wait)
		got := w.sum(len(levels))
		if got.N < int64(min(n, 901)) || got.N > int64(min(n, 1000)) {
			t.Fatalf("after %d forecasts the window has %d", n, got.N)
		}
		if n%67 != 0 {
			continue
		}
		for i, level := range levels {
			loss := 0.0
			for _, f := range all[n-int(got.N):] {
				d := math.Log(f.wait+60) - math.Log(f.quantiles[i]+60)
				loss += math.Max(level*d, (level-1)*d)
			}
			if math.Abs(got.LogPinball[i]-loss) > 1e-9 {
				t.Fatalf("after %d, level %v: loss %v; want %v", n, level, got.LogPinball[i], loss)
			}
		}
	}
}
