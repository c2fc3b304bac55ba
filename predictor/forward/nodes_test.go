package forward_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// split divides the capacity of a state among nodes.
func split(t *rapid.T, s *forward.State, nodes int) {
	left := s.Capacity
	for i := nodes; i > 1 && left > i; i-- {
		procs := rapid.IntRange(1, left-i+1).Draw(t, "procs of a node")
		s.Nodes = append(s.Nodes, forward.NodeClass{Count: 1, Procs: procs})
		left -= procs
	}
	s.Nodes = append(s.Nodes, forward.NodeClass{Count: 1, Procs: left, Memory: 1 << 30, GPUs: 2})
}

// TestNodesOfProcessorsAlone proves that if jobs need only processors, a machine of nodes is simulated like one of
// processors. With one node this holds for everything that affects starts. With several nodes it holds without outages,
// because these take particular nodes.
func TestNodesOfProcessorsAlone(t *testing.T) {
	all := []forward.Policy{forward.FCFS, forward.EASY, forward.PriorityEASY, forward.PriorityFCFS}
	one := world{capacity: 12, running: 5, waiting: 10, most: 6, limits: 40, known: true, blocked: true, ranks: true,
		caps: true, gates: true, outages: true, past: true, policies: all}
	several := one
	several.outages = false
	var sim forward.Sim // both use the same memory
	late := 0
	rapid.Check(t, func(t *rapid.T) {
		w, nodes := one, 1
		if rapid.Bool().Draw(t, "several nodes") {
			w, nodes = several, rapid.IntRange(2, 4).Draw(t, "nodes")
		}
		s := w.draw(t)
		for i := range s.Running {
			s.Running[i].Law = shaky(40)
		}
		if rapid.Bool().Draw(t, "arrivals") {
			s.Arrivals, s.Horizon = everyTen(s.Capacity), 1000
		}
		r := w.request(t, &s)
		r.Holds = w.holds(t, &s, r.Procs)
		if s.Policy >= forward.PriorityFCFS && rapid.Bool().Draw(t, "ranks move") {
			s.Ranker = busyLast{}
			for i := range s.Waiting {
				s.Waiting[i].Owner = int32(i % 3) //nolint:gosec // small
			}
		}
		on := s
		split(t, &on, nodes)
		want, wantErr := sim.Futures(&s, r, 4, 1, nil)
		got, err := sim.Futures(&on, r, 4, 1, nil)
		if !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("by node %v and error %v, by processors %v and %v", got, err, want, wantErr)
		}
		if err != nil {
			return
		}
		if want[0].Wait > 0 {
			late++
		}
		wantRoots, err1 := sim.Pivots(&s, r, 4, 1, nil)
		roots, err2 := sim.Pivots(&on, r, 4, 1, nil)
		plan, err3 := sim.Plan(&s, r)
		byPlan, err4 := sim.Plan(&on, r)
		if err := errors.Join(err1, err2); err != nil || (err3 == nil) != (err4 == nil) {
			t.Fatal(err, err3, err4)
		}
		if !slices.Equal(roots, wantRoots) || plan != byPlan {
			t.Fatalf("by node it hangs on %v and the plan is %v s, by processors %v and %v s", roots, byPlan, wantRoots,
				plan)
		}
	})
	if late == 0 && !testing.Short() {
		t.Error("no request waited: the states drawn are too easy")
	}
}

// everyTen returns arrivals of a job of two processors every ten seconds.
func everyTen(capacity int) forward.Arrivals {
	return func(int, uint64) func() (forward.Arrival, bool) {
		return func() (forward.Arrival, bool) {
			return forward.Arrival{After: 10, Procs: min(2, capacity), Limit: 30, Runtime: 20, Rank: 1}, true
		}
	}
}

