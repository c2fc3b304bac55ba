package engine

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/pools"
)

// TestDependencies proves that a request that waits for a running job starts when that job ends. So does a job that is
// held for the running job. A chain takes as long as its jobs together. Meanwhile other jobs can use free processors.
func TestDependencies(t *testing.T) {
	e, now := experienced(t)
	named := func(name, after string) Request {
		r := ofArray(0)
		r.Throttle, r.Array, r.Name, r.After = 0, "", name, after
		return r
	}
	e.Submit(now, 198, named("99", ""))
	e.Gone(now, 198)
	e.Submit(now, 200, named("1", ""))
	e.Start(now, 200, true)
	second := e.Submit(now, 202, named("2", "1"))
	e.Hold(now, 202, Hold{After: "1"})
	third := e.Submit(now, 204, named("3", "2,1,99"))
	e.Hold(now, 204, Hold{After: "2,1,99"})
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > .25*want {
			t.Errorf("%s: %v s, want about %v", what, got, want)
		}
	}
	near("the second", simulated(t, &second), 1000)
	near("the third", simulated(t, &third), 2000)
	if b := third.Blocked; b == nil || b[len(b)/2] != third.Quantiles[len(b)/2] {
		t.Errorf("the third is blocked for %v, want for the whole wait", b)
	}
	ask := named("4", "3")
	f := e.View(now + 500).Forecast(&ask)
	near("a request after the chain", simulated(t, &f), 2500)
	ask.After = "99"
	if f := e.View(now + 500).Forecast(&ask); simulated(t, &f) != 0 {
		t.Errorf("after a job that has ended: %v s", simulated(t, &f))
	}
	waits := e.View(now+500).WaitsOfJob("q", 204)
	if len(waits) == 0 {
		t.Fatal("no waits of the third")
	}
	near("the third's own", waits[len(waits)/2], 1500)
	wide := of("bob", "q", 990)
	if f := e.View(now + 500).Forecast(&wide); simulated(t, &f) != 0 {
		t.Errorf("a wide job beside those that wait for each other: %v s", simulated(t, &f))
	}
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 1000})
	check(t, again.UnmarshalBinary(data))
	for i, w := range again.View(now+500).WaitsOfJob("q", 204) {
		if w != waits[i] {
			t.Fatalf("restored: %v s in future %d, want %v", w, i, waits[i])
		}
	}
}

// TestDependenciesKnownLate covers jobs of a chain that were submitted at one instant, and whose details became known
// only later. It proves that they are forecast from a view that knows none of them.
func TestDependenciesKnownLate(t *testing.T) {
	e, now := experienced(t)
	v := e.View(now)
	after := []string{"", "1", "2"}
	for i, want := range []float64{0, 1000, 2000} {
		r := ofArray(0)
		r.Throttle, r.Array, r.Name, r.After = 0, "", []string{"1", "2", "3"}[i], after[i]
		id := uint64(200 + 2*i)
		f := e.SubmitAt(v, now, now+5, id, r)
		if w := simulated(t, &f); math.Abs(w-want) > .25*want {
			t.Errorf("job %d of the chain: %v s, want about %v", i+1, w, want)
		}
		if i == 0 {
			e.Start(now+5, id, true)
		} else {
			e.Hold(now+5, id, Hold{After: after[i]})
		}
	}
}

// TestDependencyOnAnotherPool covers a held job that waits for the end of a job in another pool. It proves that the
// held job is simulated while the other job runs. While the other job waits, its end is unknown, and the held job is
// not simulated.
func TestDependencyOnAnotherPool(t *testing.T) {
	e := quick(t, Config{Capacity: 200})
	for _, q := range []string{"q", "r"} {
		e.SetPool(q, pools.PoolConfig{Name: q, Procs: 100, PolicyKnown: true})
	}
	first, second := of("ann", "r", 100), of("ann", "q", 100)
	first.Name, second.Name, second.After = "1", "2", "1"
	e.Submit(0, 2, first)
	e.Submit(0, 4, second)
	e.Hold(0, 4, Hold{After: "1"})
	ask := of("bob", "q", 1)
	if v := e.View(1); v.WaitsOfJob("q", 4) != nil {
		t.Error("a job waits for one in another pool, of which nobody knows when it starts, and is played")
	}
	e.Start(10, 2, true)
	v := e.View(20)
	waits := v.WaitsOfJob("q", 4)
	if len(waits) == 0 || waits[0] <= 0 {
		t.Errorf("it waits for %v, want until the one in the other pool has ended", waits)
	}
	if f := v.Forecast(&ask); simulated(t, &f) != 0 {
		t.Errorf("a job beside it waits for %v s", simulated(t, &f))
	}
	e.End(500, 2)
	for _, w := range e.View(510).WaitsOfJob("q", 4) {
		if w != 0 {
			t.Fatalf("it waits for %v s more though the other one has ended", w)
		}
	}
}

