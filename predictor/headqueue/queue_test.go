package headqueue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// wantAll checks that every quantile and downey_b lie at want, or above it by at most the tolerances of all the jobs
// ahead.
func wantAll(t interface {
	Helper()
	Errorf(string, ...any)
}, r Result, want float64, jobs int) {
	t.Helper()
	most := want + slack(want)*1.01 + float64(jobs)*placing.at(want)
	for i, got := range append([]float64{r.Medians[1].Seconds}, r.Quantiles...) {
		if got < want-1e-6*want || got > most {
			t.Errorf("%s, value %d: %g, want %g to %g", r.Method, i, got, want, most)
		}
	}
}

// TestQueueByHand proves strict first come, first served on machines whose jobs all have known runtimes, by values
// worked out by hand.
func TestQueueByHand(t *testing.T) {
	for _, tc := range []struct {
		name  string
		s     State
		procs int
		need  int
		want  float64
	}{
		{
			// At 60 the running job ends, and at 110 the one ahead.
			"one ahead takes all",
			State{
				Capacity: 10, Running: []Holder{{Procs: 10, Age: 40, Law: fixed(100)}},
				Ahead: []Ahead{{Procs: 10, Law: fixed(50)}},
			}, 5, 15, 110,
		},
		{
			// Job A (2 processors) starts at 30 and ends at 130. Job B (4) waits for A until 130 and ends at 140.
			"the head blocks",
			State{
				Capacity: 4,
				Running:  []Holder{{Procs: 2, Age: 70, Law: fixed(100)}, {Procs: 2, Age: 10, Law: fixed(60)}},
				Ahead:    []Ahead{{Procs: 2, Law: fixed(100)}, {Procs: 4, Law: fixed(10)}},
			}, 1, 7, 140,
		},
		{
			// Both start together once the machine is empty at 500.
			"two start together",
			State{
				Capacity: 8, Running: []Holder{{Procs: 8, Age: 0, Law: fixed(500)}},
				Ahead: []Ahead{{Procs: 4, Law: fixed(1000)}},
			}, 4, 8, 500,
		},
		{
			// The limit ends the job ahead 200 s after its start at 100.
			"a limit ahead",
			State{
				Capacity: 8, Running: []Holder{{Procs: 8, Age: 0, Limit: 100}},
				Ahead: []Ahead{{Procs: 8, Limit: 200}},
			}, 8, 16, 300,
		},
		{
			// The machine is empty: the head starts now, and the next job when the head ends.
			"idle machine",
			State{Capacity: 8, Free: 8, Ahead: []Ahead{{Procs: 6, Law: fixed(70)}}},
			3, 1, 70,
		},
		{
			// A job that cannot start on this machine, or asks for nothing, is left out.
			"too wide a job ahead",
			State{
				Capacity: 8, Running: []Holder{{Procs: 8, Age: 0, Law: fixed(500)}},
				Ahead: []Ahead{{Procs: 9, Law: fixed(1000)}, {Procs: 0}, {Procs: -4}},
			}, 4, 4, 500,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c Calc
			r, err := c.Forecast(&tc.s, tc.procs, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Need != tc.need {
				t.Errorf("need %d, want %d", r.Need, tc.need)
			}
			wantAll(t, r, tc.want, len(tc.s.Ahead))
		})
	}
}