// drawNodes draws a state with nodes, GPUs, memory and whole-node jobs. The nodes of the running jobs are known.
func drawNodes(t *rapid.T) (forward.State, forward.Request) {
	w := world{limits: 15, most: 4}
	small := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
	s := forward.State{Policy: rapid.SampledFrom([]forward.Policy{forward.EASY, forward.EASY, forward.FCFS,
		forward.PriorityEASY}).Draw(t, "policy")}
	for range 1 + small(2, "classes") {
		c := forward.NodeClass{Count: 1 + small(2, "count"), Procs: 1 + small(3, "procs"), GPUs: small(2, "gpus"),
			Memory: int64(small(6, "memory"))}
		s.Nodes = append(s.Nodes, c)
		s.Capacity += c.Count * c.Procs
	}
	for range small(5, "running") {
		w.drawRunning(t, &s)
	}
	for range small(6, "waiting") {
		procs, needs := drawNeeds(t, &s)
		j := forward.Waiting{Procs: procs, Needs: needs, Limit: float64(1 + small(w.limits, "limit")),
			Law: sure(small(w.limits, "runtime"))}
		if small(3, "blocked") == 0 {
			j.Eligible = float64(small(w.limits, "eligible"))
		}
		if n := len(s.Waiting); n > 0 {
			j.Rank = s.Waiting[n-1].Rank + max(0, small(4, "rank")-2)
		}
		s.Waiting = append(s.Waiting, j)
	}
	for range max(0, small(4, "outages")-2) {
		from := small(2*w.limits, "from") - 4
		s.Outages = append(s.Outages, forward.Outage{From: float64(from), Until: float64(from + 1 + small(9, "outage")),
			Procs: 1 + small(max(0, s.Capacity/3-1), "away")})
		if small(1, "known") == 1 {
			s.Outages[len(s.Outages)-1].On = []int32{0, -1}
		}
	}
	if small(3, "gates") == 0 {
		s.Gates = w.drawGates(t)
	}
	r := forward.Request{Limit: float64(1 + small(w.limits, "request limit"))}
	r.Procs, r.Needs = drawNeeds(t, &s)
	if small(3, "limits") == 0 {
		w.drawLimits(t, &s)
		r.Holds = w.holds(t, &s, r.Procs)
		s.Running = slices.DeleteFunc(s.Running, func(r forward.Running) bool { return r.Procs == 0 })
	}
	if r.Behind = small(len(s.Waiting), "behind"); s.Policy == forward.PriorityEASY && len(s.Waiting) > 0 {
		if r.Rank = s.Waiting[len(s.Waiting)-1].Rank; r.Behind > 0 {
			r.Rank = s.Waiting[len(s.Waiting)-r.Behind].Rank
		}
	}
	return s, r
}

// drawNeeds draws the size and the needs of a job; no needs for a job that needs only processors.
func drawNeeds(t *rapid.T, s *forward.State) (procs int, needs *forward.Needs) {
	procs = rapid.IntRange(1, min(6, s.Capacity)).Draw(t, "size")
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if kind == 0 {
		return procs, nil
	}
	needs = &forward.Needs{Classes: rapid.Uint64Range(1, 7).Draw(t, "classes of nodes") | 1,
		Memory: int64(rapid.IntRange(0, 8).Draw(t, "memory"))}
	if kind == 1 {
		return procs, needs
	}
	needs.Whole = kind == 2 && rapid.Bool().Draw(t, "whole")
	needs.Nodes = rapid.IntRange(1, 2).Draw(t, "nodes of a job")
	needs.GPUs = rapid.IntRange(0, 3).Draw(t, "gpus of a job")
	return procs, needs
}

