package users_test

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/workload/users"
)

// session returns a log of 20 weeks with one long-term user and three jobs on every day. The second is submitted 5
// minutes (the think time) after the end of the first, and the third is submitted a minute after the second.
func session() users.Trace {
	trace := users.Trace{End: 20 * week}
	for d := range 140 {
		at := float64(d)*day + 9*hour
		for _, j := range []users.Job{
			{Submit: at, Wait: 100, Runtime: 500}, {Submit: at + 900, Wait: 10, Runtime: 600},
			{Submit: at + 960, Wait: 700, Runtime: 60},
		} {
			j.User, j.Procs, j.Index = 1, 1, len(trace.Jobs)
			trace.Jobs = append(trace.Jobs, j)
		}
	}
	return trace
}

// respond runs a workload on a machine on which every job takes the given number of seconds from its submission to its
// end, and returns the submissions.
func respond(t *testing.T, g *users.Generator, seconds float64) []users.Arrival {
	t.Helper()
	type end struct {
		serial int64
		at     float64
	}
	var running []end
	var out []users.Arrival
	for len(out) < 60 {
		at := g.Peek()
		if len(running) > 0 && running[0].at <= at {
			g.Ended(running[0].serial, running[0].at)
			running = running[1:]
			continue
		}
		a, ok := g.Next()
		if !ok {
			break
		}
		if a.Submit != at {
			t.Fatalf("job %d at %v, Peek said %v", a.Serial, a.Submit, at)
		}
		out = append(out, a)
		running = append(running, end{a.Serial, a.Submit + seconds})
	}
	return out
}

func TestUsersWaitForTheirJobs(t *testing.T) {
	trace := session()
	p := split(t, trace, users.Options{})
	for name, c := range map[string]struct {
		patience, response float64
		second, third      float64 // after the first, and after the second
	}{
		"as in the log": {0, 600, 900, 60}, // ends at 600, then a think time of 300
		"slower":        {0, 5000, 5300, 60},
		"faster":        {0, 10, 310, 60},
		"patient":       {5000, 5000, 5300, 60},
		"impatient":     {3000, 5000, 900 + day, 60}, // comes back the next day at the usual time
	} {
		g := generator(t, users.Config{Feedback: &users.Feedback{Patience: c.patience}}, users.Source{Pools: p})
		arrivals := respond(t, g, c.response)
		if len(arrivals) < 60 {
			t.Fatalf("%s: %d jobs", name, len(arrivals))
		}
		for i := 0; i+2 < len(arrivals); i++ {
			if arrivals[i].Index%3 != 0 {
				continue
			}
			second, third := arrivals[i+1].Submit-arrivals[i].Submit, arrivals[i+2].Submit-arrivals[i+1].Submit
			if c.patience == 3000 && i > 0 {
				break // the first session delays the following ones
			}
			if math.Abs(second-c.second) > 1e-6 || math.Abs(third-c.third) > 1e-6 {
				t.Errorf("%s: jobs follow after %v and %v s, want %v and %v", name, second, third, c.second, c.third)
			}
			if late := math.Mod(arrivals[i].Submit, day) - 9*hour; c.response <= 5000 && c.patience != 3000 &&
				math.Abs(late) > 1e-6 {
				t.Errorf("%s: a session begins %v s after its time of day", name, late)
			}
		}
	}
}

func TestWithoutFeedbackEndsMeanNothing(t *testing.T) {
	p := split(t, session(), users.Options{})
	a := respond(t, generator(t, users.Config{}, users.Source{Pools: p}), 1e7)
	b := take(generator(t, users.Config{}, users.Source{Pools: p}), 60)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("job %d is %+v, and without ends %+v", i, a[i], b[i])
		}
	}
}

// TestFeedbackThrottlesASaturatedMachine simulates KTH with twice its users under EASY: without feedback the machine
// saturates, and with it the queue is far shorter.
func TestFeedbackThrottlesASaturatedMachine(t *testing.T) {
	trace, procs := readTrace(t, kth)
	p := split(t, trace, users.Options{})
	run := func(f *users.Feedback) (slope float64, saturated bool, jobs int, mean float64) {
		g := generator(t, users.Config{Seed: 5, Load: 2, Feedback: f}, users.Source{Pools: p})
		r := simulate(t, g, procs)
		for _, n := range r.Weekly {
			mean += float64(n) / float64(len(r.Weekly))
		}
		return r.Growth, r.Saturated, r.All.Jobs, mean
	}
	openSlope, saturated, openJobs, openMean := run(nil)
	slope, _, jobs, mean := run(&users.Feedback{Patience: 4 * hour})
	t.Logf("open: %.2f jobs a week more, %d jobs, %.0f outstanding; with feedback: %.2f, %d, %.0f", openSlope, openJobs,
		openMean, slope, jobs, mean)
	if !saturated {
		t.Errorf("KTH with twice its users does not saturate: slope %v", openSlope)
	}
	if mean > .8*openMean || slope > .8*openSlope || jobs > openJobs {
		t.Errorf("with feedback %v jobs outstanding and slope %v, without %v and %v", mean, slope, openMean, openSlope)
	}
}

// simulate runs EASY with a generator's jobs, and returns the measures.
func simulate(t *testing.T, g *users.Generator, procs int) simulator.Report {
	t.Helper()
	s, err := simulator.New(simulator.Config{Procs: procs, Policy: new(simulator.EASY)})
	if err != nil {
		t.Fatal(err)
	}
	collect := simulator.NewCollector(simulator.Measure{Procs: procs})
	for {
		at := g.Peek()
		e, ok, err := s.Next(at)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			collect.Observe(e)
			if e.Kind == simulator.Ended {
				g.Ended(e.Job.ID, e.Time)
			}
			continue
		}
		a, ok := g.Next()
		if !ok {
			return collect.Report()
		}
		if err := s.Submit(simulator.Job{
			ID: a.Serial, Submit: a.Submit, Procs: a.Procs, Runtime: a.Runtime, Estimate: max(a.Runtime, a.Estimate, 1),
		}); err != nil {
			t.Fatal(err)
		}
	}
}
