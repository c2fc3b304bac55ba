package forward_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// TestAfterAsDefined compares starts and blocked times with those of naive, which computes them from the definitions.
// Jobs wait for the ends of others; there are also limits and jobs that are not eligible yet.
func TestAfterAsDefined(t *testing.T) {
	w := world{capacity: 8, running: 4, waiting: 6, most: 4, limits: 20, known: true, blocked: true, ranks: true,
		caps: true, after: true, policies: []forward.Policy{forward.EASY, forward.FCFS, forward.PriorityEASY}}
	var sim forward.Sim
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		s := w.draw(t)
		r := w.request(t, &s)
		r.Holds, r.After = w.holds(t, &s, r.Procs), keys(t, &s)
		if rapid.IntRange(0, 3).Draw(t, "not yet") == 0 {
			r.Eligible = float64(rapid.IntRange(1, 20).Draw(t, "eligible"))
		}
		n := newNaive(&s, r)
		want := n.play(400)
		got, err := sim.Futures(&s, r, 1, 1, nil)
		var never *forward.NeverError
		if errors.As(err, &never) {
			got = []forward.Future{{Wait: math.Inf(1), Blocked: n.blocked}}
		} else if err != nil {
			t.Fatal(err)
		}
		if got[0].Wait != want || got[0].Blocked != n.blocked {
			t.Fatalf("starts after %v s, %v of them blocked; want %v and %v", got[0].Wait, got[0].Blocked, want,
				n.blocked)
		}
		if len(r.After) > 0 && n.blocked > 0 && !math.IsInf(want, 1) {
			kept++
		}
	})
	if kept == 0 && !testing.Short() {
		t.Error("no request waited for others: the states drawn are too easy")
	}
}

// TestChain proves that a request after three jobs, each of which waits for the one before, starts when all of them
// have run in turn, although everything is free. A request that waits for no job starts at once.
func TestChain(t *testing.T) {
	s := forward.State{Capacity: 10, Policy: forward.EASY,
		Running: []forward.Running{{Key: 1, Procs: 1, Limit: 100, Law: sure(50)}},
		Waiting: []forward.Waiting{
			{Key: 2, Procs: 1, Limit: 100, Law: sure(30), After: []uint64{1}},
			{Key: 3, Procs: 1, Limit: 100, Law: sure(20), After: []uint64{2, 1}}}}
	var sim forward.Sim
	for name, c := range map[string]struct {
		after []uint64
		want  float64
	}{"the last": {[]uint64{3}, 100}, "the first": {[]uint64{1}, 50}, "nobody": {nil, 0},
		"one that is gone": {[]uint64{9}, 0}} {
		got, err := sim.Futures(&s, forward.Request{Procs: 1, Limit: 100, After: c.after}, 1, 1, nil)
		check(t, err)
		if want := (forward.Future{Wait: c.want, Blocked: c.want, Soon: min(c.want, 8)}); got[0] != want {
			t.Errorf("after %s: %+v, want %+v", name, got[0], want)
		}
	}
	surface, err := forward.NewSurface(t.Context(), &s, forward.SurfaceOptions{Replicas: 1})
	check(t, err)
	waits, err := surface.WaitsByReplica(10, 100, nil)
	check(t, err)
	if waits[0] != 100 {
		t.Errorf("10 processors are free after %v s, want 100, when all three have run in turn", waits[0])
	}
	s.Waiting[0].After = []uint64{3} // a circle
	if _, err := sim.Futures(&s, forward.Request{Procs: 1, Limit: 100, After: []uint64{2}}, 1, 1, nil); err == nil {
		t.Error("a request after jobs that wait for each other starts")
	}
}