// drawRunning draws a job and, if it fits, adds it as a running job on nodes that have room for it.
func (w world) drawRunning(t *rapid.T, s *forward.State) {
	procs, needs := drawNeeds(t, s)
	empty := forward.Request{Procs: procs, Limit: 1}
	n := newNaiveNodes(&forward.State{Nodes: s.Nodes, Running: s.Running, Outages: nil}, empty, 20)
	nodes := 1
	if d := needsOf(needs); d.Nodes > 0 {
		nodes = d.Nodes
	}
	one := nodeWait{waits{procs: procs, plan: 1}, needsOf(needs)}
	one.needs.Nodes = nodes
	chosen := n.choose(&one, 0, 0, nil)
	if chosen == nil || len(chosen) != nodes {
		return
	}
	j := forward.Running{Procs: procs, Needs: needs, Age: float64(rapid.IntRange(0, w.limits).Draw(t, "age")),
		Limit: float64(rapid.IntRange(1, w.limits).Draw(t, "limit")),
		Law:   sure(rapid.IntRange(0, w.limits).Draw(t, "residual"))}
	for k := range n.has {
		if _, ok := chosen[k]; ok {
			j.On = append(j.On, int32(k)) //nolint:gosec // a few
		}
	}
	s.Running = append(s.Running, j)
}

// TestNodesAsDefined compares starts on nodes with those of naiveNodes, which computes them from the definitions.
func TestNodesAsDefined(t *testing.T) {
	var sim forward.Sim
	late := 0
	rapid.Check(t, func(t *rapid.T) {
		s, r := drawNodes(t)
		n := newNaiveNodes(&s, r, 130)
		want := n.play()
		got, err := sim.Futures(&s, r, 1, 1, nil)
		var never *forward.NeverError
		var large *forward.TooLargeError
		if errors.As(err, &never) || errors.As(err, &large) {
			got = []forward.Future{{Wait: math.Inf(1), Blocked: n.request}}
		} else if err != nil {
			t.Fatal(err)
		}
		if got[0].Wait != want || got[0].Blocked != n.request {
			t.Fatalf("starts after %v s, %v of them blocked; want %v and %v", got[0].Wait, got[0].Blocked, want,
				n.request)
		}
		if want > 0 && !math.IsInf(want, 1) {
			late++
		}
	})
	if late == 0 && !testing.Short() {
		t.Error("no request waited and started: the states drawn are too easy")
	}
}

// gpuNodes returns n nodes of 8 processors, 4 GPUs and 64 bytes.
func gpuNodes(n int) []forward.NodeClass {
	return []forward.NodeClass{{Count: n, Procs: 8, GPUs: 4, Memory: 64}}
}

// takes returns the needs of a job on a number of nodes.
func takes(nodes, gpus int, memory int64) *forward.Needs {
	return &forward.Needs{Classes: 1, Nodes: nodes, GPUs: gpus, Memory: memory}
}

// runs returns a job that ends in some seconds, and whose limit is twice as long.
func runs(end float64, procs int, needs *forward.Needs, on ...int32) forward.Running {
	return forward.Running{Procs: procs, Limit: 2 * end, Law: sure(end), Needs: needs, On: on}
}

