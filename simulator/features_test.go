package simulator_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/simulator"
)

// job returns a job with a number, submit time, processors, runtime and limit.
func job(id int64, at float64, procs int, runtime, limit float64) simulator.Job {
	return simulator.Job{ID: id, Submit: at, Procs: procs, Runtime: runtime, Limit: limit}
}

// play runs jobs on a machine and returns the events as text.
func play(t *testing.T, cfg simulator.Config, jobs ...simulator.Job) []string {
	t.Helper()
	s := machine(t, cfg)
	submit(t, s, jobs...)
	return trace(t, s, math.Inf(1))
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// only returns the events of a kind.
func only(events []string, kind string) (out []string) {
	for _, e := range events {
		if strings.Contains(e, " "+kind+" ") {
			out = append(out, e)
		}
	}
	return out
}

func TestAJobIsKilledAtItsLimit(t *testing.T) {
	killed := 0
	s := machine(t, simulator.Config{Procs: 1, Kill: true})
	submit(t, s, job(1, 0, 1, 100, 60), job(2, 0, 1, 100, 0), job(3, 0, 1, 60, 60))
	var got []float64
	if err := s.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Ended {
			got = append(got, e.Time)
			if e.Job.Killed {
				killed++
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{60, 160, 220}, got); d != "" || killed != 1 {
		t.Errorf("%d killed; ends (-want +got):\n%s", killed, d)
	}
}

// TestEstimatesDecideOnBackfill gives one workload three kinds of estimates. Job 3 may overtake job 2 only if its
// expected end is not after that of job 1.
func TestEstimatesDecideOnBackfill(t *testing.T) {
	jobs := []simulator.Job{job(1, 0, 3, 50, 100), job(2, 1, 4, 10, 10), job(3, 2, 1, 30, 99)}
	for name, c := range map[string]struct {
		estimate func(*simulator.Job) float64
		want     string
	}{
		"limits: 2 + 99 > 100":   {nil, "60 start 3"},
		"runtimes: 2 + 30 <= 50": {simulator.ActualRuntime, "2 start 3"},
		"a function of the job: 2 + 98 <= 100": {func(j *simulator.Job) float64 { return j.Limit - float64(j.ID/3) },
			"2 start 3"},
		"nothing is expected to end": {func(*simulator.Job) float64 { return math.Inf(1) }, "60 start 3"},
	} {
		got := play(t, simulator.Config{Procs: 4, Policy: new(simulator.EASY), Estimate: c.estimate}, jobs...)
		if !slices.Contains(got, c.want) {
			t.Errorf("%s: no %q in %q", name, c.want, got)
		}
	}
	s := machine(t, simulator.Config{Procs: 4, Estimate: func(*simulator.Job) float64 { return math.NaN() }})
	if err := s.Submit(jobs[0]); !errors.Is(err, simulator.ErrBadJob) {
		t.Errorf("an estimate that is no number: %v", err)
	}
}

// TestOverrunsArePlannedFor lets job 1 run past its limit of 10 s. The simulator then expects it to run for another 60
// s, so job 3, of 50 s, may overtake job 2. Under conservative backfill the promise to job 2 is broken.
func TestOverrunsArePlannedFor(t *testing.T) {
	jobs := []simulator.Job{job(1, 0, 3, 200, 10), job(2, 1, 4, 10, 10), job(3, 2, 1, 50, 50)}
	got := play(t, simulator.Config{Procs: 4, Policy: new(simulator.EASY)}, jobs...)
	want(t, only(got, "start"), "0 start 1", "10 start 3", "200 start 2")

	conservative := new(simulator.Conservative)
	got = play(t, simulator.Config{Procs: 4, Policy: kept{conservative}}, jobs...)
	want(t, only(got, "start"), "0 start 1", "10 start 3", "200 start 2")
	if conservative.Broken() == 0 {
		t.Error("no promise counted as broken")
	}
	calls := 0
	got = play(t, simulator.Config{Procs: 4, Policy: new(simulator.EASY), Overrun: func(*simulator.Job) float64 {
		calls++
		return 40
	}}, jobs...)
	// Job 3 never has 50 s before the expected end of job 1.
	want(t, only(got, "start"), "0 start 1", "200 start 2", "210 start 3")
	if calls != 5 { // at 10, 50, 90, 130, 170
		t.Errorf("asked %d times, want 5", calls)
	}
}

// kept is a policy that returns itself as its copy, so that a test can look into it.
type kept struct{ *simulator.Conservative }

func (k kept) New() simulator.Policy { return k.Conservative }

func TestBackfillKeepsOutOfOutages(t *testing.T) {
	cfg := simulator.Config{Procs: 4, Outages: []simulator.Outage{{From: 100, Until: 200, Procs: 3}}}
	jobs := []simulator.Job{job(1, 0, 2, 150, 150), job(2, 0, 1, 150, 150), job(3, 0, 2, 100, 100)}
	// Job 1 would need 2 processors when only 1 is free. Job 2 needs exactly one. Job 3 ends in time.
	for name, c := range map[string]struct {
		policy simulator.Policy
		want   []string
	}{
		"FCFS":         {new(simulator.FCFS), []string{"200 start 1", "200 start 2", "350 start 3"}},
		"EASY":         {new(simulator.EASY), []string{"0 start 2", "0 start 3", "200 start 1"}},
		"conservative": {new(simulator.Conservative), []string{"0 start 2", "0 start 3", "200 start 1"}},
		"priority":     {&simulator.Priority{WeightAge: 1}, []string{"0 start 2", "0 start 3", "200 start 1"}},
	} {
		cfg.Policy = c.policy
		if d := cmp.Diff(c.want, only(play(t, cfg, jobs...), "start")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	cfg.Policy = new(simulator.EASY) // under strict first come, first served no job would overtake job 1
	cfg.Outages = []simulator.Outage{{From: 0, Until: math.Inf(1), Procs: 3}}
	s := machine(t, cfg)
	submit(t, s, jobs...)
	if got := trace(t, s, math.Inf(1)); len(only(got, "start")) != 1 || s.Queued() != 2 {
		t.Errorf("on one processor for good: %q, %d wait", got, s.Queued())
	}
	cfg.Outages = []simulator.Outage{{From: 5, Until: 5, Procs: 1}}
	if _, err := simulator.New(cfg); err == nil {
		t.Error("an outage of no length was taken")
	}
}

func TestQueuesHaveLimits(t *testing.T) {
	cfg := simulator.Config{
		Pools: []simulator.PoolConfig{{Name: "big", Procs: 8}, {Name: "small", Procs: 2}},
		Queues: []simulator.Queue{
			{Name: "long", Procs: 4, MaxSize: 3}, {Name: "short", MaxTime: 60}, {Name: "own", Pool: "small"},
		},
	}
	in := func(queue string, j simulator.Job) simulator.Job {
		j.Queue = queue
		return j
	}
	s := machine(t, cfg)
	var large *simulator.TooLargeError
	var long *simulator.TooLongError
	for _, c := range []struct {
		job simulator.Job
		as  any
	}{
		{in("long", job(1, 0, 4, 1, 1)), &large}, {in("own", job(1, 0, 3, 1, 1)), &large},
		{in("short", job(1, 0, 9, 1, 1)), &large}, {in("short", job(1, 0, 1, 1, 61)), &long},
		{in("short", job(1, 0, 1, 1, 0)), &long},
	} {
		if err := s.Submit(c.job); !errors.As(err, c.as) {
			t.Errorf("%+v: %v, want a %T", c.job, err, c.as)
		}
	}
	if err := s.Submit(in("none", job(1, 0, 1, 1, 1))); !errors.Is(err, simulator.ErrBadJob) {
		t.Errorf("a queue that is not there: %v", err)
	}
	// Jobs 1 and 2 would use 6 processors of queue long, which may use 4: job 2 is skipped until job 1 ends.
	got := play(t, cfg, in("long", job(1, 0, 3, 10, 10)), in("long", job(2, 0, 3, 10, 10)),
		in("short", job(3, 0, 5, 20, 20)), in("own", job(4, 0, 2, 30, 30)), in("own", job(5, 0, 1, 1, 1)))
	want(t, only(got, "start"), "0 start 1", "0 start 3", "0 start 4", "10 start 2", "30 start 5")

	for _, bad := range []simulator.Config{
		{Procs: 4, Queues: []simulator.Queue{{Name: "a"}, {Name: "a"}}},
		{Procs: 4, Queues: []simulator.Queue{{Name: "a", Pool: "none"}}},
		{Procs: 4, Queues: []simulator.Queue{{Name: "a", Procs: -1}}}, {Procs: 4, NodeProcs: 3},
		{Procs: 4, NodeProcs: -1},
	} {
		if _, err := simulator.New(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestJobsTakeWholeNodes(t *testing.T) {
	jobs := []simulator.Job{job(1, 0, 5, 10, 10), job(2, 0, 1, 10, 10), job(3, 0, 1, 10, 10)}
	got := play(t, simulator.Config{Procs: 12, NodeProcs: 4}, jobs...)
	want(t, only(got, "start"), "0 start 1", "0 start 2", "10 start 3") // 8 + 4 of 12
	got = play(t, simulator.Config{Procs: 12}, jobs...)
	want(t, only(got, "start"), "0 start 1", "0 start 2", "0 start 3")
}

// TestMoldedJobs lets a job of 120 processor seconds take the free processors. At its submission these are 6, on which
// it can overtake job 2. When it becomes the first in the queue, job 2 has just taken all processors: the job takes 1.
// If it may choose until it starts, it gets all 8.
func TestMoldedJobs(t *testing.T) {
	takeFree := func(p *simulator.Pool, j *simulator.Job) {
		if j.ID != 3 {
			return
		}
		j.Procs = max(1, p.Free())
		j.Runtime = 120 / float64(j.Procs)
		j.Limit = j.Runtime
		j.Submit, j.ID = -5, 77 // a policy may not change these fields, and the simulator ignores the changes
	}
	jobs := []simulator.Job{job(1, 0, 2, 100, 100), job(2, 1, 8, 10, 10), job(3, 2, 1, 120, 120), job(4, 3, 5, 5, 200)}
	for name, c := range map[string]struct {
		when   simulator.MoldTime
		policy simulator.Policy
		want   []string
	}{
		"at submit": {simulator.AtSubmit, new(simulator.EASY),
			[]string{"0 start 1", "2 start 3", "100 start 2", "110 start 4"}},
		"at head": {simulator.AtHead, new(simulator.EASY),
			[]string{"0 start 1", "100 start 2", "110 start 3", "110 start 4"}},
	} {
		cfg := simulator.Config{Procs: 8, Policy: c.policy, Mold: &simulator.Mold{When: c.when, Choose: takeFree}}
		if d := cmp.Diff(c.want, only(play(t, cfg, jobs...), "start")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	cfg := simulator.Config{Procs: 8, Mold: &simulator.Mold{When: simulator.AtPass, Choose: takeFree}}
	// on 8, at the last moment
	want(t, only(play(t, cfg, jobs...), "start"), "0 start 1", "100 start 2", "110 start 3", "125 start 4")

	cfg.Mold.Choose = func(_ *simulator.Pool, j *simulator.Job) { j.Procs = 9 }
	s := machine(t, cfg)
	submit(t, s, jobs[0])
	var large *simulator.TooLargeError
	if err := s.Advance(math.Inf(1), func(simulator.Event) {}); !errors.As(err, &large) {
		t.Errorf("molded to more than there is: %v", err)
	}
}

// TestMoldingKeepsSchedulesSound molds at random, with every policy: all jobs run, and never on more processors than
// the machine has.
func TestMoldingKeepsSchedulesSound(t *testing.T) {
	all := policies()
	all["priority"] = &simulator.Priority{WeightSize: 1}
	for name, policy := range all {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				procs := rapid.IntRange(1, 20).Draw(t, "machine")
				jobs := drawEstimated(t, procs)
				seed := rapid.Uint64().Draw(t, "seed")
				run := func() (out []float64) {
					rng := rand.New(rand.NewPCG(seed, 0))
					cfg := simulator.Config{Procs: procs, Policy: policy, Arrivals: simulator.FromSlice(jobs),
						Mold: &simulator.Mold{
							When: rapid.SampledFrom([]simulator.MoldTime{simulator.AtHead, simulator.AtPass}).Draw(t,
								"when"),
							Choose: func(_ *simulator.Pool, j *simulator.Job) {
								j.Procs = 1 + rng.IntN(procs)
								j.Runtime = float64(1 + rng.IntN(20))
								j.Estimate = j.Runtime + float64(rng.IntN(20))
							},
						}}
					s, err := simulator.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					busy, ended := 0, 0
					if err := s.Advance(math.Inf(1), func(e simulator.Event) {
						switch e.Kind {
						case simulator.Started:
							busy += e.Held
							out = append(out, e.Time)
						case simulator.Ended:
							busy -= e.Held
							ended++
						}
						if busy > procs || s.Free() != procs-busy {
							t.Fatalf("at %v %d of %d busy, Free says %d", e.Time, busy, procs, s.Free())
						}
					}); err != nil {
						t.Fatal(err)
					}
					if ended != len(jobs) {
						t.Fatalf("%d of %d jobs ran", ended, len(jobs))
					}
					return out
				}
				run()
			})
		})
	}
}

func TestAStateMustBePossible(t *testing.T) {
	ran := job(1, 0, 4, 10, 10)
	ran.Start = 5
	for name, state := range map[string]simulator.State{
		"not enough processors": {Now: 5, Running: []simulator.Job{ran, ran}},
		"runs before its start": {Now: 4, Running: []simulator.Job{ran}},
		"no instant":            {Now: math.NaN()},
		"too large":             {Waiting: []simulator.Job{job(1, 0, 9, 1, 1)}},
		"no processors":         {Running: []simulator.Job{{}}},
	} {
		if err := machine(t, simulator.Config{Procs: 7}).Load(state); err == nil {
			t.Errorf("%s: was loaded", name)
		}
	}
	s := machine(t, simulator.Config{Procs: 7, Policy: new(simulator.EASY)})
	overdue := job(3, 0, 1, 1, 3)
	if err := s.Load(simulator.State{Now: 9, Running: []simulator.Job{ran, overdue},
		Waiting: []simulator.Job{job(2, 50, 6, 1, 1)}}); err != nil {
		t.Fatal(err)
	}
	want(t, trace(t, s, math.Inf(1)), "9 end 3", "15 end 1", "15 start 2", "16 end 2")
	if err := s.Load(simulator.State{}); err == nil {
		t.Error("a state was loaded into a machine that is not new")
	}
}

// TestRedrawMovesEnds proves that new residual lifetimes move the ends, and that a lifetime that is not finite leaves
// the end as it is.
func TestRedrawMovesEnds(t *testing.T) {
	s := machine(t, simulator.Config{Procs: 3})
	submit(t, s, job(1, 0, 1, 100, 100), job(2, 0, 1, 100, 100), job(3, 0, 1, 100, 100))
	trace(t, s, 40)
	s.Redraw(func(j *simulator.Job) float64 { return []float64{0, 500, 7, math.Inf(1)}[j.ID] })
	want(t, trace(t, s, math.Inf(1)), "47 end 2", "100 end 3", "540 end 1")
}

// TestReplicasDoNotDependOnWorkers also proves that each replica has its own random numbers.
func TestReplicasDoNotDependOnWorkers(t *testing.T) {
	state := scene(t, 10_000, true)
	run := func(workers, n int) []float64 {
		out, err := simulator.Replicas(context.Background(), n, workers, 7,
			func() *simulator.Simulator { return new(simulator.Simulator) },
			func(s *simulator.Simulator, _ int, rng *rand.Rand) (float64, error) { return untilEmpty(s, state, rng) })
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := run(1, 6)
	if d := cmp.Diff(one, run(3, 6)); d != "" {
		t.Errorf("(-1 worker +3 workers):\n%s", d)
	}
	if slices.Sort(one); len(slices.Compact(one)) != 6 {
		t.Errorf("replicas are alike: %v", one)
	}
	failed := errors.New("failed")
	_, err := simulator.Replicas(context.Background(), 50, 4, 1, func() int { return 0 },
		func(_, i int, _ *rand.Rand) (int, error) {
			if i >= 3 {
				return 0, failed
			}
			return i, nil
		})
	if !errors.Is(err, failed) || err.Error() != "replica 3: failed" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := simulator.Replicas(ctx, 5, 2, 1, func() int { return 0 },
		func(_, i int, _ *rand.Rand) (int, error) { return i, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestRefusedArrivalsAreTold proves that with Config.Refused a stream continues without an error.
func TestRefusedArrivalsAreTold(t *testing.T) {
	var refused []int64
	got := play(t, simulator.Config{
		Procs: 4,
		Arrivals: simulator.FromSlice([]simulator.Job{job(1, 0, 5, 1, 1), job(2, 1, 4, 1, 1), job(3, 0, 1, 1, 1),
			job(4, 9, 1, 1, 1)}),
		Refused: func(j simulator.Job, _ error) { refused = append(refused, j.ID) },
	})
	want(t, only(got, "start"), "1 start 2", "9 start 4")
	if d := cmp.Diff([]int64{1, 3}, refused); d != "" { // job 1 is too large, and job 3 is out of order
		t.Errorf("refused (-want +got):\n%s", d)
	}
}
