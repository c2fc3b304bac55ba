package headqueue_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// TestSampledIntervals proves that the interval of a quantile contains the value that some thousand draws give. This
// holds at each level in at least 95 % of 300 random states with WAITCAST_LONG=1, and otherwise in 90 % of 50. With
// four times as many draws the interval is about half as wide. With 30 draws a log-normal law replaces the order of the
// draws. Then it holds in 80 %, because the interval does not account for the error of that law. A quantile that needs
// no draws has no interval.
func TestSampledIntervals(t *testing.T) {
	counts := []int{30, 128, 512}
	levels := waittime.Levels()
	held, width := make([][]float64, len(counts)), make([]float64, len(counts))
	for k := range counts {
		held[k] = make([]float64, len(levels))
	}
	n, states, required := 0.0, uint64(50), .9
	if os.Getenv("WAITCAST_LONG") != "" {
		states, required = 300, .95
	}
	for seed := range states {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 7)))
		run, queued, now := w.scene(1 + w.rng.IntN(30))
		last := len(queued) - 1
		if last < 1 || len(run)+last > 60 {
			continue
		}
		s, procs := state(w.procs, run, queued[:last], now), queued[last].procs
		truth, err := (&headqueue.Calc{Replicas: math.MaxInt}).Forecast(s, procs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if truth.Method != headqueue.MethodFCFSQueue {
			if len(truth.Low) > 0 || truth.Replicas != 0 {
				t.Fatalf("%s has intervals: %+v", truth.Method, truth)
			}
			continue
		}
		if truth.Replicas < 4000 {
			t.Fatalf("%d draws only", truth.Replicas)
		}
		n++
		for k, replicas := range counts {
			r, err := (&headqueue.Calc{Replicas: replicas}).Forecast(s, procs, nil, nil)
			if err != nil || r.Replicas != replicas {
				t.Fatal(err, r.Replicas)
			}
			own := r.Medians[len(r.Medians)-1]
			if own.Low != r.Low[2] || own.High != r.High[2] || own.Replicas != replicas || levels[2] != .5 {
				t.Fatalf("the median's interval is %v to %v of %d, of the quantiles %v to %v", own.Low, own.High,
					own.Replicas, r.Low[2], r.High[2])
			}
			for i := range levels {
				if r.Low[i] <= r.Quantiles[i] && r.Quantiles[i] <= r.High[i] &&
					r.Low[i] <= truth.Quantiles[i] && truth.Quantiles[i] <= r.High[i] {
					held[k][i]++
				}
			}
			width[k] += math.Log1p(r.High[2]) - math.Log1p(r.Low[2])
		}
	}
	if n < 30 {
		t.Fatalf("%v states", n)
	}
	for k, replicas := range counts {
		least := required
		if replicas < 64 {
			least = .8
		}
		for i, q := range levels {
			if held[k][i]/n < least {
				t.Errorf("%d draws, level %v: the interval has the truth in %.3f of %v states, want %v", replicas, q,
					held[k][i]/n, n, least)
			}
		}
	}
	var share, apart [3]float64
	for k := range counts {
		share[k], apart[k] = 100*held[k][2]/n, math.Exp(width[k]/n)
	}
	t.Logf("states %.0f, held %.1f %.1f %.1f, apart %.2f %.2f "+
		"%.2f", n, share[0], share[1], share[2], apart[0], apart[1],
		apart[2])
	if ratio := width[2] / width[1]; ratio < .35 || ratio > .65 {
		t.Errorf("by 512 draws the median's interval is %.2f as wide as by 128, want about .5", ratio)
	}
}
