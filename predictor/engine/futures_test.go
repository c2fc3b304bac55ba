package engine

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/track"
)

// rises checks that in every future a request starts no later than any request that is at least as large and as long.
func rises(t *testing.T, v *View, queue string, sizes []int, limits []float64) {
	t.Helper()
	f, differ := v.Futures(), 0
	ask := func(n int, limit float64) []float64 {
		w := f.Waits(&track.Request{Queue: queue, Procs: n, Limit: limit}, nil)
		if len(w) == 0 {
			t.Fatalf("%d processors, %v s: no waits", n, limit)
		}
		return w
	}
	for i, n := range sizes {
		for k, limit := range limits {
			w := ask(n, limit)
			for _, o := range [][]float64{ask(sizes[max(0, i-1)], limit), ask(n, limits[max(0, k-1)])} {
				for future := range w {
					if o[future] > w[future] {
						t.Fatalf("%d processors, %v s, future %d: %v s, one that asks for less %v s", n, limit, future,
							w[future], o[future])
					}
				}
				if !slices.Equal(o, w) {
					differ++
				}
			}
		}
	}
	if differ == 0 {
		t.Error("size and limit make no difference: the test shows nothing")
	}
}

// TestFuturesAreTheSame proves that all requests are simulated in the same futures: those that ask for less start no
// later in any of them.
func TestFuturesAreTheSame(t *testing.T) {
	e := small(t, false)
	e.Submit(1100, 7, track.Request{Queue: "q", User: "v", Procs: 8, Limit: 600})
	e.End(1200, 2)
	rises(t, e.View(1300), "q", []int{1, 2, 4, 6, 10}, []float64{60, 600, 3600, 86400})
}

// TestFuturesOfALargePool proves for a large pool that all requests are simulated in the same futures, also after
// saving and restoring.
func TestFuturesOfALargePool(t *testing.T) {
	e, clock := crowd(t, Config{First: 450, Synchronous: true})
	sizes, limits := []int{1, 16, 64, 256, 1200}, []float64{60, 3600, 43200, 86400}
	rises(t, e.View(clock), "batch", sizes, limits)
	data, err := e.View(clock).MarshalBinary()
	check(t, err)
	v, err := e.RestoreView(data)
	check(t, err)
	for _, n := range sizes {
		r := track.Request{Queue: "batch", Procs: n, Limit: 3600}
		if a, b := e.View(clock).Futures().Waits(&r, nil), v.Futures().Waits(&r, nil); !slices.Equal(a, b) {
			t.Errorf("%d processors: %v, restored %v", n, a, b)
		}
	}
	if w := e.View(clock).Futures().Waits(&track.Request{Queue: "batch", Procs: 5000}, nil); w != nil {
		t.Errorf("more than the pool has: %v", w)
	}
}

// TestFuturesOfAWaitingJob proves that the last waiting job, at its place in the queue, waits in each future as long as
// the same request submitted in its place. The first waiting job waits less than if it is submitted again behind the
// last one.
func TestFuturesOfAWaitingJob(t *testing.T) {
	e := small(t, false)
	first := track.Request{Queue: "q", User: "v", Procs: 9, Limit: 600}
	last := track.Request{Queue: "q", User: "v", Procs: 10, Limit: 1200}
	e.Submit(1100, 7, first)
	e.Submit(1100, 8, last)
	v := e.View(1300)
	if a, b := v.WaitsOfJob("q", 8), v.FuturesWithout(8).Waits(&last, nil); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("the last job: %v, in its stead %v", a, b)
	}
	a, b := v.WaitsOfJob("q", 7), v.FuturesWithout(7).Waits(&first, nil)
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("the first job: %v, in its stead %v", a, b)
	}
	for i := range a {
		if !(a[i] < b[i]) {
			t.Errorf("future %d: the first job waits %v s, submitted again behind the other one %v s", i, a[i], b[i])
		}
	}
	if v.WaitsOfJob("q", 99) != nil {
		t.Error("a job that does not wait has waits")
	}
}