// TestQueueMethods proves the name of the method of a forecast behind a queue, also if all jobs fit at once.
func TestQueueMethods(t *testing.T) {
	s := State{
		Capacity: 8, Free: 4, Running: []Holder{{Procs: 4, Law: exponential(100)}},
		Ahead: []Ahead{{Procs: 2, Law: exponential(100)}},
	}
	for _, tc := range []struct {
		procs, limit int
		want         string
	}{{2, 0, MethodNow}, {3, 0, MethodFCFSQueue}, {3, -1, MethodFCFSQueue}} {
		c := Calc{WorkLimit: tc.limit}
		r, err := c.Forecast(&s, tc.procs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Method != tc.want {
			t.Errorf("%d processors: method %s, want %s", tc.procs, r.Method, tc.want)
		}
		if zero := r.Quantiles[5] == 0; zero != (tc.procs == 2) {
			t.Errorf("%d processors: quantiles %v", tc.procs, r.Quantiles)
		}
	}
}

// schedule is an independent scheduler for strict first come, first served. It returns the start of the last job on a
// machine whose running jobs end at known instants.
func schedule(free int, ends []finish, jobs []work) float64 {
	now := 0.0
	for _, j := range jobs {
		for free < j.procs {
			sort.Slice(ends, func(a, b int) bool { return ends[a].at < ends[b].at })
			now = max(now, ends[0].at)
			free += ends[0].procs
			ends = ends[1:]
		}
		free -= j.procs
		ends = append(ends, finish{now + j.runtime, j.procs})
	}
	return now
}

type finish struct {
	at    float64
	procs int
}

type work struct {
	procs   int
	runtime float64
}

// TestQueueIsSchedule proves that with known runtimes the forecast is the start
// that an event-driven scheduler finds, for random small queues.
func TestQueueIsSchedule(t *testing.T) {
	var c Calc
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(4, 32).Draw(t, "capacity")
		s := State{Capacity: capacity, Free: capacity}
		var ends []finish
		for range rapid.IntRange(0, 8).Draw(t, "running") {
			n := rapid.IntRange(1, capacity).Draw(t, "procs")
			if n > s.Free {
				continue
			}
			s.Free -= n
			age := rapid.Float64Range(0, 5000).Draw(t, "age")
			left := float64(rapid.IntRange(10, 5000).Draw(t, "left"))
			s.Running = append(s.Running, Holder{Procs: n, Age: age, Law: fixed(age + left)})
			ends = append(ends, finish{left, n})
		}
		var jobs []work
		for range rapid.IntRange(0, 10).Draw(t, "ahead") {
			w := work{rapid.IntRange(1, capacity).Draw(t, "procs"),
				float64(rapid.IntRange(10, 5000).Draw(t, "runtime"))}
			jobs = append(jobs, w)
			s.Ahead = append(s.Ahead, Ahead{Procs: w.procs, Law: fixed(w.runtime)})
		}
		procs := rapid.IntRange(1, capacity).Draw(t, "request")
		want := schedule(s.Free, ends, append(jobs, work{procs, 1}))
		r, err := c.Forecast(&s, procs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, r, want, len(jobs))
	})
}

// TestFluidInstants proves the definition of T_k on random laws: at each placed instant the processors freed on average
// have just reached need_k, and the instants never decrease.
func TestFluidInstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	running := machine(rng, 100, func() int { return 1 + rng.IntN(32) })
	s := State{Capacity: totalProcs(running), Running: running}
	for _, h := range machine(rng, 60, func() int { return 1 + rng.IntN(32) }) {
		s.Ahead = append(s.Ahead, Ahead{h.Procs, h.Limit, h.Law})
	}
	var c Calc
	c.load(s.Running)
	c.queue.jobs = s.Ahead
	c.need = 1 << 20
	if _, err := c.place(placeWork, -s.Free, 0); err != nil && err.Reason != NeverEnough {
		t.Fatal(err)
	}
	// These are the placed holders, by start. Their sizes are those of the queue, in order.
	var placed []float64
	for _, h := range c.held {
		if h.start > 0 {
			placed = append(placed, h.start)
		}
	}
	sort.Float64s(placed)
	if len(placed) != len(s.Ahead) {
		t.Fatalf("%d of %d jobs placed", len(placed), len(s.Ahead))
	}
	all := append([]Holder(nil), running...)
	need := 0.0
	for k, a := range s.Ahead {
		need += float64(a.Procs)
		freed := func(t float64) float64 {
			var sum float64
			for _, h := range all {
				sum += float64(h.Procs) * h.Ends(t)
			}
			return sum
		}
		at := placed[k]
		before := at - placing.at(at)
		if k > 0 {
			before = max(before, placed[k-1])
		}
		if now := freed(at); now < need-1e-6 {
			t.Errorf("job %d is placed at %g, where %g of %g processors are free", k, at, now, need)
		}
		if early := freed(before); before < at && early > need+1e-6 {
			t.Errorf("job %d is placed at %g, but %g of %g processors are free at %g", k, at, early, need, before)
		}
		all = append(all, Holder{Procs: a.Procs, Age: -at, Limit: a.Limit, Law: a.Law})
	}
}