// TestResourcesDecide proves that a request can wait, although processors are free, for fragmented GPUs, for memory, or
// for an empty node.
func TestResourcesDecide(t *testing.T) {
	whole := &forward.Needs{Classes: 1, Nodes: 1, Whole: true}
	limit := 50.
	for name, c := range map[string]struct {
		running []forward.Running
		request forward.Request
		want    float64
	}{
		"two GPUs free on each of two nodes": {
			[]forward.Running{runs(100, 1, takes(1, 2, 1), 0), runs(70, 1, takes(1, 2, 1), 1)},
			forward.Request{Procs: 1, Needs: takes(1, 4, 1)}, 70},
		"four GPUs on two nodes": {
			[]forward.Running{runs(100, 1, takes(1, 2, 1), 0), runs(70, 1, takes(1, 2, 1), 1)},
			forward.Request{Procs: 2, Needs: takes(2, 4, 1)}, 0},
		"three GPUs on a node with one that is free": {
			[]forward.Running{runs(100, 1, takes(1, 3, 1), 0), runs(70, 1, takes(1, 2, 1), 1)},
			forward.Request{Procs: 1, Needs: takes(1, 3, 1)}, 70},
		"memory": {
			[]forward.Running{runs(100, 1, takes(1, 0, 60), 0), runs(70, 1, takes(1, 0, 40), 1)},
			forward.Request{Procs: 1, Needs: takes(1, 0, 32)}, 70},
		"memory in parts on any nodes": {
			[]forward.Running{runs(100, 1, takes(1, 0, 60), 0), runs(70, 1, takes(1, 0, 40), 1)},
			forward.Request{Procs: 8, Needs: takes(0, 0, 28)}, 70},
		"less of it": {
			[]forward.Running{runs(100, 1, takes(1, 0, 60), 0), runs(70, 1, takes(1, 0, 40), 1)},
			forward.Request{Procs: 7, Needs: takes(0, 0, 28)}, 0},
		"a node for itself": {
			[]forward.Running{runs(100, 1, nil, 0), runs(70, 1, nil, 1)},
			forward.Request{Procs: 1, Needs: whole}, 70},
		"processors of one node": {
			[]forward.Running{runs(100, 5, nil, 0), runs(70, 5, nil, 1)},
			forward.Request{Procs: 4, Needs: takes(1, 0, 0)}, 70},
		"processors of any nodes": {
			[]forward.Running{runs(100, 5, nil, 0), runs(70, 5, nil, 1)}, forward.Request{Procs: 4}, 0},
		"beside a job that has its node for itself": {
			[]forward.Running{runs(100, 1, whole, 0), runs(70, 8, nil, 1)},
			forward.Request{Procs: 1}, 70},
	} {
		s := forward.State{Capacity: 16, Nodes: gpuNodes(2), Policy: forward.EASY, Running: c.running}
		var sim forward.Sim
		c.request.Limit = limit
		waits, err := sim.Waits(&s, c.request, 1, 1, nil)
		check(t, err)
		if waits[0] != c.want {
			t.Errorf("%s: starts after %v s, want %v", name, waits[0], c.want)
		}
	}
}

// TestUnknownNodes proves that running jobs on unknown nodes are packed so that the most demanding ones fit. A job that
// does not fit as a whole holds what it can.
func TestUnknownNodes(t *testing.T) {
	s := forward.State{Capacity: 16, Nodes: gpuNodes(2), Policy: forward.EASY, Running: []forward.Running{
		runs(100, 1, takes(1, 1, 1)), runs(200, 1, takes(1, 4, 1)), runs(300, 1, takes(1, 1, 1)),
	}}
	var sim forward.Sim
	for gpus, want := range map[int]float64{2: 0, 3: 100, 4: 200} { // the first node is free at 200, the other at 300
		waits, err := sim.Waits(&s, forward.Request{Procs: 1, Limit: 50, Needs: takes(1, gpus, 1)}, 1, 1, nil)
		check(t, err)
		if waits[0] != want {
			t.Errorf("%d GPUs start after %v s, want %v", gpus, waits[0], want)
		}
	}
	s.Running = []forward.Running{runs(100, 4, takes(1, 9, 1)), runs(200, 14, takes(1, 0, 1))}
	for procs, want := range map[int]float64{1: 100, 4: 100, 5: 200} { // none of the 16 is free
		waits, err := sim.Waits(&s, forward.Request{Procs: procs, Limit: 50}, 1, 1, nil)
		check(t, err)
		if waits[0] != want {
			t.Errorf("%d processors start after %v s, want %v", procs, waits[0], want)
		}
	}
}

