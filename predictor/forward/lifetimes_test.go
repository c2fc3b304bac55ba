package forward_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// drawChanged draws a state that differs from another one in some inputs of the lifetimes: ages, laws, groups, keys,
// the order of the waiting jobs, and Rho.
func drawChanged(rt *rapid.T, s *forward.State) *forward.State {
	out := *s
	out.Running, out.Waiting = slices.Clone(s.Running), slices.Clone(s.Waiting)
	out.Rho = rapid.SampledFrom([]float64{0, .3, .6}).Draw(rt, "rho")
	changes := rapid.IntRange(0, 6)
	for i := range out.Running {
		switch r := &out.Running[i]; changes.Draw(rt, "running job") {
		case 0:
			r.Age += 100
		case 1:
			r.Law = aging(200 + 10*i)
		case 2:
			r.Group++
		case 3:
			r.Key = 0
		}
	}
	for i := range out.Waiting {
		switch w := &out.Waiting[i]; changes.Draw(rt, "waiting job") {
		case 0:
			w.Key += 1000
		case 1:
			w.Law = shaky(1 + 50*i)
		case 2:
			w.Group++
		case 3:
			w.Law = nil
		}
	}
	if rapid.Bool().Draw(rt, "reversed") {
		slices.Reverse(out.Waiting)
	}
	return &out
}

// TestLifetimesChangeNothing proves that a cache of lifetimes changes no wait, to the last bit. Several states share
// it: those whose jobs it has, those that differ in inputs of the lifetimes, and simulations with other seeds or with
// more replicas.
func TestLifetimesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := busy()
		for i := range base.Running {
			base.Running[i].Group, base.Running[i].Law = uint64(i%4), aging(500+100*i)
		}
		base.Rho = .3
		cache := forward.NewLifetimes(base, 6, 1)
		var plain, sharing forward.Sim
		for range 4 {
			s := drawChanged(rt, base)
			r := forward.Request{Procs: rapid.IntRange(1, 64).Draw(rt, "procs"), Limit: 1800}
			seed, replicas := rapid.Uint64Range(1, 2).Draw(rt, "seed"), rapid.IntRange(1, 9).Draw(rt, "replicas")
			want, err := plain.Futures(s, r, replicas, seed, nil)
			check(t, err)
			cached := *s
			cached.Lifetimes = cache
			sharing.Workers = rapid.IntRange(1, 3).Draw(rt, "workers")
			got, err := sharing.Futures(&cached, r, replicas, seed, nil)
			check(t, err)
			if !slices.Equal(got, want) {
				rt.Fatalf("with the cache %v, without it %v", got, want)
			}
			if a, b := planned(t, &plain, s, r), planned(t, &sharing, &cached, r); a != b {
				rt.Fatalf("the plan with the cache is %v, without it %v", b, a)
			}
		}
	})
}

// planned returns the wait of a request by the limits alone.
func planned(t *testing.T, sim *forward.Sim, s *forward.State, r forward.Request) float64 {
	t.Helper()
	wait, err := sim.Plan(s, r)
	check(t, err)
	return wait
}

// counting is a law that counts its uses.
type counting struct{ n *int }

func (c counting) Residual(_, u float64) float64 {
	*c.n++
	return 1000 * u
}

// TestLifetimesAreDrawnOnce proves that a lifetime is drawn once for all simulations that share the cache: by requests,
// and by surfaces.
func TestLifetimesAreDrawnOnce(t *testing.T) {
	s, drawn := busy(), 0
	for i := range s.Running {
		s.Running[i].Law = counting{&drawn}
	}
	s.Lifetimes = forward.NewLifetimes(s, 5, 1)
	var sim forward.Sim
	for range 3 {
		_, err := sim.Futures(s, forward.Request{Procs: 16, Limit: 1800}, 5, 1, nil)
		check(t, err)
	}
	_, err := forward.NewSurface(context.Background(), s, forward.SurfaceOptions{Replicas: 5, Seed: 1, Workers: 1})
	check(t, err)
	if want := 5 * len(s.Running); drawn != want {
		t.Errorf("%d lifetimes drawn, want %d", drawn, want)
	}
}

// TestLifetimesOfABadLaw proves that the error of a law that gives an impossible lifetime is the same in every
// simulation that shares the cache.
func TestLifetimesOfABadLaw(t *testing.T) {
	s := busy()
	s.Running[3].Law = failing{1}
	s.Lifetimes = forward.NewLifetimes(s, 5, 1)
	var sim forward.Sim
	r := forward.Request{Procs: 16, Limit: 1800}
	_, first := sim.Futures(s, r, 5, 1, nil)
	_, second := sim.Futures(s, r, 5, 1, nil)
	if first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("errors %v, then %v; want twice the same", first, second)
	}
}

// TestLifetimesAreShared has several goroutines simulate with one cache, for the race detector. All get the same waits.
func TestLifetimesAreShared(t *testing.T) {
	s := busy()
	r := forward.Request{Procs: 16, Limit: 1800}
	var alone forward.Sim
	want, err := alone.Waits(s, r, 24, 1, nil)
	check(t, err)
	s.Lifetimes = forward.NewLifetimes(s, 24, 1)
	var all sync.WaitGroup
	got, errs := make([][]float64, 4), make([]error, 4)
	for i := range got {
		all.Go(func() {
			var sim forward.Sim
			got[i], errs[i] = sim.Waits(s, r, 24, 1, nil)
		})
	}
	all.Wait()
	for i := range got {
		if check(t, errs[i]); !slices.Equal(got[i], want) {
			t.Errorf("goroutine %d: %v, want %v", i, got[i], want)
		}
	}
}
