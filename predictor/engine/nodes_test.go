package engine

import (
	"slices"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// withGPUs returns an engine with four nodes. Each has 16 processors, 64 GiB and 4 GPUs. Two nodes have GPUs of type
// a100, and two of type v100. Running jobs end after at most 1,000 s.
func withGPUs(t *testing.T, running ...track.Request) *Engine {
	e := quick(t, Config{Capacity: 64})
	for _, queue := range []string{"q", "whole"} {
		e.SetPool(queue, pools.PoolConfig{Name: "q", Procs: 64, Policy: forward.EASY, PolicyKnown: true})
	}
	e.SetNodes("q", &pools.Nodes{
		Groups: []pools.NodeGroup{{Count: 2, Procs: 16, GPUs: 4, Memory: 64 << 30, GPUType: "a100"},
			{Count: 2, Procs: 16, GPUs: 4, Memory: 64 << 30, GPUType: "v100"}},
		Queues: map[string]pools.QueueRules{"whole": {Whole: true}, "q": {ProcMemory: 1 << 30}}})
	for i, r := range running {
		id := uint64(i + 1)
		e.Submit(0, id, r)
		e.Start(0, id, true)
	}
	return e
}

// wants returns a request of bob's; memory is in GiB.
func wants(procs, nodes, gpus int, gpuType string, memory int64) track.Request {
	r := of("bob", "q", procs)
	r.Nodes, r.GPUs, r.GPUType, r.Memory = nodes, gpus, gpuType, memory<<30
	return r
}

// each returns four copies of a request, one for each node.
func each(r track.Request) []track.Request {
	return slices.Repeat([]track.Request{r}, 4)
}

// TestNodesKeepRequests proves that GPUs, memory or nodes that are not empty keep a request waiting although processors
// are free, in forecasts and in everything that follows from futures.
func TestNodesKeepRequests(t *testing.T) {
	whole := wants(1, 0, 0, "", 0)
	whole.Queue = "whole"
	exclusive := wants(1, 1, 0, "", 0)
	exclusive.Whole = true
	for name, c := range map[string]struct {
		running       []track.Request
		waits, atOnce track.Request
	}{
		"all GPUs":          {each(wants(1, 1, 4, "", 1)), wants(1, 1, 1, "", 1), wants(60, 0, 0, "", 1)},
		"GPUs in fragments": {each(wants(1, 1, 3, "", 1)), wants(1, 1, 2, "", 1), wants(1, 1, 1, "", 1)},
		"GPUs of several":   {each(wants(1, 1, 3, "", 1)), wants(2, 2, 4, "", 1), wants(2, 2, 2, "", 1)},
		"GPUs of a type":    {each(wants(1, 1, 4, "a100", 1))[:2], wants(1, 1, 1, "a100", 1), wants(1, 1, 4, "", 1)},
		"memory":            {each(wants(1, 1, 0, "", 40)), wants(1, 1, 0, "", 30), wants(1, 1, 0, "", 24)},
		"memory of a queue": {each(wants(1, 1, 0, "", 60)), wants(10, 2, 0, "", 0), wants(8, 2, 0, "", 0)},
		"an empty node":     {each(wants(9, 1, 0, "", 1)), exclusive, wants(28, 0, 0, "", 1)},
		"whole nodes":       {each(wants(9, 1, 0, "", 1)), whole, wants(28, 0, 0, "", 1)},
	} {
		v := withGPUs(t, c.running...).View(10)
		late, soon := v.Forecast(&c.waits), v.Forecast(&c.atOnce)
		if !late.NoRoom || soon.NoRoom {
			t.Errorf("%s: no room for the request: %v, for what is free: %v; want the first alone", name, late.NoRoom,
				soon.NoRoom)
		}
		if w := simulated(t, &late); w < 1 || w > 990 || !late.Nodes {
			t.Errorf("%s: waits for %v s, nodes known: %v; want until one of the jobs that run ends", name, w,
				late.Nodes)
		}
		if w := simulated(t, &soon); w != 0 {
			t.Errorf("%s: what is free starts after %v s, want at once", name, w)
		}
		if p := v.Pivots(&c.waits); len(p) == 0 || p[0].ID < 1 || int(p[0].ID) > len(c.running) {
			t.Errorf("%s: it waits for %+v, want jobs that run", name, p)
		}
		futures := v.Futures()
		own, other := futures.Waits(&c.waits, nil), futures.Waits(&c.atOnce, nil)
		if len(own) == 0 || len(own) != len(other) || slices.Min(own) <= 0 || slices.Max(other) != 0 {
			t.Errorf("%s: in the same futures %v, what is free %v; want waits and none", name, own, other)
		}
	}
}

// TestNodesDelayOthers proves that a job may overtake one that waits for GPUs only if it does not delay that one.
func TestNodesDelayOthers(t *testing.T) {
	e := withGPUs(t, each(wants(9, 1, 2, "", 1))...)
	e.Submit(10, 9, wants(1, 1, 4, "", 1))
	v := e.View(11)
	behind, beside := wants(1, 1, 4, "", 1), wants(1, 1, 2, "", 1)
	longer := wants(1, 1, 2, "", 1)
	longer.Limit = 2000
	first := v.WaitsOfJob("q", 9)
	if len(first) == 0 || slices.Min(first) <= 0 {
		t.Fatalf("the first job waits for %v s, want some", first)
	}
	f := v.Forecast(&behind)
	if w := simulated(t, &f); w < slices.Min(first) {
		t.Errorf("behind it one like it starts after %v s, want not before the first one's %v", w, slices.Min(first))
	}
	for _, r := range []track.Request{beside, longer} { // each node has 2 free GPUs; the first job needs one node
		if f := v.Forecast(&r); simulated(t, &f) != 0 {
			t.Errorf("two GPUs for %v s start after %v s, want at once", r.Limit, simulated(t, &f))
		}
	}
	if p := v.PivotsOf("q", 9); len(p) == 0 {
		t.Error("the first job waits for nobody, want jobs that run")
	}
}

// TestNodesInOpenings proves that only what fits on the nodes starts at once.
func TestNodesInOpenings(t *testing.T) {
	v := withGPUs(t, each(wants(9, 1, 2, "", 1))...).View(10)
	for gpus, want := range map[int]int{0: 28, 2: 7, 4: 0} {
		r := wants(1, 1, gpus, "", 1)
		most := 0
		for _, hole := range v.Openings(&r).Holes {
			most = max(most, hole.Procs)
		}
		if most != want {
			t.Errorf("with %d GPUs up to %d processors start at once, want %d", gpus, most, want)
		}
	}
}

// TestNodesOfProcessors proves that only processors are simulated if nothing else can run short.
func TestNodesOfProcessors(t *testing.T) {
	e := withGPUs(t, each(wants(10, 1, 2, "", 1))...)
	f := e.View(10).Forecast(new(wants(12, 1, 0, "", 12)))
	if !f.Nodes || simulated(t, &f) != 0 {
		t.Errorf("12 of 24 free processors, on whatever nodes: these are known: %v, waits for %v s", f.Nodes,
			simulated(t, &f))
	}
	e.SetNodes("q", nil)
	f = e.View(10).Forecast(new(wants(1, 1, 4, "", 1)))
	if f.Nodes || simulated(t, &f) != 0 {
		t.Errorf("without nodes: nodes known: %v, waits for %v s", f.Nodes, simulated(t, &f))
	}
}

// TestManyNodes proves that nodes are simulated by their totals if they are too many to place jobs on single nodes.
func TestManyNodes(t *testing.T) {
	e := withGPUs(t)
	e.SetNodes("q", &pools.Nodes{Groups: []pools.NodeGroup{{Count: 2000, Procs: 16, GPUs: 1, Memory: 64 << 30}}})
	for id := uint64(1); id < 4; id++ {
		e.Submit(0, id, wants(600, 600, 600, "", 1))
		e.Start(0, id, true)
	}
	v := e.View(10)
	for gpus, waits := range map[int]bool{200: false, 201: true} {
		f := v.Forecast(new(wants(gpus, gpus, gpus, "", 1)))
		if w := simulated(t, &f); !f.Nodes || (w > 0) != waits {
			t.Errorf("%d of 200 free GPUs: nodes known: %v, wait %v s", gpus, f.Nodes, w)
		}
	}
}

// TestNodesAreSaved proves that a restored engine forecasts as before, also from a view that was kept.
func TestNodesAreSaved(t *testing.T) {
	e := withGPUs(t, each(wants(1, 1, 2, "", 1))...)
	e.Submit(10, 9, wants(1, 1, 3, "v100", 1))
	r := wants(1, 1, 4, "", 1)
	view := e.View(12)
	want := view.Forecast(&r)
	data, err := e.MarshalBinary()
	check(t, err)
	kept, err := view.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 64})
	check(t, again.UnmarshalBinary(data))
	restored, err := again.RestoreView(kept)
	check(t, err)
	copied, err := e.Copy()
	check(t, err)
	defer copied.Close()
	for name, v := range map[string]*View{"engine": again.View(12), "view": restored, "copy": copied.View(12)} {
		got := v.Forecast(&r)
		if !got.Nodes || !slices.Equal(got.Experts[ensemble.Simulation], want.Experts[ensemble.Simulation]) {
			t.Errorf("%s: nodes known: %v, %v, want %v", name, got.Nodes, got.Experts[ensemble.Simulation],
				want.Experts[ensemble.Simulation])
		}
	}
}

