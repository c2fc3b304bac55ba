package engine

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// neverLater fails if a forecast is at some level later than another one.
func neverLater(t *testing.T, of string, f, other Forecast) {
	t.Helper()
	simulated := func(f Forecast) []float64 { return f.Experts[ensemble.Simulation] }
	if len(f.Quantiles) == 0 || len(f.Quantiles) != len(other.Quantiles) || simulated(f) == nil {
		t.Fatalf("%s: forecasts %v and %v, simulated %v", of, f.Quantiles, other.Quantiles, simulated(f))
	}
	for l := range f.Quantiles {
		if f.Quantiles[l] > other.Quantiles[l] || simulated(f)[l] > simulated(other)[l] {
			t.Errorf("%s: at level %d %v, simulated %v; in one of its queues %v, simulated %v", of, l, f.Quantiles[l],
				simulated(f)[l], other.Quantiles[l], simulated(other)[l])
		}
	}
}

// shared returns an engine with two queues. In one pool they share 8 processors, which are in use, and 4 jobs wait in
// each; with priorities those of b go first. Otherwise each queue has 4 processors of its own.
func shared(t *testing.T, onePool bool) *Engine {
	e := quick(t, Config{})
	for _, queue := range []string{"a", "b"} {
		pool := pools.PoolConfig{Name: "both", Procs: 8}
		if !onePool {
			pool = pools.PoolConfig{Name: queue, Procs: 4}
		}
		e.SetPool(queue, pool)
	}
	id := uint64(0)
	submit := func(queue string, priority, limit float64, start bool) {
		id++
		e.Submit(0, id, track.Request{Queue: queue, User: "u" + queue, Procs: 4, Limit: limit, Priority: priority})
		if start {
			e.Start(0, id, true)
		}
	}
	submit("a", 100, 1000, true)
	submit("b", 200, 2000, true)
	for i := range 4 {
		submit("a", 100, 500+float64(300*i), false)
		submit("b", 200, 300+float64(700*i), false)
	}
	return e
}

// TestSeveralQueues proves that a request to two queues is forecast in each with the priority that it has there, in one
// pool and in two; that it starts in each future in the queue in which it starts first, so that its forecast is at no
// level later than in either; and that view and submission agree.
func TestSeveralQueues(t *testing.T) {
	for _, onePool := range []bool{true, false} {
		e := shared(t, onePool)
		v := e.View(10)
		r := track.Request{Queue: "a", User: "x", Procs: 4, Limit: 600, Priority: 100,
			Queues: track.JoinPlaces([]track.Place{{Queue: "a"}, {Queue: "b", Above: 150}})}
		a, b := r, r
		a.Queues, b.Queues, b.Queue, b.Priority = "", "", "b", 250
		inA, inB, both := v.Forecast(&a), v.Forecast(&b), v.Forecast(&r)
		if both.Queue == "" || slices.Equal(inA.Quantiles, inB.Quantiles) {
			t.Errorf("forecast for queue %q; in a %v, in b %v", both.Queue, inA.Quantiles, inB.Quantiles)
		}
		neverLater(t, "both and a", both, inA)
		neverLater(t, "both and b", both, inB)
		if got := e.Submit(10, 100, r); !same(got, both) || got.Queue != both.Queue {
			t.Errorf("submitted %+v, in the view %+v", got, both)
		}
		if running, waiting := e.tracker.Running.Jobs, e.tracker.Waiting.Total.Jobs; running != 2 || waiting != 9 {
			t.Errorf("%v jobs run and %v wait, want 2 and 9", running, waiting)
		}
	}
}

// TestSoonestInEachFuture proves that the simulated wait of a request to two queues of different pools is in each
// future the lower one, which is sooner than the quantiles of either.
func TestSoonestInEachFuture(t *testing.T) {
	e := shared(t, false)
	v := e.View(10)
	r := track.Request{Queue: "a", User: "x", Procs: 4, Limit: 600, Queues: "a:0,b:0"}
	var waits []float64
	for _, p := range r.Places() {
		in := r.In(p)
		all := v.Futures().Waits(&in, nil)
		if waits == nil {
			waits = slices.Clone(all)
		}
		atMost(waits, all)
	}
	slices.Sort(waits)
	f := v.Forecast(&r)
	for l, level := range v.Levels {
		if got, want := f.Experts[ensemble.Simulation][l], pools.QuantileOf(waits, level); got != want {
			t.Errorf("at %v: %v, want %v", level, got, want)
		}
	}
}

// TestSeveralQueuesOfLargePool proves that a request to two queues of a pool with tables is at no level later than
// in either.
func TestSeveralQueuesOfLargePool(t *testing.T) {
	e, clock := crowd(t, Config{First: 450})
	v := e.View(clock)
	both := track.Request{Queue: "long", User: "u3", Procs: 20, Limit: 5000, Queues: "long:0,debug:0"}
	for _, p := range both.Places() {
		in := both.In(p)
		neverLater(t, p.Queue, v.Forecast(&both), v.Forecast(&in))
	}
}

// TestCompetesInEachQueue proves that a waiting job of two queues counts once, ahead of the requests that go behind it
// in the better one of them, and may use the nodes of both.
func TestCompetesInEachQueue(t *testing.T) {
	for _, c := range []struct {
		queues string
		ahead  int
	}{{"", 0}, {"a:0,b:0", 0}, {"a:0,b:150", 1}} {
		e := quick(t, Config{})
		for _, queue := range []string{"a", "b"} {
			e.SetPool(queue, pools.PoolConfig{Name: "both", Procs: 4})
		}
		e.Submit(0, 1, track.Request{Queue: "a", Procs: 4, Limit: 1000, Priority: 100})
		e.Start(0, 1, true)
		e.Submit(1, 2, track.Request{Queue: "a", Procs: 4, Limit: 1000, Priority: 100, Queues: c.queues})
		f := e.View(2).Forecast(&track.Request{Queue: "b", Procs: 4, Limit: 100, Priority: 200})
		if f.JobsAhead != c.ahead {
			t.Errorf("queues %q: %d jobs ahead, want %d", c.queues, f.JobsAhead, c.ahead)
		}
	}
}

// TestStartsIn proves that a job of two queues is learnt and runs in the queue in which it starts.
func TestStartsIn(t *testing.T) {
	e := shared(t, false)
	e.Submit(10, 100, track.Request{Queue: "a", User: "x", Procs: 2, Limit: 600, Queues: "a:0,b:0"})
	e.StartsIn(500, 100, "b")
	e.Start(500, 100, true)
	j := e.tracker.Jobs[100]
	if a, b := e.tracker.Queues["a"], e.tracker.Queues["b"]; j.Queue != "b" || j.Queues != "" ||
		a.Running.Jobs != 1 || b.Running.Jobs != 2 || b.Of(j.SizeClass).Learnt != 1 || a.Of(j.SizeClass).Learnt != 0 {
		t.Errorf("it runs in %q of %q; running %v and %v", j.Queue, j.Queues, a.Running.Jobs, b.Running.Jobs)
	}
}
