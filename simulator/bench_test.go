package simulator_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
)

func drain(b testing.TB, s *simulator.Simulator) {
	if err := s.Advance(math.Inf(1), func(simulator.Event) {}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTrace measures a whole run: it unpacks, parses and simulates a log.
func BenchmarkTrace(b *testing.B) {
	for _, c := range []struct {
		name, trace string
		policy      simulator.Policy
	}{
		{"FCFS/KTH", "KTH-SP2-1996-2.1-cln", new(simulator.FCFS)},
		{"EASY/KTH", "KTH-SP2-1996-2.1-cln", new(simulator.EASY)},
		{"Conservative/KTH", "KTH-SP2-1996-2.1-cln", new(simulator.Conservative)},
		{"PriorityEASY/KTH", "KTH-SP2-1996-2.1-cln", &simulator.Priority{WeightAge: 1}},
		{"EASY/SDSC-SP2", "SDSC-SP2-1998-4.2-cln", new(simulator.EASY)},
		{"Conservative/SDSC-SP2", "SDSC-SP2-1998-4.2-cln", new(simulator.Conservative)},
		{"EASY/CTC", "CTC-SP2-1996-3.1-cln", new(simulator.EASY)},
	} {
		b.Run(c.name, func(b *testing.B) {
			path, n := refdata.Shared(b, "traces/"+c.trace+".swf.gz"), 0
			for b.Loop() {
				trace, err := swfload.Open(path, swfload.Options{Rules: swfload.Pyss})
				if err != nil {
					b.Fatal(err)
				}
				drain(b, machine(b, simulator.Config{
					Procs: trace.Procs, Policy: c.policy, Order: simulator.SubmitsFirst, Arrivals: trace.Source(),
				}))
				n += len(trace.Jobs)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// repeated returns the trace several times, one copy after the other.
func repeated(trace *swfload.Trace, times int) simulator.Source {
	last := trace.Jobs[len(trace.Jobs)-1].Submit
	i, round := 0, 0
	return func() (simulator.Job, bool) {
		if i == len(trace.Jobs) {
			i, round = 0, round+1
		}
		if round == times {
			return simulator.Job{}, false
		}
		j := trace.Jobs[i]
		j.Submit += float64(round) * last
		i++
		return j, true
	}
}

// BenchmarkRepeated shows how the cost of a job, without parsing, grows with the trace's length: jobs/s should hardly
// fall.
func BenchmarkRepeated(b *testing.B) {
	for name, policy := range policies() {
		for _, times := range []int{1, 10} {
			b.Run(name+map[int]string{1: "/once", 10: "/tenfold"}[times], func(b *testing.B) {
				trace := load(b, "KTH-SP2-1996-2.1-cln", swfload.Pyss)
				b.ReportAllocs()
				for b.Loop() {
					drain(b, machine(b, simulator.Config{
						Procs: trace.Procs, Policy: policy, Order: simulator.SubmitsFirst,
						Arrivals: repeated(trace, times),
					}))
				}
				b.ReportMetric(float64(b.N*times*len(trace.Jobs))/b.Elapsed().Seconds(), "jobs/s")
			})
		}
	}
}

// BenchmarkLoads measures a study of 46 runs on all cores: CTC under EASY at loads 0.5 to 0.95. One operation is the
// whole study, with one parse.
func BenchmarkLoads(b *testing.B) {
	for b.Loop() {
		trace := load(b, "CTC-SP2-1996-3.1-cln", swfload.Pyss)
		is := simulator.OfferedLoad(trace.Jobs, trace.Procs)
		_, err := simulator.Replicas(context.Background(), 46, 0, 1, func() struct{} { return struct{}{} },
			func(_ struct{}, i int, _ *rand.Rand) (float64, error) {
				jobs := simulator.ScaleInterarrivals(simulator.FromSlice(trace.Jobs), is/(.5+.01*float64(i)))
				s, err := simulator.New(simulator.Config{Procs: trace.Procs, Policy: new(simulator.EASY),
					Arrivals: jobs})
				if err != nil {
					return 0, err
				}
				c := simulator.NewCollector(simulator.Measure{Procs: trace.Procs})
				err = s.Advance(math.Inf(1), c.Observe)
				return c.Report().All.Bounded.Mean, err
			})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// endless returns a workload in bursts that keeps a machine busy to about 80 %.
func endless(procs int, seed uint64) simulator.Source {
	rng := rand.New(rand.NewPCG(seed, 3))
	clock := 0.0
	return func() (simulator.Job, bool) {
		if rng.IntN(4) > 0 {
			clock += math.Floor(rng.ExpFloat64() * 1600)
		}
		runtime := math.Ceil(math.Exp(rng.Float64() * math.Log(20_000)))
		return simulator.Job{
			Submit: clock, Procs: 1 + rng.IntN(max(1, procs/2)), Runtime: runtime, User: rng.Int64N(20),
			Limit: math.Ceil(runtime * (1 + 3*rng.Float64())),
		}, true
	}
}

// BenchmarkSteadyState measures an endless workload after its memory has grown. One operation is a job.
func BenchmarkSteadyState(b *testing.B) {
	for name, policy := range map[string]simulator.Policy{
		"fcfs": new(simulator.FCFS), "easy": new(simulator.EASY), "conservative": new(simulator.Conservative),
		"priority": &simulator.Priority{WeightAge: 1, WeightFairShare: 1, WeightSize: 1,
			Backfill: simulator.BackfillConservative},
	} {
		b.Run(name, func(b *testing.B) {
			s := machine(b, simulator.Config{Procs: 64, Policy: policy, Arrivals: endless(64, 1)})
			run := func(jobs int) {
				for jobs > 0 {
					e, _, err := s.Next(math.Inf(1))
					if err != nil {
						b.Fatal(err)
					}
					if e.Kind == simulator.Ended {
						jobs--
					}
				}
			}
			run(20_000)
			b.ReportAllocs()
			b.ResetTimer()
			run(b.N)
		})
	}
}

// world draws jobs of a large cluster. Their sizes are about 10 on average, with a few in the hundreds and thousands,
// and their limits are round numbers if round is set.
type world struct {
	rng   *rand.Rand
	round bool
}

func (w *world) job() simulator.Job {
	size := math.Exp2(5 * w.rng.Float64())
	if w.rng.IntN(50) == 0 {
		size = math.Exp2(5 + 6*w.rng.Float64())
	}
	if w.rng.IntN(2) == 0 {
		size = math.Exp2(math.Floor(math.Log2(size)))
	}
	limit := math.Exp(math.Log(600) + w.rng.Float64()*math.Log(144)) // from 10 min to a day
	if w.round {
		limit = []float64{600, 1800, 3600, 7200, 14400, 28800, 43200, 86400}[w.rng.IntN(8)]
	}
	return simulator.Job{Procs: int(size), Limit: limit, Runtime: limit * w.rng.Float64(), User: w.rng.Int64N(300)}
}

// scene returns a machine that runs some jobs, a tenth as many as it has processors, while twice as many wait.
func scene(b testing.TB, running int, round bool) *simulator.Simulator {
	procs, queued := 10*running, 2*running
	w := world{rand.New(rand.NewPCG(1, 1)), round}
	state := simulator.State{Now: 200_000}
	busy := 0
	for len(state.Running) < running {
		j := w.job()
		if rest := (procs - busy) / (running - len(state.Running)); j.Procs > 3*max(1, rest) {
			j.Procs = max(1, rest)
		}
		busy += j.Procs
		j.ID, j.Start = int64(len(state.Running)), state.Now-math.Floor(j.Runtime*w.rng.Float64())
		state.Running = append(state.Running, j)
	}
	for len(state.Waiting) < queued {
		j := w.job()
		j.ID = int64(running + len(state.Waiting))
		state.Waiting = append(state.Waiting, j)
	}
	s := machine(b, simulator.Config{Procs: procs, Policy: new(simulator.EASY)})
	if err := s.Load(state); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkForecast measures 100 replicas, each with its own lifetimes, from a state with 10,000 running and 20,000
// queued jobs until the last queued job has started. One operation is all of them. Memory is the limit: the jobs of a
// replica, 4 MB, and the two orders of running jobs (by end, and by expected end) do not fit into the fast caches. The
// search for jobs to backfill takes about a quarter of the time, the random numbers a tenth, and copying the state a
// hundredth.
func BenchmarkForecast(b *testing.B) {
	for name, round := range map[string]bool{"RoundLimits": true, "AnyLimits": false} {
		b.Run(name, func(b *testing.B) {
			state := scene(b, 10_000, round)
			b.ReportAllocs()
			starts := 0.0
			for b.Loop() {
				waits, err := simulator.Replicas(context.Background(), 100, 0, 7,
					func() *simulator.Simulator { return new(simulator.Simulator) },
					func(s *simulator.Simulator, _ int, rng *rand.Rand) (float64, error) {
						return untilEmpty(s, state, rng)
					})
				if err != nil {
					b.Fatal(err)
				}
				starts += waits[0]
			}
		})
	}
}

// untilEmpty plays a state until no job waits any more and returns how long that took.
func untilEmpty(s, state *simulator.Simulator, rng *rand.Rand) (float64, error) {
	s.CopyFrom(state)
	s.SetRuntime(func(j *simulator.Job) float64 { return j.Limit * rng.Float64() })
	s.Redraw(func(j *simulator.Job) float64 { return (j.Start + j.Limit - s.Now()) * rng.Float64() })
	from, last := s.Now(), 0.0
	for left := s.Queued(); left > 0; {
		e, ok, err := s.Next(math.Inf(1))
		if err != nil || !ok {
			return 0, err
		}
		if e.Kind == simulator.Started {
			left--
			last = e.Time
		}
	}
	return last - from, nil
}

// BenchmarkReplica measures one replica of a machine of 10,000 processors with 1,000 running and 2,000 queued jobs, and
// reports the number of its events.
func BenchmarkReplica(b *testing.B) {
	state, s := scene(b, 1000, false), new(simulator.Simulator)
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		rng := rand.New(rand.NewPCG(4, 4))
		s.CopyFrom(state)
		s.SetRuntime(func(j *simulator.Job) float64 { return j.Limit * rng.Float64() })
		s.Redraw(func(j *simulator.Job) float64 { return (j.Start + j.Limit - s.Now()) * rng.Float64() })
		events = 0
		if err := s.Advance(math.Inf(1), func(simulator.Event) { events++ }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events), "events")
}
