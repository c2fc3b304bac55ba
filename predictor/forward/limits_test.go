package forward_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// TestLimitsAsDefined compares starts and blocked times under limits with those of naive, which computes them from the
// definitions.
func TestLimitsAsDefined(t *testing.T) {
	w := world{capacity: 8, running: 4, waiting: 6, most: 4, limits: 20, known: true, blocked: true, ranks: true,
		caps: true, policies: []forward.Policy{forward.EASY, forward.FCFS, forward.PriorityEASY}}
	var sim forward.Sim
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		s := w.draw(t)
		r := w.request(t, &s)
		r.Holds = w.holds(t, &s, r.Procs)
		if len(s.Waiting) > 0 && s.Policy == forward.PriorityEASY {
			r.Behind = rapid.IntRange(0, len(s.Waiting)).Draw(t, "behind")
			if r.Rank = s.Waiting[len(s.Waiting)-1].Rank; r.Behind > 0 {
				r.Rank = s.Waiting[len(s.Waiting)-r.Behind].Rank
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "not yet") == 0 {
			r.Eligible = float64(rapid.IntRange(1, 20).Draw(t, "eligible"))
		}
		n := newNaive(&s, r)
		want := n.play(400)
		got, err := sim.Futures(&s, r, 1, 1, nil)
		var never *forward.NeverError
		if errors.As(err, &never) {
			got = []forward.Future{{Wait: math.Inf(1), Blocked: n.blocked, Soon: n.soon}}
		} else if err != nil {
			t.Fatal(err)
		}
		if got[0].Wait != want || got[0].Blocked != n.blocked || got[0].Soon != n.soon {
			t.Fatalf("starts after %v s, blocked for %v and soon for %v; want %v, %v and %v", got[0].Wait,
				got[0].Blocked, got[0].Soon, want, n.blocked, n.soon)
		}
		if n.blocked > 0 && !math.IsInf(want, 1) {
			kept++
		}
	})
	if kept == 0 && !testing.Short() {
		t.Error("no request was blocked for a time: the states drawn are too easy")
	}
}

// holds returns the amounts of a job of one processor in the first limit.
func holds(work bool) []forward.Holding {
	a := forward.Amounts{forward.Jobs: 1, forward.Procs: 1}
	if work {
		a[forward.Work] = 1
	}
	return []forward.Holding{{Amounts: a}}
}

// TestBlockedJobsKeepNobodyElse proves that the second job of a user who may run only one does not delay the jobs
// behind it.
func TestBlockedJobsKeepNobodyElse(t *testing.T) {
	most := forward.NoBounds()
	most[forward.Jobs] = 1
	s := forward.State{Capacity: 10, Policy: forward.FCFS, Limits: []forward.Limit{{Most: most}},
		Running: []forward.Running{{Procs: 1, Limit: 100, Law: sure(50), Holds: holds(false)}},
		Waiting: []forward.Waiting{{Procs: 1, Limit: 100, Law: sure(30), Holds: holds(false)}}}
	var sim forward.Sim
	other, err := sim.Futures(&s, forward.Request{Procs: 9, Limit: 100}, 1, 1, nil)
	check(t, err)
	if other[0] != (forward.Future{}) {
		t.Errorf("a request of nobody's limit gets %+v, want a start at once", other[0])
	}
	own, err := sim.Futures(&s, forward.Request{Procs: 1, Limit: 100, Holds: holds(false)}, 1, 1, nil)
	check(t, err)
	// 50 s, then the 30 s of the job ahead
	if want := (forward.Future{Wait: 80, Blocked: 80, Soon: 8}); own[0] != want {
		t.Errorf("a request of the same limit gets %+v, want %+v", own[0], want)
	}
	roots, err := sim.Pivots(&s, forward.Request{Procs: 1, Limit: 100, Holds: holds(false)}, 1, 1, nil)
	check(t, err)
	if len(roots) != 1 || roots[0] != 0 {
		t.Errorf("its start hangs on %v, want job 0, which runs", roots)
	}
}