// TestNodesByWorkers proves that several goroutines, and memory that was used for other states, give the same futures.
func TestNodesByWorkers(t *testing.T) {
	s := busy()
	s.Nodes = gpuNodes(8)
	for i := range s.Waiting {
		s.Waiting[i].Needs = takes(1+i%3, i%4, int64(i))
		s.Waiting[i].Procs = 1 + i%8
	}
	r := forward.Request{Procs: 6, Limit: 1800, Needs: takes(2, 6, 40)}
	one, several := forward.Sim{}, forward.Sim{Workers: 3}
	for _, ranker := range []forward.Ranker{nil, busyLast{}} {
		if s.Ranker = ranker; ranker != nil {
			s.Policy = forward.PriorityEASY
		}
		want, err := one.Futures(s, r, 20, 1, nil)
		check(t, err)
		got, err := several.Futures(s, r, 20, 1, nil)
		check(t, err)
		_, err = one.Futures(large(1000, 100, 200, false), r, 2, 1, nil)
		check(t, err)
		again, err := one.Futures(s, r, 20, 1, nil)
		check(t, err)
		if !slices.Equal(got, want) || !slices.Equal(again, want) || want[0].Wait == 0 {
			t.Errorf("futures %v, by several %v, again %v; want three times the same, with waits", want, got, again)
		}
	}
}

// TestNodesThatNeverSuffice proves that a request that even the empty machine could not run is refused, and that
// waiting jobs of this kind keep no other job from starting.
func TestNodesThatNeverSuffice(t *testing.T) {
	s := forward.State{Capacity: 16, Nodes: gpuNodes(2), Policy: forward.FCFS,
		Outages: []forward.Outage{{From: -1, Until: math.Inf(1), Procs: 8}},
		Waiting: []forward.Waiting{{Procs: 1, Needs: takes(1, 5, 0)}, {Procs: 1, Needs: takes(2, 0, 0)}}}
	var sim forward.Sim
	waits, err := sim.Waits(&s, forward.Request{Procs: 8, Limit: 50, Needs: takes(1, 4, 64)}, 1, 1, nil)
	check(t, err)
	if waits[0] != 0 {
		t.Errorf("behind jobs that never start it starts after %v s, want at once", waits[0])
	}
	var never *forward.NeverError
	var large *forward.TooLargeError
	if _, err := sim.Waits(&s, forward.Request{Procs: 1, Needs: takes(1, 0, 65)}, 1, 1, nil); !errors.As(err, &never) {
		t.Errorf("more memory than a node has: error %v, want a NeverError", err)
	}
	if _, err := sim.Waits(&s, forward.Request{Procs: 9}, 1, 1, nil); !errors.As(err, &large) || large.Most != 8 {
		t.Errorf("more processors than the node that is left has: error %v, want a TooLargeError of 8", err)
	}
}

// TestBadNodesAreRefused proves that the error names what is wrong.
func TestBadNodesAreRefused(t *testing.T) {
	var sim forward.Sim
	for name, bad := range map[string]func(s *forward.State, r *forward.Request){
		"nodes[1].class": func(s *forward.State, _ *forward.Request) { s.Nodes[1].Procs = 0 },
		"nodes":          func(s *forward.State, _ *forward.Request) { s.Nodes[0].Count = forward.MostNodes },
		"running[0].on[1]": func(s *forward.State, _ *forward.Request) {
			s.Running = []forward.Running{{Procs: 2, On: []int32{0, 2}}}
		},
		"waiting[0].needs.memory": func(s *forward.State, _ *forward.Request) {
			s.Waiting = []forward.Waiting{{Procs: 2, Needs: takes(1, 0, -1)}}
		},
		"request.needs.nodes": func(_ *forward.State, r *forward.Request) { r.Needs = takes(0, 1, 0) },
		"request.needs.gpus":  func(_ *forward.State, r *forward.Request) { r.Needs = takes(1, -1, 0) },
	} {
		s := forward.State{Capacity: 2, Nodes: []forward.NodeClass{{Count: 1, Procs: 1}, {Count: 1, Procs: 1}}}
		r := forward.Request{Procs: 1, Limit: 1}
		bad(&s, &r)
		_, err := sim.Waits(&s, r, 1, 1, nil)
		var f *forward.FieldError
		if !errors.As(err, &f) || f.Field != name {
			t.Errorf("%s: error %v, want one of that field", name, err)
		}
	}
}

