package forward_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// crowded draws a pool of up to some hundred jobs, most of them small, some ending at the same instant, with arrivals
// during up to one hour.
func crowded(t *rapid.T) forward.State {
	w := world{capacity: 300, running: 150, waiting: 40, most: 12, limits: 500, known: true, blocked: true,
		policies: []forward.Policy{forward.FCFS, forward.EASY}}
	s := w.draw(t)
	if rapid.Bool().Draw(t, "arrivals") {
		s.Arrivals = func(replica int, seed uint64) func() (forward.Arrival, bool) {
			rng, left := rand.New(rand.NewPCG(uint64(replica), seed)), 200
			return func() (forward.Arrival, bool) {
				left--
				return forward.Arrival{After: float64(rng.IntN(30)), Procs: 1 + rng.IntN(9),
					Limit: float64(1 + rng.IntN(500)), Runtime: float64(rng.IntN(400))}, left >= 0
			}
		}
		s.Horizon = float64(rapid.IntRange(200, 3600).Draw(t, "horizon"))
	}
	return s
}

// TestEndsAreWorkedOut proves that two surfaces are equal. One simulates its replicas only until no job ahead waits,
// and computes the rest (see machine.drain). The other simulates them to their ends, because of an outage that is too
// far away to concern any request.
func TestEndsAreWorkedOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := crowded(rt)
		played := s
		played.Outages = []forward.Outage{{From: 1e12, Until: 2e12, Procs: 1}}
		options := forward.SurfaceOptions{Replicas: 2, Workers: 1, Plain: true, Starts: 5,
			Coarse: rapid.Bool().Draw(rt, "coarse")}
		short, err := forward.NewSurface(context.Background(), &s, options)
		check(t, err)
		options.Coarse = false
		long, err := forward.NewSurface(context.Background(), &played, options)
		check(t, err)
		sizes := forward.CoarseSizes(short.Capacity())
		for _, limit := range []float64{1, 30, 333, 5000} {
			got, want := short.Starts(sizes, limit, nil), long.Starts(sizes, limit, nil)
			for i := range got {
				if got[i] != want[i] {
					rt.Fatalf("%d processors, limit %v: start %v, played to the end %v", sizes[i/2], limit, got[i],
						want[i])
				}
			}
		}
		for i := range 5 {
			if got, want := short.StartPivots(i, nil), long.StartPivots(i, nil); !slices.Equal(got, want) {
				rt.Fatalf("waiting job %d: pivots %v, played to the end %v", i, got, want)
			}
		}
	})
}

// TestCoarseSizesAreRounded proves that a request between two sizes of a coarse surface gets the wait of the next
// larger one.
func TestCoarseSizesAreRounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := crowded(rt)
		options := forward.SurfaceOptions{Replicas: 1, Workers: 1, Plain: true}
		fine, err := forward.NewSurface(context.Background(), &s, options)
		check(t, err)
		options.Coarse = true
		coarse, err := forward.NewSurface(context.Background(), &s, options)
		check(t, err)
		sizes := forward.CoarseSizes(coarse.Capacity())
		for procs := 1; procs <= coarse.Capacity(); procs++ {
			i, _ := slices.BinarySearch(sizes, procs)
			got, err := coarse.Waits(procs, 60, nil)
			check(t, err)
			want, err := fine.Waits(sizes[i], 60, nil)
			check(t, err)
			if !slices.Equal(got, want) {
				rt.Fatalf("%d processors: %v, want those of %d, %v", procs, got, sizes[i], want)
			}
		}
	})
}