// TestWorkFallsBySecond proves that under a limit on remaining work a job can start before another one ends.
func TestWorkFallsBySecond(t *testing.T) {
	most := forward.NoBounds()
	most[forward.Work] = 150
	s := forward.State{Capacity: 10, Policy: forward.EASY, Limits: []forward.Limit{{Most: most}},
		Running: []forward.Running{{Procs: 1, Age: 20, Limit: 120, Law: sure(95), Holds: holds(true)}}}
	var sim forward.Sim
	for _, c := range []struct{ limit, want float64 }{
		{50, 0},   // the running job's 100 and the request's 50 are 150
		{80, 30},  // when the running job has 70 left
		{149, 95}, // only the end, 5 s before the limit, leaves enough
		{150, 95},
	} {
		got, err := sim.Futures(&s, forward.Request{Procs: 1, Limit: c.limit, Holds: holds(true)}, 1, 1, nil)
		check(t, err)
		if math.Abs(got[0].Wait-c.want) > .01 || got[0].Blocked != got[0].Wait {
			t.Errorf("limit %v s: %+v, want a start after %v s, all of them blocked", c.limit, got[0], c.want)
		}
	}
	var never *forward.NeverError
	_, err := sim.Futures(&s, forward.Request{Procs: 1, Limit: 151, Holds: holds(true)}, 1, 1, nil)
	if !errors.As(err, &never) {
		t.Errorf("more work than the limit: error %v, want a NeverError", err)
	}
}

// TestWorkNeverEnough proves that a job that alone exceeds a limit on work is not examined again and again while others
// run for years.
func TestWorkNeverEnough(t *testing.T) {
	most := forward.NoBounds()
	most[forward.Work] = 1200
	a := forward.Amounts{forward.Jobs: 1, forward.Procs: 8, forward.Work: 8}
	s := forward.State{Capacity: 100, Policy: forward.EASY, Limits: []forward.Limit{{Most: most}},
		Running: []forward.Running{{Procs: 1, Age: 1e12, Limit: 60, Law: sure(3e9), Holds: holds(true)}},
		Waiting: []forward.Waiting{{Procs: 8, Limit: 211, Law: sure(1), Holds: []forward.Holding{{Amounts: a}}}}}
	var sim forward.Sim
	var never *forward.NeverError
	_, err := sim.Futures(&s, forward.Request{Procs: 8, Limit: 211, Holds: []forward.Holding{{Amounts: a}}}, 1, 1, nil)
	if !errors.As(err, &never) {
		t.Errorf("error %v, want a NeverError", err)
	}
}

// TestBadLimitsAreRefused proves that the error names what is wrong.
func TestBadLimitsAreRefused(t *testing.T) {
	var sim forward.Sim
	good := forward.State{Capacity: 1, Policy: forward.EASY, Limits: []forward.Limit{{Most: forward.NoBounds()}}}
	for name, bad := range map[string]func(s *forward.State, r *forward.Request){
		"limits[0].most[0]": func(s *forward.State, _ *forward.Request) {
			s.Limits = []forward.Limit{{Most: forward.Amounts{-1}}}
		},
		"running[0].holds[0].limit": func(s *forward.State, _ *forward.Request) {
			s.Running = []forward.Running{{Procs: 1, Holds: []forward.Holding{{Limit: 1}}}}
		},
		"waiting[0].holds[0].limit": func(s *forward.State, _ *forward.Request) {
			s.Waiting = []forward.Waiting{{Procs: 1, Holds: []forward.Holding{{Limit: -1}}}}
		},
		"request.holds[0].amounts[1]": func(_ *forward.State, r *forward.Request) {
			r.Holds = []forward.Holding{{Amounts: forward.Amounts{0, -3}}}
		},
		"running[0].procs": func(s *forward.State, _ *forward.Request) {
			s.Limits, s.Running = nil, []forward.Running{{}}
		},
	} {
		s, r := good, forward.Request{Procs: 1, Limit: 1}
		bad(&s, &r)
		_, err := sim.Waits(&s, r, 1, 1, nil)
		var f *forward.FieldError
		if !errors.As(err, &f) || f.Field != name {
			t.Errorf("%s: error %v, want one of that field", name, err)
		}
	}
}
