package simulator_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/simulator"
)

// TestHurry proves that one more goroutine takes part once a caller is in a hurry, even if all others are busy, and
// that the results equal those of one goroutine.
func TestHurry(t *testing.T) {
	const n = 20
	draw := func(rng *rand.Rand) uint64 { return rng.Uint64() }
	want, err := simulator.Replicas(t.Context(), n, 1, 7, func() int { return 0 },
		func(_, _ int, rng *rand.Rand) (uint64, error) { return draw(rng), nil })
	if err != nil {
		t.Fatal(err)
	}
	hurry, second := make(chan struct{}), make(chan struct{})
	got, err := simulator.HurriedReplicas(t.Context(), n, 1, hurry, 7, func() int { return 0 },
		func(_, replica int, rng *rand.Rand) (uint64, error) {
			switch replica {
			case 0: // the only goroutine at the beginning continues when another one has come
				close(hurry)
				<-second
			case 1:
				close(second)
			}
			return draw(rng), nil
		})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("in a hurry %v, %v; want %v", got, err, want)
	}
}

// TestNoHurry proves that the work ends if no caller is ever in a hurry, and that the end of the context is returned as
// an error.
func TestNoHurry(t *testing.T) {
	never := make(chan struct{})
	sum := func(_, replica int, _ *rand.Rand) (int, error) { return replica, nil }
	got, err := simulator.HurriedReplicas(t.Context(), 3, 2, never, 1, func() int { return 0 }, sum)
	if err != nil || !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("%v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := simulator.HurriedReplicas(ctx, 3, 2, never, 1, func() int { return 0 }, sum); err == nil {
		t.Error("no error after the context has ended")
	}
}
