package engine

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// filling returns a job that fills a pool of 10 processors.
func filling(priority float64) track.Request {
	return track.Request{Queue: "q", User: "u", Procs: 10, Limit: 600, Priority: priority}
}

// lineOf returns an engine with a pool of 10 processors. One job that fills the pool runs, and others that would fill
// it wait with the given priorities.
func lineOf(t *testing.T, priorities ...float64) *Engine {
	e := quick(t, Config{Capacity: 10, Synchronous: true})
	e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 10})
	e.Submit(0, 1, filling(1000))
	e.Start(0, 1, true)
	for i, p := range priorities {
		e.Submit(1, uint64(i+2), filling(p))
	}
	return e
}

// TestLargePoolsByPriority proves that in a pool of more than 300 jobs with priorities of their own, a request is
// simulated at its place among them: behind those of its own priority, and sooner the higher its priority is.
func TestLargePoolsByPriority(t *testing.T) {
	median := func(e *Engine, priority float64) float64 {
		r := filling(priority)
		f := e.View(2).Forecast(&r)
		q := f.Experts[ensemble.Simulation]
		if q == nil {
			t.Fatal("no simulation")
		}
		return q[len(q)/2]
	}
	first := median(lineOf(t, 999), 1000)
	if last := median(lineOf(t, slices.Repeat([]float64{1000}, 400)...), 1000); last < 100*first {
		t.Errorf("behind 400 jobs of its priority it starts after %v s, behind one that runs after %v", last, first)
	}
	var falling []float64
	for i := range 400 {
		falling = append(falling, float64(10_000-10*i))
	}
	e := lineOf(t, falling...)
	whole, before := median(e, 1), 0.
	for _, ahead := range []int{0, 5, 12, 25, 40, 100, 150, 250, 399} {
		w := median(e, float64(10_005-10*ahead))
		if w < before {
			t.Errorf("behind %d jobs it starts after %v s, sooner than behind fewer", ahead, w)
		}
		if part := float64(ahead) / 400; ahead >= 25 && (w < .5*part*whole || w > 1.8*part*whole) {
			t.Errorf("behind %d of 400 jobs it starts after %v s, behind all after %v", ahead, w, whole)
		}
		before = w
	}
	if r := filling(9_005); e.View(2).Forecast(&r).JobsAhead == 400 {
		t.Error("400 jobs are ahead of a request that goes before most of them")
	}
	data, err := e.MarshalBinary()
	check(t, err)
	restored := quick(t, Config{Capacity: 10, Synchronous: true})
	check(t, restored.UnmarshalBinary(data))
	again, err := restored.MarshalBinary()
	check(t, err)
	for _, p := range []float64{1, 9_005, 20_000} {
		r := filling(p)
		if !same(restored.View(2).Forecast(&r), e.View(2).Forecast(&r)) || !slices.Equal(data, again) {
			t.Errorf("a restored engine forecasts something else for the priority %v", p)
		}
	}
}
