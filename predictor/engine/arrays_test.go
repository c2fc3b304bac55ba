package engine

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// experienced returns an engine of 1,000 processors that has seen 60 jobs of ann's run for 1,000 s each.
func experienced(t *testing.T) (e *Engine, now float64) {
	e = quick(t, Config{Capacity: 1000})
	for id := uint64(2); id <= 120; id += 2 {
		e.Submit(now, id, ofArray(0))
		e.Start(now, id, true)
		now += 1000
		e.End(now, id)
	}
	return e, now
}

// ofArray returns a request for the given number of tasks of ann's array 9. At most two of the array's tasks may run at
// once.
func ofArray(tasks int) track.Request {
	r := of("ann", "q", 4)
	r.Limit, r.Array, r.Throttle, r.Tasks = 3000, "9", 2, tasks
	return r
}

// TestThrottledArray covers arrays of which at most two tasks may run at once. It proves that the last task waits for
// its turn, although enough processors are free. The tasks run for 1,000 s: of n tasks the last one starts after
// ceil(n/2) - 1 such times.
func TestThrottledArray(t *testing.T) {
	for tasks, want := range map[int]float64{2: 0, 3: 1000, 8: 3000, 1000: 499_000} {
		e, now := experienced(t)
		first := e.Submit(now, 200, ofArray(1))
		last := e.Submit(now, 201, ofArray(tasks-1))
		if w := simulated(t, &first); w != 0 {
			t.Errorf("the first task of %d waits for %v s", tasks, w)
		}
		if w := simulated(t, &last); math.Abs(w-want) > .25*want {
			t.Errorf("the last task of %d waits for %v s, want about %v", tasks, w, want)
		}
		if f := e.View(now).Forecast(new(of("bob", "q", 900))); simulated(t, &f) != 0 {
			t.Errorf("a job beside an array waits for %v s", simulated(t, &f))
		}
	}
}

// TestThrottleCountsRunningTasks proves that running tasks count in the throttle of the waiting ones, and that the
// array's own wait is forecast while the array is held. A restored engine forecasts the same.
func TestThrottleCountsRunningTasks(t *testing.T) {
	e, now := experienced(t)
	for id := uint64(200); id < 204; id += 2 {
		e.Submit(now, id, ofArray(0))
		e.Start(now, id, true)
	}
	e.Submit(now, 300, ofArray(1))
	last := e.Submit(now, 301, ofArray(3))
	for id := range uint64(2) {
		e.Hold(now, 300+id, Hold{Limit: true})
	}
	if w := simulated(t, &last); w < 1000 || w > 2500 {
		t.Errorf("the last of four tasks behind two that run waits for %v s, want about 1000", w)
	}
	if k := last.Kept; k == nil || k.Most != 2 || k.Used != 2 {
		t.Errorf("kept by %+v, want by an array of which 2 tasks run, at most 2", k)
	}
	v := e.View(now + 500)
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 1000})
	check(t, again.UnmarshalBinary(data))
	for id, want := range map[uint64]float64{300: 500, 301: 1500} {
		waits := v.WaitsOfJob("q", id)
		if len(waits) == 0 {
			t.Fatalf("no waits of %d", id)
		}
		mean := 0.
		for _, w := range waits {
			mean += w / float64(len(waits))
		}
		if mean < .5*want || mean > 1.6*want {
			t.Errorf("job %d waits for %v s more in the mean, want about %v", id, mean, want)
		}
		restored := again.View(now+500).WaitsOfJob("q", id)
		for i := range waits {
			if restored[i] != waits[i] {
				t.Fatalf("restored, job %d waits for %v s in future %d, want %v", id, restored[i], i, waits[i])
			}
		}
	}
	if q := last.Experts[ensemble.Simulation]; q[0] < 0 {
		t.Errorf("quantiles %v", q)
	}
}
