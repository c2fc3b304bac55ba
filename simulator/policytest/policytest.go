// Package policytest is a suite of tests for scheduling policies. Call [Run] in a test of each implementation of
// simulator.Policy.
package policytest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/simulator"
)

// Run checks the policy on random workloads and random machines. The machines have several pools and queues with
// limits, processors or nodes, outages, estimates that are right, wrong or missing, kills, and both orders within an
// instant. Run checks that the policy
//
//   - never uses more processors than there are. If estimates are upper bounds, it never uses unavailable processors.
//     It keeps the limits of queues. It starts every job once, not before its submission, and finally starts all jobs;
//   - never leaves a job waiting in a pool that is idle and has no outage;
//   - decides the same again, however the clock is advanced, in a clone, and in a copy over another state. It is not
//     affected by its clone;
//   - can continue from a state that Load sets;
//   - does not allocate once its memory has grown.
func Run(t *testing.T, policy simulator.Policy) {
	t.Run("every schedule is sound", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { sound(t, draw(t, policy)) })
	})
	t.Run("same again", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { again(t, draw(t, policy)) }) })
	t.Run("clone is original", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { cloned(t, draw(t, policy)) }) })
	t.Run("goes on from a state", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { loaded(t, draw(t, policy)) })
	})
	t.Run("the loop does not allocate", func(t *testing.T) { allocates(t, policy) })
}

// scenario is a machine with a workload.
type scenario struct {
	cfg   simulator.Config
	jobs  []simulator.Job
	upper bool // true if estimates are upper bounds of runtimes
}

// seconds draws one of few different times, so that many events have the same instant.
func seconds(least int) *rapid.Generator[float64] {
	return rapid.Map(rapid.IntRange(least, 30), func(n int) float64 { return float64(n) })
}

func draw(t *rapid.T, policy simulator.Policy) scenario {
	s := scenario{upper: rapid.Bool().Draw(t, "estimates are upper bounds")}
	s.cfg = simulator.Config{
		Policy:    policy,
		Order:     rapid.SampledFrom([]simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst}).Draw(t, "order"),
		NodeProcs: rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(t, "procs per node"), Kill: rapid.Bool().Draw(t, "kill"),
	}
	unit := max(1, s.cfg.NodeProcs)
	for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
		s.cfg.Pools = append(s.cfg.Pools, simulator.PoolConfig{
			Name: fmt.Sprint("pool", i), Procs: unit * rapid.IntRange(1, 12).Draw(t, "nodes"),
		})
		p := &s.cfg.Pools[i]
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "outages") {
			from := seconds(0).Draw(t, "outage from")
			p.Outages = append(p.Outages, simulator.Outage{
				From: from, Until: from + seconds(1).Draw(t, "outage of"),
				Procs: unit * rapid.IntRange(0, p.Procs/unit/2).Draw(t, "away"),
			})
		}
	}
	for i := range rapid.IntRange(len(s.cfg.Pools), 4).Draw(t, "queues") {
		p := s.cfg.Pools[i%len(s.cfg.Pools)]
		q := simulator.Queue{Name: fmt.Sprint("queue", i), Pool: p.Name, Priority: float64(i)}
		if rapid.Bool().Draw(t, "limited") {
			q.Procs = unit * rapid.IntRange(1, p.Procs/unit).Draw(t, "limit")
		}
		s.cfg.Queues = append(s.cfg.Queues, q)
	}
	s.jobs = rapid.SliceOfN(rapid.Custom(s.job), 0, 50).Draw(t, "jobs")
	slices.SortStableFunc(s.jobs, func(a, b simulator.Job) int { return int(a.Submit - b.Submit) })
	for i := range s.jobs {
		s.jobs[i].ID = int64(i)
	}
	return s
}

// job draws a job that fits into its queue.
func (s *scenario) job(t *rapid.T) simulator.Job {
	q := rapid.SampledFrom(s.cfg.Queues).Draw(t, "queue")
	most := q.Procs
	for _, p := range s.cfg.Pools {
		if p.Name == q.Pool && most == 0 {
			most = p.Procs
		}
	}
	j := simulator.Job{
		Queue: q.Name, Procs: rapid.IntRange(1, most).Draw(t, "procs"), User: rapid.Int64Range(0, 3).Draw(t, "user"),
		Submit: seconds(0).Draw(t, "submit"), Runtime: seconds(0).Draw(t, "runtime"),
		Limit: seconds(0).Draw(t, "limit"),
	}
	if s.upper && j.Limit != 0 {
		j.Limit = max(1, j.Limit, j.Runtime)
	}
	return j
}