// TestSubmissionAfterAJobOfAnotherPool submits a job that depends on one that runs in another pool. Its own pool is
// nearly full for a long time. The test proves that the job waits only until the other one has ended, at the latest at
// its limit: the other one needs no processors of the full pool.
func TestSubmissionAfterAJobOfAnotherPool(t *testing.T) {
	e := quick(t, Config{Capacity: 200})
	for _, q := range []string{"q", "r"} {
		e.SetPool(q, pools.PoolConfig{Name: q, Procs: 100, PolicyKnown: true})
	}
	first, long, last := of("ann", "r", 100), of("bob", "q", 99), of("ann", "q", 1)
	first.Name, long.Name, last.Name, last.After = "1", "2", "3", "1"
	long.Limit = 1e6
	e.Submit(0, 2, first)
	e.Submit(0, 4, long)
	e.Start(0, 2, true)
	e.Start(0, 4, true)
	f := e.SubmitAt(e.View(20), 20, 21, 6, last)
	if wait := simulated(t, &f); wait <= 0 || wait > first.Limit {
		t.Errorf("it waits for %v s, want until the job of the other pool has ended, at most %v s", wait, first.Limit)
	}
}

// TestDependencyOnAnUnknownJob holds a job for another one that the engine has not received. It proves that the held
// job is not simulated until the engine receives the other one. Once the other one has ended, the held job competes in
// simulations. Once the engine has forgotten that end, the held job is again not simulated. A restored engine does the
// same in each case.
func TestDependencyOnAnUnknownJob(t *testing.T) {
	e := quick(t, Config{Capacity: 200})
	e.SetPool("q", pools.PoolConfig{Name: "q", Procs: 100, PolicyKnown: true})
	named := func(name, after string) Request {
		r := of("ann", "q", 100)
		r.Name, r.After = name, after
		return r
	}
	waits := func(what string, simulated bool, from, until float64) {
		t.Helper()
		data, err := e.MarshalBinary()
		check(t, err)
		again := quick(t, Config{Capacity: 200})
		check(t, again.UnmarshalBinary(data))
		if same, err := again.MarshalBinary(); err != nil || !bytes.Equal(same, data) {
			t.Errorf("%s: saved again, the restored engine differs: %v", what, err)
		}
		for name, of := range map[string]*Engine{"": e, "restored: ": again} {
			got := of.View(e.tracker.Clock).WaitsOfJob("q", 4)
			if simulated != (len(got) > 0) {
				t.Errorf("%s%s: simulated waits %v, want some: %v", name, what, got, simulated)
			}
			for _, w := range got {
				if w < from || w > until {
					t.Errorf("%s%s: waits for %v s, want %v s to %v s", name, what, w, from, until)
				}
			}
		}
	}
	e.Submit(0, 4, named("2", "1"))
	e.Hold(0, 4, Hold{After: "1"})
	waits("the other job is unknown", false, 0, 0)
	beside := of("bob", "q", 100)
	if f := e.View(1).Forecast(&beside); simulated(t, &f) != 0 {
		t.Errorf("a job beside it waits for %v s", simulated(t, &f))
	}
	e.Submit(5, 2, named("1", ""))
	waits("the other job waits", true, 1, 1e5)
	e.Start(10, 2, true)
	waits("the other job runs", true, 1, 1e5)
	e.End(500, 2)
	waits("the other job has ended", true, 0, 0)
	for i := range uint64(1100) {
		e.Submit(600, 100+i, named(fmt.Sprint(100+i), ""))
		e.Gone(600, 100+i)
	}
	waits("the end of the other job is forgotten", false, 0, 0)
}

// TestNamed proves that names in dependencies can refer to a job, a task, all tasks of an array, and tasks that wait
// with their array.
func TestNamed(t *testing.T) {
	e := quick(t, Config{Capacity: 200})
	for id, name := range map[uint64]string{2: "1", 4: "9_1", 6: "9_2", 8: "9", 10: "12"} {
		r := of("ann", "q", 1)
		r.Name = name
		if len(name) > 2 {
			r.Array = "9"
		}
		e.Submit(0, id, r)
	}
	for after, want := range map[string]int{"1": 1, "9_1": 1, "9_*": 3, "9_7": 1, "9_1,9_2,12": 3, "13": 0, "2_*": 0} {
		if got := len(e.tracker.Named(after)); got != want {
			t.Errorf("%s: %d jobs, want %d", after, got, want)
		}
	}
	e.Gone(1, 10)
	e.Update(1, 8, of("ann", "q", 1)) // it no longer has a name
	if n, m := len(e.tracker.Named("12")), len(e.tracker.Named("9_*")); n != 0 || m != 2 {
		t.Errorf("%d and %d jobs, want none that is gone and two tasks", n, m)
	}
}
