package engine

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
)

// TestPreemption covers a request that may preempt the jobs that hold the machine. It proves that the request starts
// after the grace time of 90 s, ahead of the waiting jobs, except those that may also preempt. A request that may not
// preempt waits until running jobs end.
func TestPreemption(t *testing.T) {
	e := quick(t, Config{Capacity: 100})
	e.SetLimits(joblimits.New(&job.Facts{Preemption: &job.Preemption{By: "qos", Modes: []string{"REQUEUE"}},
		QOSRules: []job.QOSRules{{Name: "high", Preempts: []string{"low"}},
			{Name: "low", GraceTime: 90 * time.Second}}}))
	in := func(qos string, procs int) Request {
		r := of("ann", "q", procs)
		r.QOS, r.Limit = qos, 5000
		return r
	}
	e.Submit(0, 2, in("low", 60))
	e.Submit(0, 4, in("normal", 40))
	e.Start(0, 2, true)
	e.Start(0, 4, true)
	e.Submit(1, 6, in("normal", 90))
	ask := func(qos string, procs int) float64 {
		r := in(qos, procs)
		f := e.View(10).Forecast(&r)
		return simulated(t, &f)
	}
	if w := ask("normal", 10); w < 200 {
		t.Errorf("a request that may preempt nobody waits for %v s", w)
	}
	if w := ask("high", 60); w != 90 {
		t.Errorf("a request for what a job has that it may preempt waits for %v s, want the grace of 90", w)
	}
	if w := ask("high", 61); w < 200 {
		t.Errorf("a request for more than it may preempt waits for %v s", w)
	}
	e.Submit(11, 8, in("high", 50))
	if w := ask("high", 30); w < 200 {
		t.Errorf("behind another one that preempts it waits for %v s", w)
	}
	if w := ask("high", 10); w != 90 {
		t.Errorf("beside another one that preempts it waits for %v s, want 90", w)
	}
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 100})
	check(t, again.UnmarshalBinary(data))
	r := in("high", 10)
	if f := again.View(10).Forecast(&r); simulated(t, &f) != 90 {
		t.Errorf("restored: %v s", simulated(t, &f))
	}
}
