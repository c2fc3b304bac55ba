package simulator_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/simulator"
)

func machine(t testing.TB, cfg simulator.Config) *simulator.Simulator {
	t.Helper()
	s, err := simulator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func submit(t testing.TB, s *simulator.Simulator, jobs ...simulator.Job) {
	t.Helper()
	for _, j := range jobs {
		if err := s.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
}

// trace advances the machine and returns its events as text.
func trace(t testing.TB, s *simulator.Simulator, until float64) []string {
	t.Helper()
	var out []string
	if err := s.Advance(until, func(e simulator.Event) {
		out = append(out, fmt.Sprintf("%v %v %d", e.Time, e.Kind, e.Job.ID))
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOrderAtOneInstantIsEndsSubmitsStarts(t *testing.T) {
	s := machine(t, simulator.Config{Procs: 4})
	submit(t, s,
		// given first, although submitted after job 3: the order of calls counts
		simulator.Job{ID: 4, Submit: 10, Procs: 1, Runtime: 5},
		simulator.Job{ID: 1, Submit: 0, Procs: 3, Runtime: 10},
		simulator.Job{ID: 2, Submit: 0, Procs: 4, Runtime: 0}, // waits for all four processors
		simulator.Job{ID: 3, Submit: 10, Procs: 1, Runtime: 5},
	)
	want := []string{
		"0 submit 1", "0 submit 2", "0 start 1",
		"10 end 1", "10 submit 4", "10 submit 3", "10 start 2", "10 end 2", "10 start 4", "10 start 3",
		"15 end 4", "15 end 3",
	}
	if d := cmp.Diff(want, trace(t, s, math.Inf(1))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s.Now() != 15 || s.Free() != 4 || s.Running() != 0 || s.Queued() != 0 {
		t.Errorf("at the end: time %v, free %d, running %d, queued %d", s.Now(), s.Free(), s.Running(), s.Queued())
	}
}

func TestNothingOvertakesTheFirstInTheQueue(t *testing.T) {
	s := machine(t, simulator.Config{Procs: 4})
	submit(t, s,
		simulator.Job{ID: 1, Submit: 0, Procs: 3, Runtime: 100},
		simulator.Job{ID: 2, Submit: 1, Procs: 2, Runtime: 10}, // does not fit beside job 1
		simulator.Job{ID: 3, Submit: 2, Procs: 1, Runtime: 1},  // would fit, but must not start
	)
	if got := trace(t, s, 99); len(got) != 4 || s.Queued() != 2 || s.Free() != 1 || s.Now() != 99 {
		t.Errorf("until 99: %q, %d queued, %d free, time %v", got, s.Queued(), s.Free(), s.Now())
	}
	want := []string{"100 end 1", "100 start 2", "100 start 3", "101 end 3", "110 end 2"}
	if d := cmp.Diff(want, trace(t, s, math.Inf(1))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestACallerDrivesTheClock(t *testing.T) {
	s := machine(t, simulator.Config{Procs: 1})
	submit(t, s, simulator.Job{ID: 1, Submit: 5, Procs: 1, Runtime: 10})
	if got := trace(t, s, 4.5); len(got) != 0 || s.Now() != 4.5 {
		t.Errorf("until 4.5: %q at %v", got, s.Now())
	}
	if got := trace(t, s, 5); len(got) != 2 {
		t.Errorf("until 5: %q", got)
	}
	if got := trace(t, s, 3); len(got) != 0 || s.Now() != 5 {
		t.Errorf("back to 3: %q at %v; want nothing at 5", got, s.Now())
	}
	submit(t, s, simulator.Job{ID: 2, Submit: 5, Procs: 1, Runtime: 1}) // this instant is not over
	if d := cmp.Diff([]string{"5 submit 2", "15 end 1", "15 start 2"}, trace(t, s, 15)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var late *simulator.PastError
	if err := s.Submit(simulator.Job{ID: 3, Submit: 14, Procs: 1}); !errors.As(err, &late) || late.ID != 3 ||
		late.Now != 15 {
		t.Errorf("submit in the past: %v", err)
	}
}

func TestJobsThatCannotBeAreRefused(t *testing.T) {
	if _, err := simulator.New(simulator.Config{}); err == nil {
		t.Error("a machine without processors was made")
	}
	s := machine(t, simulator.Config{Procs: 8})
	var large *simulator.TooLargeError
	if err := s.Submit(simulator.Job{ID: 9, Procs: 9}); !errors.As(err, &large) ||
		*large != (simulator.TooLargeError{ID: 9, Procs: 9, Machine: 8}) {
		t.Errorf("too large a job: %v", err)
	}
	for _, j := range []simulator.Job{
		{Procs: 0}, {Procs: -1}, {Procs: 1, Submit: -1}, {Procs: 1, Submit: math.NaN()},
		{Procs: 1, Submit: math.Inf(1)}, {Procs: 1, Runtime: -1}, {Procs: 1, Runtime: math.NaN()},
		{Procs: 1, Runtime: math.Inf(1)},
	} {
		if err := s.Submit(j); !errors.Is(err, simulator.ErrBadJob) {
			t.Errorf("%+v: %v, want ErrBadJob", j, err)
		}
	}
	if got := trace(t, s, math.Inf(1)); len(got) != 0 {
		t.Errorf("refused jobs ran: %q", got)
	}
}

func TestArrivalsAndRuntimesAsFunctions(t *testing.T) {
	n := 0
	s := machine(t, simulator.Config{
		Procs: 2,
		Arrivals: func() (simulator.Job, bool) {
			n++
			return simulator.Job{ID: int64(n), Submit: float64(n / 2), Procs: n}, n < 4
		},
		Runtime: func(j *simulator.Job) float64 { return 10 * float64(j.ID) },
	})
	submit(t, s, simulator.Job{ID: 50, Submit: 0.5, Procs: 1})
	// Job 3 asks for 3 of 2 processors. It is reported when the simulator looks ahead to it, and left out. The other
	// jobs continue.
	var got []string
	err := s.Advance(math.Inf(1), func(e simulator.Event) {
		got = append(got, fmt.Sprintf("%v %v %d", e.Time, e.Kind, e.Job.ID))
	})
	var large *simulator.TooLargeError
	if !errors.As(err, &large) || large.ID != 3 {
		t.Errorf("got %v, want a TooLargeError for job 3", err)
	}
	want := []string{"0 submit 1", "0 start 1", "0.5 submit 50", "0.5 start 50", "1 submit 2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"10 end 1", "500.5 end 50", "500.5 start 2", "520.5 end 2"},
		trace(t, s, math.Inf(1))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestABadRuntimeIsToldAndTheMachineGoesOn(t *testing.T) {
	s := machine(t, simulator.Config{Procs: 1, Runtime: func(*simulator.Job) float64 { return math.NaN() }})
	submit(t, s, simulator.Job{ID: 1, Procs: 1})
	if err := s.Advance(10, func(simulator.Event) {}); !errors.Is(err, simulator.ErrBadJob) {
		t.Errorf("got %v, want ErrBadJob", err)
	}
	if got := trace(t, s, 10); len(got) != 1 || s.Free() != 1 {
		t.Errorf("afterwards %q, %d free", got, s.Free())
	}
}

func drawJobs(t *rapid.T, procs int) []simulator.Job {
	// The times have few distinct values, so that many events share an instant.
	seconds := rapid.Map(rapid.IntRange(0, 30), func(n int) float64 { return float64(n) })
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) simulator.Job {
		return simulator.Job{
			Submit: seconds.Draw(t, "submit"), Procs: rapid.IntRange(1, procs).Draw(t, "procs"),
			Runtime: seconds.Draw(t, "runtime"),
		}
	}), 0, 60).Draw(t, "jobs")
}

// fcfs computes start times from the definition alone: a job starts at the first instant at which enough processors are
// free, but not before its submission nor before the start of the job ahead of it.
func fcfs(procs int, jobs []simulator.Job) []float64 {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case jobs[a].Submit < jobs[b].Submit:
			return -1
		case jobs[a].Submit > jobs[b].Submit:
			return 1
		}
		return 0
	})
	starts := make([]float64, len(jobs))
	last := 0.0
	for n, i := range order {
		earliest := max(last, jobs[i].Submit)
		times := []float64{earliest}
		for _, k := range order[:n] {
			times = append(times, max(earliest, starts[k]+jobs[k].Runtime))
		}
		slices.Sort(times)
		for _, at := range times {
			busy := 0
			for _, k := range order[:n] {
				if starts[k]+jobs[k].Runtime > at {
					busy += jobs[k].Procs
				}
			}
			if busy+jobs[i].Procs <= procs {
				starts[i], last = at, at
				break
			}
		}
	}
	return starts
}

func TestStartsAreThoseOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		procs := rapid.IntRange(1, 12).Draw(t, "machine")
		jobs := drawJobs(t, procs)
		want := fcfs(procs, jobs)
		s, err := simulator.New(simulator.Config{Procs: procs})
		if err != nil {
			t.Fatal(err)
		}
		for i := range jobs {
			jobs[i].ID = int64(i)
			if err := s.Submit(jobs[i]); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]float64, len(jobs))
		// Small steps must give the same events.
		for until := 0.0; until < 3000; until += rapid.Float64Range(1, 400).Draw(t, "step") {
			if err := s.Advance(until, func(e simulator.Event) {
				if e.Kind == simulator.Started {
					got[e.Job.ID] = e.Time
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("starts (-definition +simulator):\n%s", d)
		}
	})
}

// TestWhatEveryScheduleKeeps replays the events. It proves that never more processors are busy than exist, that starts
// are in order of submission, and that the first in the queue never waits while it fits. Times never fall, and all work
// is done.
func TestWhatEveryScheduleKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		procs := rapid.IntRange(1, 12).Draw(t, "machine")
		jobs := drawJobs(t, procs)
		s, err := simulator.New(simulator.Config{Procs: procs})
		if err != nil {
			t.Fatal(err)
		}
		work := 0.0
		for i := range jobs {
			jobs[i].ID = int64(i)
			work += float64(jobs[i].Procs) * jobs[i].Runtime
			if err := s.Submit(jobs[i]); err != nil {
				t.Fatal(err)
			}
		}
		busy, done, last := 0, 0.0, 0.0
		var queue []simulator.Job
		err = s.Advance(math.Inf(1), func(e simulator.Event) {
			if e.Time < last {
				t.Fatalf("%v after %v", e.Time, last)
			}
			if e.Time > last && len(queue) > 0 && busy+queue[0].Procs <= procs {
				t.Fatalf("job %d waited at %v though it fits", queue[0].ID, last)
			}
			done += float64(busy) * (e.Time - last)
			last = e.Time
			switch e.Kind {
			case simulator.Submitted:
				queue = append(queue, *e.Job)
			case simulator.Started:
				if queue[0].ID != e.Job.ID || e.Job.Start != e.Time || e.Job.Wait() != e.Time-jobs[e.Job.ID].Submit {
					t.Fatalf("job %d started at %v (%+v), first in the queue was %d", e.Job.ID, e.Time,
						e.Job, queue[0].ID)
				}
				queue, busy = queue[1:], busy+e.Job.Procs
			case simulator.Ended:
				if e.Time != e.Job.Start+jobs[e.Job.ID].Runtime || e.Time != e.Job.End {
					t.Fatalf("job %d ended at %v: %+v", e.Job.ID, e.Time, e.Job)
				}
				busy -= e.Job.Procs
			}
			if busy < 0 || busy > procs || busy != procs-s.Free() || len(queue) != s.Queued() {
				t.Fatalf("%d of %d busy, %d free, %d queued of %d", busy, procs, s.Free(), s.Queued(), len(queue))
			}
		})
		if err != nil || done != work || busy != 0 || len(queue) != 0 {
			t.Fatalf("%v; work %v of %v, %d busy, %d queued", err, done, work, busy, len(queue))
		}
	})
}

// TestAStartIsUnknownAtTheSubmit proves for both orders that the event of a submission comes before the start that
// follows it.
func TestAStartIsUnknownAtTheSubmit(t *testing.T) {
	for _, order := range []simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst} {
		s := machine(t, simulator.Config{Procs: 1, Order: order})
		submit(t, s, simulator.Job{ID: 1, Submit: 3, Procs: 1, Runtime: 1})
		if err := s.Advance(9, func(e simulator.Event) {
			if math.IsNaN(e.Job.Start) != (e.Kind == simulator.Submitted) {
				t.Errorf("order %d: %v with start %v", order, e.Kind, e.Job.Start)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheLoopDoesNotAllocate proves that the simulation allocates no memory in the long run, with an endless workload
// that keeps the machine about half busy.
func TestTheLoopDoesNotAllocate(t *testing.T) {
	n := 0
	s := machine(t, simulator.Config{Procs: 64, Arrivals: func() (simulator.Job, bool) {
		n++
		return simulator.Job{Submit: float64(n), Procs: 1 + n*7%13, Runtime: float64(1 + n*5%9)}, true
	}})
	until := 10_000.0
	step := func() {
		until += 1000
		if err := s.Advance(until, func(simulator.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if allocs := testing.AllocsPerRun(20, step); allocs != 0 {
		t.Errorf("%v allocations in 1,000 jobs, want 0", allocs)
	}
}
