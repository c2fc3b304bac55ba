package forward_test

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/forward"
)

// TestBatches proves that replicas that are simulated in batches are the first of those that are simulated at once,
// with gates too. It also proves that Enough ends the simulation, at the latest after all replicas.
func TestBatches(t *testing.T) {
	const all = 20
	gated := busy()
	gated.Gates = []forward.Gate{{Over: 1800, Flips: []float64{10, 30_000}}}
	for _, s := range []*forward.State{busy(), gated} {
		whole, err := forward.NewSurface(t.Context(), s, forward.SurfaceOptions{Replicas: all, Starts: 5, Plain: true})
		check(t, err)
		for _, until := range []int{forward.Batch, 2 * forward.Batch, all} {
			var seen []int
			o := forward.SurfaceOptions{Replicas: all, Starts: 5, Plain: true}
			o.Enough = func(s *forward.Surface) bool {
				seen = append(seen, s.Replicas())
				return s.Replicas() >= until
			}
			part, err := forward.NewSurface(t.Context(), s, o)
			check(t, err)
			want := []int{forward.Batch, 2 * forward.Batch}[:min(2, until/forward.Batch)]
			if part.Replicas() != until || !slices.Equal(seen, want) {
				t.Fatalf("%d replicas instead of %d, after decisions at %v", part.Replicas(), until, seen)
			}
			for _, limit := range []float64{600, 1800, 3600, 0} {
				for _, procs := range []int{1, 17, 64} {
					want, err := whole.WaitsByReplica(procs, limit, nil)
					check(t, err)
					got, err := part.WaitsByReplica(procs, limit, nil)
					check(t, err)
					if !slices.Equal(got, want[:until]) {
						t.Errorf("%d processors, limit %v: %v, at once %v", procs, limit, got, want)
					}
				}
			}
			for i := range 5 {
				if got, want := part.StartPivots(i, nil), whole.StartPivots(i, nil); !slices.Equal(got, want[:until]) {
					t.Errorf("pivots of job %d: %v, at once %v", i, got, want)
				}
			}
		}
	}
}
