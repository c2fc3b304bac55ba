package forward_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

var small = world{capacity: 12, running: 6, waiting: 7, most: 12, limits: 20,
	policies: []forward.Policy{forward.FCFS, forward.EASY}}

// TestWaitsAreTheSimulators proves that a request's wait is that of package simulator, an independent simulation of the
// same policies, with the request in the queue.
func TestWaitsAreTheSimulators(t *testing.T) {
	large := small
	large.capacity, large.running, large.waiting, large.most, large.limits = 3000, 150, 300, 400, 5000
	away, far := small, large
	away.outages, far.outages = true, true
	// with future outages the simulator gives no reservation to a job that never starts by the limits
	away.known, far.known = true, true
	for name, w := range map[string]world{
		"small": small, "large": large, "small with outages": away, "large with outages": far,
	} {
		t.Run(name, func(t *testing.T) {
			var sim forward.Sim
			rapid.Check(t, func(rt *rapid.T) {
				s := w.draw(rt)
				r := w.request(rt, &s)
				got, err := sim.Waits(&s, r, 1, 0, nil)
				want := simulated(t, &s, r)
				if g := one(rt, got, err); g != want {
					rt.Fatalf("wait %v, the simulator's %v", g, want)
				}
			})
		})
	}
}

// TestWaitsAreTheNaiveOnes compares a request's wait with a simulation that computes everything again at every second,
// with jobs that become eligible later, outages, gates, and a place in the middle of the queue.
func TestWaitsAreTheNaiveOnes(t *testing.T) {
	w := small
	w.outages, w.past, w.blocked, w.ranks, w.gates = true, true, true, true, true
	w.policies = []forward.Policy{forward.FCFS, forward.EASY, forward.Conservative, forward.PriorityFCFS,
		forward.PriorityEASY}
	var sim forward.Sim
	rapid.Check(t, func(rt *rapid.T) {
		s := w.draw(rt)
		s.DefaultLimit = float64(rapid.IntRange(1, 30).Draw(rt, "default limit"))
		r := w.request(rt, &s)
		r.Behind = rapid.IntRange(0, len(s.Waiting)).Draw(rt, "behind")
		r.Eligible = float64(rapid.IntRange(-1, 20).Draw(rt, "request eligible"))
		got, err := sim.Waits(&s, r, 1, 0, nil)
		want := newNaive(&s, r).play(600)
		if g := one(rt, got, err); g != want {
			rt.Fatalf("wait %v, want %v", g, want)
		}
	})
}

// TestSurfaceIsTheRequestInTheQueue proves that one set of replicas without the request answers for every size and
// limit as if the request had been in the queue.
func TestSurfaceIsTheRequestInTheQueue(t *testing.T) {
	w := small
	w.outages, w.past, w.blocked, w.gates = true, true, true, true
	var sim forward.Sim
	rapid.Check(t, func(rt *rapid.T) {
		s := w.draw(rt)
		surface, err := forward.NewSurface(context.Background(), &s,
			forward.SurfaceOptions{Replicas: 1, Workers: 1, Limits: []float64{3, 7}})
		check(t, err)
		for procs := 1; procs <= surface.Capacity(); procs++ {
			for _, limit := range []float64{0, 1, 2, 3, 5, 7, 10, 19, 40, 1000} {
				got, err := surface.Waits(procs, limit, nil)
				want, wantErr := sim.Waits(&s, forward.Request{Procs: procs, Limit: limit}, 1, 0, nil)
				if g, w := one(rt, got, err), one(rt, want, wantErr); g != w {
					rt.Fatalf("%d processors, limit %v: wait %v, with the request in the queue %v", procs, limit, g, w)
				}
				q, err := surface.Quantile(procs, limit, .5)
				if err != nil || q < got[0] || (limit == 0 || limit == 3 || limit == 7) && q != got[0] {
					rt.Fatalf("%d processors, limit %v: quantile %v (%v), wait %v", procs, limit, q, err, got[0])
				}
			}
		}
	})
}