// TestReservedNodesAreSpared proves that a job that overtakes uses other nodes than those reserved for the first job,
// and starts on these only if there is room for both.
func TestReservedNodesAreSpared(t *testing.T) {
	s := forward.State{Capacity: 16, Nodes: gpuNodes(2), Policy: forward.EASY,
		Running: []forward.Running{runs(100, 1, takes(1, 4, 0), 0), runs(300, 1, takes(1, 4, 0), 1)},
		Waiting: []forward.Waiting{{Procs: 7, Limit: 50, Law: sure(50), Needs: takes(1, 4, 0)}}}
	var sim forward.Sim
	for _, c := range []struct {
		procs       int
		limit, want float64
	}{
		{7, 1000, 0},   // on the other node
		{9, 1000, 150}, // on both: the first job, which by the plan starts at 200, has started at 100 and ended
		{9, 200, 0},    // over before that instant of the plan
	} {
		waits, err := sim.Waits(&s, forward.Request{Procs: c.procs, Limit: c.limit}, 1, 1, nil)
		check(t, err)
		if waits[0] != c.want {
			t.Errorf("%d processors for %v s start after %v s, want %v", c.procs, c.limit, waits[0], c.want)
		}
	}
}

// TestKnownNodes proves the assumption for a job on several known nodes whose amounts on each are unknown: it has what
// the jobs on one node leave there, in parts as equal as possible. Its amounts on nodes of other pools do not count.
func TestKnownNodes(t *testing.T) {
	s := forward.State{Capacity: 16, Nodes: gpuNodes(2), Policy: forward.EASY, Running: []forward.Running{
		runs(300, 10, nil, 0, 1), runs(100, 6, nil, 1)}} // 8 and 2 processors of the first job
	var sim forward.Sim
	for procs, want := range map[int]float64{6: 100, 7: 300} {
		waits, err := sim.Waits(&s, forward.Request{Procs: procs, Limit: 50, Needs: takes(1, 0, 0)}, 1, 1, nil)
		check(t, err)
		if waits[0] != want {
			t.Errorf("%d processors of a node start after %v s, want %v", procs, waits[0], want)
		}
	}
	s.Running = []forward.Running{runs(100, 16, nil, -1, 0)} // 8 processors on each
	waits, err := sim.Waits(&s, forward.Request{Procs: 8, Limit: 50}, 1, 1, nil)
	check(t, err)
	if waits[0] != 0 {
		t.Errorf("beside a job of which half runs elsewhere 8 processors start after %v s, want at once", waits[0])
	}
}

// TestArrivalsOnNodes proves that a later job with a better rank goes ahead of a request if it needs the same GPUs, and
// that an arrival that no machine could run does not.
func TestArrivalsOnNodes(t *testing.T) {
	for name, c := range map[string]struct {
		needs *forward.Needs
		want  float64
	}{
		"processors alone": {nil, 100}, "a GPU": {takes(1, 1, 0), 150}, "too many GPUs": {takes(1, 5, 0), 100},
	} {
		come := true
		s := forward.State{Capacity: 8, Nodes: gpuNodes(1), Policy: forward.PriorityEASY,
			Running: []forward.Running{runs(100, 1, takes(1, 4, 0), 0)},
			Arrivals: func(int, uint64) func() (forward.Arrival, bool) {
				return func() (forward.Arrival, bool) {
					defer func() { come = false }()
					return forward.Arrival{After: 10, Procs: 1, Limit: 60, Runtime: 50, Rank: -1, Needs: c.needs}, come
				}
			}}
		var sim forward.Sim
		waits, err := sim.Waits(&s, forward.Request{Procs: 1, Limit: 50, Needs: takes(1, 4, 0)}, 1, 1, nil)
		check(t, err)
		if waits[0] != c.want {
			t.Errorf("%s: the request starts after %v s, want %v", name, waits[0], c.want)
		}
	}
}