func (s *scenario) machine(t *rapid.T) *simulator.Simulator {
	m, err := simulator.New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range s.jobs {
		if err := m.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// entry is a copy of an event that can be compared.
type entry struct {
	Time float64
	Kind simulator.Kind
	ID   int64
	Held int
}

// log runs a machine to its end, or for a number of events, and returns the events.
func log(t *rapid.T, m *simulator.Simulator, events int) []entry {
	var out []entry
	for len(out) < events {
		e, ok, err := m.Next(math.Inf(1))
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		out = append(out, entry{e.Time, e.Kind, e.Job.ID, e.Held})
	}
	return out
}

// again runs a scenario twice, in one step and in small steps, and compares the events.
func again(t *rapid.T, s scenario) {
	want := log(t, s.machine(t), math.MaxInt)
	if d := cmp.Diff(want, log(t, s.machine(t), math.MaxInt)); d != "" {
		t.Fatalf("not the same twice (-first +second):\n%s", d)
	}
	m := s.machine(t)
	var got []entry
	for until := 0.0; len(got) < len(want); until += rapid.Float64Range(1, 400).Draw(t, "step") {
		if err := m.Advance(until, func(e simulator.Event) {
			got = append(got, entry{e.Time, e.Kind, e.Job.ID, e.Held})
		}); err != nil {
			t.Fatal(err)
		}
		if until > 1e6 {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("driven in small steps (-at once +in steps):\n%s", d)
	}
}

// cloned copies a machine in the middle of its run, into new memory and into the memory of a finished machine. All
// three continue and must give equal events.
func cloned(t *rapid.T, s scenario) {
	want := log(t, s.machine(t), math.MaxInt)
	m := s.machine(t)
	n := rapid.IntRange(0, len(want)).Draw(t, "events before the clone")
	got := log(t, m, n)
	used := s.machine(t)
	log(t, used, rapid.IntRange(0, len(want)).Draw(t, "events of the used one"))
	used.CopyFrom(m)
	clone := m.Clone()
	for what, rest := range map[string][]entry{
		"clone": log(t, clone, math.MaxInt), "copy": log(t, used, math.MaxInt), "original": log(t, m, math.MaxInt),
	} {
		if d := cmp.Diff(want, append(slices.Clone(got), rest...)); d != "" {
			t.Fatalf("%s after %d events (-undisturbed +cloned):\n%s", what, n, d)
		}
	}
}

// loaded takes a state from the middle of a run, loads it and continues to the end.
func loaded(t *rapid.T, s scenario) {
	s.cfg.Kill = false // otherwise runtimes would be cut twice at the same instant
	m := s.machine(t)
	state := simulator.State{Now: float64(rapid.IntRange(0, 60).Draw(t, "now"))}
	alive := map[int64]simulator.Job{}
	if err := m.Advance(state.Now, func(e simulator.Event) {
		alive[e.Job.ID] = *e.Job
		if e.Kind == simulator.Ended {
			delete(alive, e.Job.ID)
		}
	}); err != nil {
		t.Fatal(err)
	}
	ends := map[int64]float64{}
	for id := range int64(len(s.jobs)) {
		if j, ok := alive[id]; ok && j.Start <= state.Now {
			state.Running = append(state.Running, j)
			ends[id] = j.End
		} else if ok {
			state.Waiting = append(state.Waiting, j)
		}
	}
	fresh, err := simulator.New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Load(state); err != nil {
		// If an outage took processors that jobs still hold, Load refuses the state.
		t.Skip(err)
	}
	started := map[int64]bool{}
	for _, e := range log(t, fresh, math.MaxInt) {
		if e.Kind == simulator.Started {
			started[e.ID] = true
		}
		if end, ok := ends[e.ID]; ok && (e.Kind != simulator.Ended || e.Time != end) {
			t.Fatalf("%+v of a job that runs until %v", e, end)
		}
	}
	if len(started) != len(state.Waiting) || fresh.Running() != 0 {
		t.Fatalf("%d of %d waiting jobs started, %d run for ever", len(started), len(state.Waiting), fresh.Running())
	}
}

func allocates(t *testing.T, policy simulator.Policy) {
	n := 0
	m, err := simulator.New(simulator.Config{Procs: 64, Policy: policy, Arrivals: func() (simulator.Job, bool) {
		n++
		return simulator.Job{
			Submit: float64(n), Procs: 1 + n*7%29, Runtime: float64(1 + n*5%6), Limit: float64(1 + n*5%6 + n%3),
			User: int64(n % 5),
		}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	until := 20_000.0
	step := func() {
		until += 1000
		if err := m.Advance(until, func(simulator.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if allocs := testing.AllocsPerRun(20, step); allocs != 0 {
		t.Errorf("%v allocations in 1,000 jobs, want 0", allocs)
	}
}
