package forward_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/forward"
)

// failing is a law that gives an impossible lifetime if the random number is below a bound.
type failing struct{ below float64 }

func (f failing) Residual(_, u float64) float64 {
	if u < f.below {
		return -u
	}
	return 100
}

// TestWorkersChangeNothing proves that waits do not depend on the number of workers, to the last bit, also in memory
// that others used before. If several replicas fail, the error is that of the first one.
func TestWorkersChangeNothing(t *testing.T) {
	r := forward.Request{Procs: 16, Limit: 1800}
	states := []*forward.State{busy(), large(60, 100, 200, true), large(40, 2, 9, false)}
	states[1].Arrivals = func(replica int, _ uint64) func() (forward.Arrival, bool) {
		n := 0
		return func() (forward.Arrival, bool) {
			n++
			return forward.Arrival{After: float64(replica + n), Procs: 1 + n%7, Limit: 500, Runtime: 300}, n < 50
		}
	}
	bad := large(60, 100, 200, false)
	for i := range bad.Running {
		bad.Running[i].Law = failing{.02}
	}
	var alone, several forward.Sim
	for _, workers := range []int{2, 3, 9} {
		several.Workers = workers
		for i, s := range states {
			want, err := alone.Waits(s, r, 24, 1, nil)
			check(t, err)
			got, err := several.Waits(s, r, 24, 1, nil)
			check(t, err)
			if !slices.Equal(got, want) {
				t.Errorf("state %d, %d workers: %v, alone %v", i, workers, got, want)
			}
		}
		_, err := alone.Waits(bad, r, 24, 1, nil)
		_, other := several.Waits(bad, r, 24, 1, nil)
		var want, got *forward.LawError
		if !errors.As(err, &want) || !errors.As(other, &got) || *got != *want {
			t.Errorf("%d workers: %v, alone %v", workers, other, err)
		}
	}
}