// TestBatches bounds the error of placing a long queue in batches: 1 % of the fluid instant, even if the queue is many
// times the machine.
func TestBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	size := func() int { return 1 + rng.IntN(64) }
	for _, tc := range []struct{ running, ahead int }{{10, 3000}, {100, 2000}, {500, 1000}} {
		s := State{Running: machine(rng, tc.running, size)}
		need := 64
		var queued []Ahead
		for _, h := range machine(rng, tc.ahead, size) {
			queued = append(queued, Ahead{h.Procs, h.Limit, h.Law})
			need += h.Procs
		}
		var instants [2]float64
		for i, budget := range []int{math.MaxInt, placeWork} {
			c := Calc{need: need}
			c.load(s.Running)
			c.queue.jobs = queued
			last, err := c.place(budget, 0, 0)
			if err == nil {
				c.behind = behind{at: last, slope: c.queue.slope}
				instants[i], err = c.reach()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if d := math.Abs(math.Log(instants[1] / instants[0])); d > .01 {
			t.Errorf("%+v: %.0f s one by one, %.0f s in batches", tc, instants[0], instants[1])
		}
	}
}

// drawQueue draws a busy machine with jobs ahead.
func drawQueue(t *rapid.T) State {
	s := State{Running: drawHolders(t, 1, 20), Free: rapid.IntRange(0, 20).Draw(t, "free")}
	s.Capacity = s.Free + totalProcs(s.Running)
	for _, h := range drawHolders(t, 1, 30) {
		s.Ahead = append(s.Ahead, Ahead{min(h.Procs, s.Capacity), h.Limit, h.Law})
	}
	return s
}

// notEarlier checks that no quantile of late is earlier than that of early, and no probability higher.
func notEarlier(t *rapid.T, what string, early, late Result) {
	for i := range early.Quantiles {
		if late.Quantiles[i] < early.Quantiles[i] {
			t.Fatalf("%s: %v, else %v", what, late.Quantiles, early.Quantiles)
		}
	}
	for i := range early.Within {
		if late.Within[i] > early.Within[i]+1e-12 {
			t.Fatalf("%s: within %v, else %v", what, late.Within, early.Within)
		}
	}
}

// TestQueueOrder proves four properties behind a queue: quantiles do not cross; within is their inverse; a larger
// request, or one behind one more job, never starts earlier; and neither a used Calc nor the order of the running jobs
// changes an answer.
func TestQueueOrder(t *testing.T) {
	var c Calc
	rapid.Check(t, func(t *rapid.T) {
		s := drawQueue(t)
		if s.Capacity < 1 {
			return
		}
		procs := rapid.IntRange(1, s.Capacity).Draw(t, "request")
		within := []float64{-1, 0, 60, 3600, 86400}
		r, err := c.Forecast(&s, procs, nil, within)
		if err != nil || r.Method != MethodFCFSQueue {
			return
		}
		back, err := c.Forecast(&s, procs, nil, r.Quantiles)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range r.Levels {
			if i > 0 && r.Quantiles[i] < r.Quantiles[i-1] {
				t.Fatalf("quantiles cross: %v", r.Quantiles)
			}
			if p := back.Within[i]; !math.IsInf(r.Quantiles[i], 1) && p < q-1e-9 {
				t.Fatalf("within %g s: %g, but it is the quantile %g", r.Quantiles[i], p, q)
			}
		}
		more := s
		more.Ahead = append(slices.Clone(s.Ahead), Ahead{Procs: 1, Law: exponential(1000)})
		if later, err := c.Forecast(&more, procs, nil, within); err == nil {
			notEarlier(t, "one more ahead", r, later)
		}
		if later, err := c.Forecast(&s, s.Capacity, nil, within); err == nil {
			notEarlier(t, "all processors", r, later)
		}
		turned := s
		turned.Running = slices.Clone(s.Running)
		slices.Reverse(turned.Running)
		again, err := new(Calc).Forecast(&turned, procs, nil, within)
		if err != nil || !slices.Equal(again.Quantiles, r.Quantiles) || !slices.Equal(again.Within, r.Within) {
			t.Fatalf("turned round: %v %v, else %v", err, again.Quantiles, r.Quantiles)
		}
	})
}

// TestQueueIsShared proves that a Calc which was asked about a state before gives the same answers as one that was not:
// for other sizes in the same state, and after any change of the state.
func TestQueueIsShared(t *testing.T) {
	var used Calc
	text := func(r Result, err error) string { // all fields, and the causes in words
		all := fmt.Sprintln(r.Method, r.Need, r.Quantiles, r.Low, r.High, r.Replicas, r.Within, err)
		for _, m := range r.Medians {
			all += fmt.Sprintln(m.Name, m.Seconds, m.Low, m.High, m.Replicas, m.Cannot)
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawQueue(t)
		if s.Capacity < 1 {
			return
		}
		for range 3 {
			for range 2 {
				procs := rapid.IntRange(1, s.Capacity).Draw(t, "request")
				got := text(used.Forecast(&s, procs, nil, []float64{60, 3600}))
				if want := text(new(Calc).Forecast(&s, procs, nil, []float64{60, 3600})); got != want {
					t.Fatalf("asked before:\n%s\nelse:\n%s", got, want)
				}
			}
			s.Running, s.Ahead = slices.Clone(s.Running), slices.Clone(s.Ahead)
			h, a := &s.Running[rapid.IntRange(0, len(s.Running)-1).Draw(t, "which runs")],
				&s.Ahead[rapid.IntRange(0, len(s.Ahead)-1).Draw(t, "which waits")]
			switch rapid.IntRange(0, 7).Draw(t, "what changes") {
			case 0:
				s.Free++
			case 1:
				h.Age++
			case 2:
				h.Limit += 60
			case 3:
				h.Law = exponential(77)
			case 4:
				h.Procs++
			case 5:
				a.Limit += 60
			case 6:
				a.Law = exponential(77)
			default:
				a.Procs++
			}
		}
	})
}

// TestLawTable proves that tabulated laws give the quantiles of the laws. At each quantile, the law's survival divided
// by its survival at the age is 1 minus the level, or it jumps across that value there.
func TestLawTable(t *testing.T) {
	var l lawTables
	rapid.Check(t, func(t *rapid.T) {
		law := drawLaw(t)
		if law == nil {
			return
		}
		l.reset()
		s0 := law.Survival(rapid.SampledFrom([]float64{0, 1, 50, 2000}).Draw(t, "age"))
		if s0 < .05 { // rare events are tabulated less accurately
			return
		}
		got := make([]float64, 128)
		l.quantiles(got, l.of(law), s0, .5)
		for i, at := range got {
			u := (float64(i) + .5) / 128
			if math.IsInf(at, 1) {
				if p := 1 - law.Survival(horizon)/s0; p > u+.01 {
					t.Fatalf("%#v: level %g is never reached, but %g is", law, u, p)
				}
				continue
			}
			after, before := 1-law.Survival(at*(1+2*jumpWidth))/s0, 1-law.Survival(at*(1-2*jumpWidth))/s0
			if after < u-.01 || before > u+.01 {
				t.Fatalf("%#v: level %g at %g, where the cdf goes from %g to %g", law, u, at, before, after)
			}
		}
	})
}

// TestLongQueue proves that a queue beyond all limits still has an answer, later than that of a shorter one.
func TestLongQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	size := func() int { return 1 + rng.IntN(64) }
	s := State{Running: machine(rng, 2000, size)}
	s.Capacity = totalProcs(s.Running)
	for _, h := range machine(rng, 4000, size) {
		s.Ahead = append(s.Ahead, Ahead{h.Procs, h.Limit, h.Law})
	}
	var c Calc
	long, err := c.Forecast(&s, 64, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Ahead = s.Ahead[:2000]
	short, err := c.Forecast(&s, 64, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if long.Method != MethodFCFSQueue || short.Quantiles[2] >= long.Quantiles[2] || math.IsInf(long.Quantiles[5], 1) {
		t.Errorf("4000 ahead: %s %v; 2000 ahead: %v", long.Method, long.Quantiles, short.Quantiles)
	}
}
