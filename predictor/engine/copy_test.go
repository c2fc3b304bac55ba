package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/forward"
)

// TestCopy proves that a copy is saved in the same bytes as its original. It also gives the same forecasts, to the last
// bit, even beyond the end of a running training. Events of copies do not change the original.
func TestCopy(t *testing.T) {
	type goes struct {
		e    *Engine
		left int
	}
	for _, downey := range []bool{false, true} {
		cfg := Config{Downey: downey}
		plain, e := quick(t, cfg), quick(t, cfg)
		var copies []goes
		training, made := 0, 0
		for i, h := range happenings(5, sized(600, 1200)) {
			if e.learner.Next != nil && i%4 == 0 || i%100 == 99 {
				if e.learner.Next != nil {
					training++
				}
				c, err := e.Copy()
				check(t, err)
				want, err := e.MarshalBinary()
				check(t, err)
				got, err := c.MarshalBinary()
				check(t, err)
				if !bytes.Equal(want, got) {
					t.Fatalf("event %d: a copy is saved in other bytes", i)
				}
				copies = append(copies, goes{c, 60})
				made++
			}
			want := h.tell(plain)
			if got := h.tell(e); !same(want, got) {
				t.Fatalf("event %d: without copies %+v, with copies %+v", i, want, got)
			}
			var still []goes
			for _, c := range copies {
				if got := h.tell(c.e); !same(want, got) {
					t.Fatalf("event %d: the original says %+v, a copy %+v", i, want, got)
				}
				if c.left--; c.left > 0 {
					still = append(still, c)
				} else {
					c.e.Close()
				}
			}
			copies = still
		}
		for _, c := range copies {
			c.e.Close()
		}
		if training < 5 || made < 15 {
			t.Fatalf("%d copies, only %d while trees were trained", made, training)
		}
		want, err := plain.MarshalBinary()
		check(t, err)
		got, err := e.MarshalBinary()
		check(t, err)
		if !bytes.Equal(want, got) {
			t.Error("copies have changed the original")
		}
		plain.Close()
		e.Close()
	}
}

// TestViewsChangeNothing proves that an engine forecasts the same, however often views are taken in between. Its queues
// compete in two pools, so that one of them changes while the other does not. In both pools a job can be delayed by
// later ones. In one of two cases the policy is learnt. In that case users have jobs in both pools, and their usage
// counts in the situations from which the order of starts is learnt.
func TestViewsChangeNothing(t *testing.T) {
	t.Run("policy known", func(t *testing.T) { viewsChangeNothing(t, true) })
	t.Run("policy learnt", func(t *testing.T) { viewsChangeNothing(t, false) })
}

func viewsChangeNothing(t *testing.T, known bool) {
	t.Helper()
	plain, viewed := quick(t, Config{}), quick(t, Config{})
	for _, e := range []*Engine{plain, viewed} {
		e.SetPool("short", pools.PoolConfig{Name: "a", Procs: 32, PolicyKnown: known, Policy: forward.EASY})
		for _, queue := range []string{"long", "wide"} {
			e.SetPool(queue, pools.PoolConfig{Name: "b", Procs: 64, PolicyKnown: known, Policy: forward.EASY})
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	compared := 0
	events := happenings(7, 1200)
	for i, h := range events {
		h.at = events[0].at + (h.at-events[0].at)/6 // within a day: futures repeat the newest submissions
		if !known && h.kind == submitted {
			h.r.Queue = []string{"short", "long", "wide"}[h.id%3]
		}
		if rng.IntN(3) == 0 {
			viewed.View(h.at) // later than its last event
		}
		want, got := h.tell(plain), h.tell(viewed)
		if !same(want, got) {
			t.Fatalf("event %d: not looked at %+v, looked at %+v", i, want, got)
		}
		if want.Quantiles != nil {
			compared++
		}
		if rng.IntN(3) == 0 {
			viewed.View(h.at)
		}
	}
	if compared < 800 {
		t.Errorf("only %d forecasts were compared", compared)
	}
	want, err := plain.MarshalBinary()
	check(t, err)
	got, err := viewed.MarshalBinary()
	check(t, err)
	if !bytes.Equal(want, got) {
		t.Error("views have changed the engine")
	}
}
