package forward_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// TestPivotsByHand checks pivots by hand: of 10 processors one job holds 6 for 100 s, and another 4 for 50 s. A request
// for 4 starts when the second ends, and one for 8 when the first ends. Behind a job that takes the whole machine for
// 30 s, a request starts when that one ends, at 130 s. This also depends on the first job. A request that fits at once
// depends on no job.
func TestPivotsByHand(t *testing.T) {
	s := forward.State{Capacity: 10,
		Running: []forward.Running{{Procs: 6, Limit: 500, Law: sure(100)}, {Procs: 4, Limit: 500, Law: sure(50)}}}
	whole := s
	whole.Waiting = []forward.Waiting{{Procs: 10, Limit: 500, Law: sure(30)}}
	idle := s
	idle.Running = s.Running[1:]
	down := idle
	down.Running, down.Outages = nil, []forward.Outage{{From: -1, Until: 70, Procs: 8}}
	for _, c := range []struct {
		name  string
		state *forward.State
		procs int
		root  int32
		wait  float64
	}{
		{"small", &s, 4, 1, 50}, {"large", &s, 8, 0, 100}, {"behind the whole machine", &whole, 2, 0, 130},
		{"at once", &idle, 6, -1, 0}, {"an outage", &down, 6, -1, 70},
	} {
		var sim forward.Sim
		roots, err := sim.Pivots(c.state, forward.Request{Procs: c.procs}, 3, 1, nil)
		check(t, err)
		waits, err := sim.Waits(c.state, forward.Request{Procs: c.procs}, 3, 1, nil)
		check(t, err)
		if !slices.Equal(roots, []int32{c.root, c.root, c.root}) || waits[0] != c.wait {
			t.Errorf("%s: pivots %v, waits %v, want %d and %v", c.name, roots, waits, c.root, c.wait)
		}
	}
}

// lively draws a pool in which no two events happen at the same time.
func lively(rt *rapid.T) forward.State {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))
	s := forward.State{Capacity: 16,
		Policy: rapid.SampledFrom([]forward.Policy{forward.FCFS, forward.EASY}).Draw(rt, "policy")}
	for free := s.Capacity; free > 0; {
		n := 1 + rng.IntN(free)
		free -= n
		limit := 10 + 1000*rng.Float64()
		s.Running = append(s.Running, forward.Running{Key: uint64(len(s.Running) + 1), Procs: n, Age: 9 * rng.Float64(),
			Limit: limit, Law: sure(1 + 1.2*limit*rng.Float64())})
	}
	for range rng.IntN(8) {
		limit := 10 + 1000*rng.Float64()
		s.Waiting = append(s.Waiting, forward.Waiting{Key: uint64(100 + len(s.Waiting)), Procs: 1 + rng.IntN(16),
			Limit: limit, Law: sure(1 + 1.2*limit*rng.Float64())})
	}
	return s
}

// TestPivotMovesTheStart proves the definition of a pivot: an earlier end of the pivot moves the request's start by the
// same time, and an earlier end of any other running job changes nothing.
func TestPivotMovesTheStart(t *testing.T) {
	const moment = 1. / (1 << 20)
	var sim forward.Sim
	rapid.Check(t, func(rt *rapid.T) {
		s := lively(rt)
		r := forward.Request{Procs: rapid.IntRange(1, 16).Draw(rt, "procs"),
			Limit: 5 + float64(rapid.IntRange(0, 900).Draw(rt, "limit"))/math.Pi}
		roots, err := sim.Pivots(&s, r, 1, 0, nil)
		check(t, err)
		waits, err := sim.Waits(&s, r, 1, 0, nil)
		before := one(rt, waits, err)
		if before == 0 {
			rt.Fatalf("all is taken, and it starts at once")
		}
		for i := range s.Running {
			kept := s.Running[i].Law
			s.Running[i].Law = kept.(sure) - moment
			waits, err := sim.Waits(&s, r, 1, 0, nil)
			after := one(rt, waits, err)
			s.Running[i].Law = kept
			want := before
			if int32(i) == roots[0] {
				want -= moment
			}
			if math.Abs(after-want) > moment/100 {
				rt.Fatalf("pivot %d: job %d ends %v s sooner, and the start moves from %v to %v", roots[0], i, moment,
					before, after)
			}
		}
	})
}

// TestSurfacePivots proves that one set of replicas gives, for every request and every waiting job, the same pivots as
// a simulation with the job in the queue.
func TestSurfacePivots(t *testing.T) {
	var sim forward.Sim
	rapid.Check(t, func(rt *rapid.T) {
		s := lively(rt)
		surface, err := forward.NewSurface(context.Background(), &s,
			forward.SurfaceOptions{Replicas: 2, Workers: 1, Plain: true, Starts: 5})
		check(t, err)
		for procs := 1; procs <= surface.Capacity(); procs++ {
			for _, limit := range []float64{0, 3.3, 71.7, 333.3} {
				got, err := surface.Pivots(procs, limit, nil)
				check(t, err)
				want, err := sim.Pivots(&s, forward.Request{Procs: procs, Limit: limit}, 2, 0, nil)
				if check(t, err); !slices.Equal(got, want) {
					rt.Fatalf("%d processors, limit %v: pivots %v, in the queue %v", procs, limit, got, want)
				}
				waits, err := surface.Waits(procs, limit, nil)
				check(t, err)
				if q, err := surface.Quantile(procs, limit, .5); err != nil || q != waits[0] {
					rt.Fatalf("quantile %v (%v) without a grid, waits %v", q, err, waits)
				}
			}
		}
		sizes := make([]int, surface.Capacity()+1) // the last size is too large
		for i := range sizes {
			sizes[i] = i + 1
		}
		var starts []forward.Start
		for _, limit := range []float64{0, 3.3, 71.7, 333.3} {
			starts = surface.Starts(sizes, limit, starts)
			for i, size := range sizes {
				waits, err := surface.WaitsByReplica(size, limit, nil)
				roots, _ := surface.Pivots(size, limit, nil)
				for r, start := range starts[2*i : 2*i+2] {
					if never := math.IsNaN(start.Wait); never != (err != nil) ||
						!never && start != (forward.Start{Wait: waits[r], Root: roots[r]}) {
						rt.Fatalf("%d processors, limit %v: start %v, alone %v at %v", size, limit, start, waits, roots)
					}
				}
			}
		}
		for i, w := range s.Waiting {
			rest := s
			rest.Waiting = slices.Delete(slices.Clone(s.Waiting), i, i+1)
			want, err := sim.Pivots(&rest,
				forward.Request{Procs: w.Procs, Limit: w.Limit, Behind: len(rest.Waiting) - i}, 2, 0, nil)
			check(t, err)
			if i >= 5 {
				want = nil
			}
			if got := surface.StartPivots(i, nil); !slices.Equal(got, want) {
				rt.Fatalf("waiting job %d: pivots %v, as a request in its place %v", i, got, want)
			}
		}
	})
}