// TestNamedNodes proves that if the nodes of running jobs are known, free GPUs are in their true fragments, and outages
// take the nodes that they name.
func TestNamedNodes(t *testing.T) {
	e := withGPUs(t)
	e.SetNodes("q", &pools.Nodes{Groups: []pools.NodeGroup{
		{Count: 3, Procs: 16, GPUs: 4, Names: []string{"n1", "n2", "n3"}},
		{Count: 1, Procs: 16, Names: []string{"n4"}}}})
	for i, names := range []string{"n1", "n2", "n3", "n4,n9"} { // n9 is down
		id := uint64(i + 1)
		r := wants(1, 1, 2, "", 0)
		if id == 4 {
			r = wants(32, 2, 0, "", 0)
		}
		r.Limit = 1000 * float64(id)
		e.Submit(0, id, r)
		e.Start(0, id, true)
		e.Place(0, id, names)
	}
	gpus := wants(1, 1, 3, "", 0)
	first := func(v *View) (wait float64, jobs map[uint64]bool) {
		f := v.Forecast(&gpus)
		jobs = map[uint64]bool{}
		for _, p := range v.Pivots(&gpus) {
			jobs[p.ID] = true
		}
		return simulated(t, &f), jobs
	}
	wait, jobs := first(e.View(10))
	if wait < 1 || !jobs[1] || jobs[4] {
		t.Errorf("three GPUs wait for %v s and jobs %v, want for job 1, or 2 or 3, which have two on each node", wait,
			jobs)
	}
	e.SetOutages("q", []pools.Outage{{From: 20, Until: 9000, Procs: 32, Nodes: "n1,n3"}})
	wait, jobs = first(e.View(10))
	if wait < 1 || len(jobs) != 1 || !jobs[2] {
		t.Errorf("beside an outage of n1 and n3 they wait for %v s and jobs %v, want for job 2 alone", wait, jobs)
	}
	data, err := e.MarshalBinary()
	check(t, err)
	again := quick(t, Config{Capacity: 64})
	check(t, again.UnmarshalBinary(data))
	if restored, same := first(again.View(10)); restored != wait || !same[2] || len(same) != 1 {
		t.Errorf("restored, they wait for %v s and jobs %v; want %v and job 2", restored, same, wait)
	}
	e.Requeued(10, 2)
	e.Start(10, 2, true)
	e.SetOutages("q", nil)
	if wait, _ := first(e.View(10)); wait != 0 {
		t.Errorf("the job of n2 started again nobody knows where, and they wait for %v s: want it packed", wait)
	}
}
