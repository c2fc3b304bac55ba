package forward_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/forward"
)

// shaky is the law of a job that runs for up to that many more seconds, uniformly distributed.
type shaky float64

func (s shaky) Residual(_, u float64) float64 { return math.Floor(float64(s) * u) }

// busy returns a pool in which all processors are in use, and all jobs have random lifetimes.
func busy() *forward.State {
	s := &forward.State{Capacity: 64, Policy: forward.EASY}
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 8 {
		s.Running = append(s.Running,
			forward.Running{Procs: 8, Age: float64(10 * i), Limit: 3600, Law: shaky(3000), Key: uint64(100 + i)})
	}
	for i := range 30 {
		limit := float64(300 * (1 + rng.IntN(12)))
		s.Waiting = append(s.Waiting,
			forward.Waiting{Procs: 1 + rng.IntN(32), Limit: limit, Law: shaky(limit), Key: uint64(200 + i)})
	}
	return s
}

// TestDeterminism proves that the same input gives the same waits, whatever the number of workers and the earlier use
// of the scratch memory, and that another seed gives other waits.
func TestDeterminism(t *testing.T) {
	s := busy()
	var used, fresh forward.Sim
	r := forward.Request{Procs: 16, Limit: 1800}
	_, err := used.Waits(large(1000, 100, 200, false), r, 3, 9, nil)
	check(t, err)
	a, err := used.Waits(s, r, 50, 1, nil)
	check(t, err)
	b, err := fresh.Waits(s, r, 50, 1, nil)
	check(t, err)
	other, err := fresh.Waits(s, r, 50, 2, nil)
	check(t, err)
	if !slices.Equal(a, b) || slices.Equal(a, other) || !slices.IsSorted(a) {
		t.Errorf("waits with one seed %v and %v, with another %v", a, b, other)
	}
	for _, workers := range []int{1, 4} {
		surface, err := forward.NewSurface(context.Background(), s,
			forward.SurfaceOptions{Replicas: 50, Seed: 1, Workers: workers})
		check(t, err)
		got, err := surface.Waits(16, 1800, nil)
		check(t, err)
		if !slices.Equal(got, a) {
			t.Errorf("the surface by %d workers gives %v, the request in the queue %v", workers, got, a)
		}
	}
}

// TestLuckBelongsToTheJob proves that a job has the same random numbers in every forecast in which it has the same key,
// whatever other jobs there are.
func TestLuckBelongsToTheJob(t *testing.T) {
	s := &forward.State{Capacity: 8, Running: []forward.Running{{Procs: 8, Law: shaky(1e6), Key: 7}}}
	var sim forward.Sim
	a, err := sim.Waits(s, forward.Request{Procs: 1}, 20, 1, nil)
	check(t, err)
	s.Running = []forward.Running{{Procs: 1, Law: sure(3), Key: 8}, {Procs: 7, Law: shaky(1e6), Key: 7}}
	b, err := sim.Waits(s, forward.Request{Procs: 8}, 20, 1, nil)
	check(t, err)
	if !slices.Equal(a, b) {
		t.Errorf("the job that is waited for ends at %v, with another key beside it at %v", a, b)
	}
}

// TestWaitsHaveTheLaw proves that waits for one job follow its residual law, by the Kolmogorov-Smirnov test at the
// level 0.001.
func TestWaitsHaveTheLaw(t *testing.T) {
	const n = 5000
	for name, s := range map[string]*forward.State{
		"alone":      {Capacity: 8, Running: []forward.Running{{Procs: 8, Law: part(1)}}},
		"in a group": {Capacity: 8, Rho: .6, Running: []forward.Running{{Procs: 8, Law: part(1), Group: 5}}},
	} {
		var sim forward.Sim
		w, err := sim.Waits(s, forward.Request{Procs: 1}, n, 3, nil)
		check(t, err)
		far := 0.
		for i, x := range w { // uniform on (0, 1)
			far = max(far, math.Abs(x-float64(i)/n), math.Abs(x-float64(i+1)/n))
		}
		if far > 1.95/math.Sqrt(n) {
			t.Errorf("%s: %v from the law", name, far)
		}
	}
}

// TestGroupsShareTheirFate proves that jobs of one group tend to end together. The median of the latest of four ends is
// therefore lower than for independent jobs.
func TestGroupsShareTheirFate(t *testing.T) {
	s := &forward.State{Capacity: 4}
	for i := range 4 {
		s.Running = append(s.Running, forward.Running{Procs: 1, Law: part(1), Group: 9, Key: uint64(i + 1)})
	}
	median := func(rho float64) float64 {
		s.Rho = rho
		var sim forward.Sim
		w, err := sim.Waits(s, forward.Request{Procs: 4}, 4000, 1, nil)
		check(t, err)
		return w[len(w)/2]
	}
	// The median of the latest of four is 2^(-1/4) if they are independent, and 1/2 if they are one.
	apart, close := median(0), median(.99)
	if math.Abs(apart-math.Pow(.5, .25)) > .02 || math.Abs(close-.5) > .1 {
		t.Errorf("median of the latest of four %v alone, %v together; want .84 and about .5", apart, close)
	}
}

// TestOrder proves that a larger request, or one with a longer limit, never waits less, and that quantiles rise with
// the level and lie among the waits.
func TestOrder(t *testing.T) {
	surface, err := forward.NewSurface(context.Background(), busy(), forward.SurfaceOptions{Replicas: 40})
	check(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 63).Draw(rt, "procs")
		limit := rapid.Float64Range(1, 1e6).Draw(rt, "limit")
		p := rapid.Float64Range(0, 1).Draw(rt, "level")
		at := func(n int, limit, p float64) float64 {
			q, err := surface.Quantile(n, limit, p)
			if err != nil || math.IsNaN(q) || q < 0 {
				rt.Fatalf("quantile %v, error %v", q, err)
			}
			return q
		}
		q := at(n, limit, p)
		if at(n+1, limit, p) < q || at(n, 2*limit, p) < q || at(n, 0, p) < q || at(n, limit, 1) < q ||
			at(n, limit, 0) > q {
			rt.Fatalf("%d processors, limit %v, level %v: %v is out of order", n, limit, p, q)
		}
	})
}

// TestPlan proves that the plan assumes that every job runs to its limit, or to the default if the limit is unknown,
// and that it equals the simulation if jobs do so.
func TestPlan(t *testing.T) {
	s := &forward.State{
		Capacity: 10, Policy: forward.EASY, DefaultLimit: 500,
		Running: []forward.Running{{Procs: 6, Age: 40, Limit: 100, Law: sure(1)}, {Procs: 4, Age: 100, Law: sure(1)}},
		Waiting: []forward.Waiting{{Procs: 8, Limit: 50, Law: sure(1)}},
	}
	var sim forward.Sim
	// 6 processors become free at 60, and the other 4 at 400, when the 8 of the job ahead start.
	for _, c := range []struct {
		procs       int
		limit, want float64
	}{
		{6, 340, 60},  // ends exactly when the job ahead starts
		{6, 341, 450}, // would end one second too late
		{2, 1000, 60}, // fits beside the job ahead
		{2, 0, 60},    // the default fits, too
		{10, 10, 450}, // after the job ahead
	} {
		got, err := sim.Plan(s, forward.Request{Procs: c.procs, Limit: c.limit})
		check(t, err)
		if got != c.want {
			t.Errorf("%d processors for %v s: plan %v, want %v", c.procs, c.limit, got, c.want)
		}
	}
	s.Running[0].Age = 100 // past its limit: one more minute is assumed
	if got, err := sim.Plan(s, forward.Request{Procs: 6, Limit: 340}); err != nil || got != 60 {
		t.Errorf("plan %v, error %v; want 60", got, err)
	}
}

// TestArrivals proves that later jobs go behind the request, except those with a better rank under a policy by
// priority, and that the surface takes them into account.
func TestArrivals(t *testing.T) {
	s := &forward.State{
		Capacity: 4, Policy: forward.PriorityEASY,
		Running: []forward.Running{{Procs: 4, Limit: 100, Law: sure(100)}},
		Arrivals: func(int, uint64) func() (forward.Arrival, bool) {
			n := 0
			return func() (forward.Arrival, bool) {
				n++
				return forward.Arrival{After: 10, Procs: 4, Limit: 50, Runtime: 50, Rank: 1}, n <= 3
			}
		},
	}
	var sim forward.Sim
	for rank, want := range map[int]float64{0: 100, 1: 100, 2: 250} {
		w, err := sim.Waits(s, forward.Request{Procs: 4, Limit: 50, Rank: rank}, 1, 0, nil)
		if got := one(t, w, err); got != want {
			t.Errorf("rank %d: wait %v, want %v", rank, got, want)
		}
		surface, err := forward.NewSurface(context.Background(), s,
			forward.SurfaceOptions{Replicas: 1, Ranked: forward.Ranked{Rank: rank}})
		check(t, err)
		w, err = surface.Waits(4, 50, nil)
		if got := one(t, w, err); got != want {
			t.Errorf("rank %d: wait %v from the surface, want %v", rank, got, want)
		}
	}
	s.Arrivals = func(int, uint64) func() (forward.Arrival, bool) {
		return func() (forward.Arrival, bool) {
			return forward.Arrival{After: 40, Procs: 4, Limit: 50, Runtime: 50}, true
		}
	}
	s.Horizon = 5000
	w, err := sim.Waits(s, forward.Request{Procs: 4, Limit: 50, Rank: 2}, 1, 0, nil)
	if got := one(t, w, err); got != 5000 {
		t.Errorf("a request that others always precede waits %v, want the horizon", got)
	}
	s.Arrivals = func(int, uint64) func() (forward.Arrival, bool) {
		return func() (forward.Arrival, bool) { return forward.Arrival{Procs: 4}, true }
	}
	if _, err := sim.Waits(s, forward.Request{Procs: 4}, 1, 0, nil); !errors.Is(err, forward.ErrBadInput) {
		t.Errorf("endless arrivals at one instant: %v, want ErrBadInput", err)
	}
}

// TestSurfaceBeforeOthers proves that a surface for a place ahead of some waiting jobs is exact under FCFS, and
// otherwise in at least nine cases of ten. Its waits are never longer than with the request in the queue.
func TestSurfaceBeforeOthers(t *testing.T) {
	w := small
	w.known = true
	var sim forward.Sim
	exact, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := w.draw(rt)
		behind := rapid.IntRange(0, len(s.Waiting)).Draw(rt, "behind")
		r := w.request(rt, &s)
		r.Behind = behind
		surface, err := forward.NewSurface(context.Background(), &s,
			forward.SurfaceOptions{Replicas: 1, Workers: 1, Behind: behind})
		check(t, err)
		got, err := surface.Waits(r.Procs, r.Limit, nil)
		want, wantErr := sim.Waits(&s, r, 1, 0, nil)
		g, x := one(rt, got, err), one(rt, want, wantErr)
		if g > x || s.Policy == forward.FCFS && g != x {
			rt.Fatalf("wait %v, with the request in the queue %v", g, x)
		}
		if all++; g == x {
			exact++
		}
	})
	if exact < all*9/10 {
		t.Errorf("%d of %d surfaces are exact, want most", exact, all)
	}
}

// TestBadInput proves that every method returns errors of the documented types for bad laws and numbers.
func TestBadInput(t *testing.T) {
	type edit func(*forward.State, *forward.Request)
	nan, inf := math.NaN(), math.Inf(1)
	var tooLarge *forward.TooLargeError
	var never *forward.NeverError
	var law *forward.LawError
	var fieldErr *forward.FieldError
	for name, c := range map[string]struct {
		edit edit
		want any
	}{
		"no capacity":    {func(s *forward.State, _ *forward.Request) { s.Capacity = 0 }, &fieldErr},
		"no such policy": {func(s *forward.State, _ *forward.Request) { s.Policy = 77 }, &fieldErr},
		"age":            {func(s *forward.State, _ *forward.Request) { s.Running[1].Age = -1 }, &fieldErr},
		"limit":          {func(s *forward.State, _ *forward.Request) { s.Waiting[1].Limit = nan }, &fieldErr},
		"size":           {func(s *forward.State, _ *forward.Request) { s.Waiting[1].Procs = 0 }, &fieldErr},
		"eligible":       {func(s *forward.State, _ *forward.Request) { s.Waiting[1].Eligible = nan }, &fieldErr},
		"outage": {func(s *forward.State, _ *forward.Request) {
			s.Outages = []forward.Outage{{From: 5, Until: 5}}
		}, &fieldErr},
		"order": {func(s *forward.State, _ *forward.Request) {
			s.Policy, s.Waiting[0].Rank = forward.PriorityEASY, 1
		}, &fieldErr},
		"rho":             {func(s *forward.State, _ *forward.Request) { s.Rho = 1 }, &fieldErr},
		"request's size":  {func(_ *forward.State, r *forward.Request) { r.Procs = -4 }, &fieldErr},
		"request's limit": {func(_ *forward.State, r *forward.Request) { r.Limit = inf }, &fieldErr},
		"too large":       {func(_ *forward.State, r *forward.Request) { r.Procs = 65 }, &tooLarge},
		"too large for what is left": {func(s *forward.State, r *forward.Request) {
			s.Outages, r.Procs = []forward.Outage{{From: -1, Until: inf, Procs: 10}}, 60
		}, &tooLarge},
		"never": {func(s *forward.State, r *forward.Request) {
			s.Outages, r.Limit = []forward.Outage{{From: 100, Until: inf, Procs: 64}}, 101
		}, &never},
		"law": {func(s *forward.State, _ *forward.Request) { s.Running[2].Law = sure(nan) }, &law},
	} {
		s, r := busy(), forward.Request{Procs: 16, Limit: 600}
		c.edit(s, &r)
		var sim forward.Sim
		_, err := sim.Waits(s, r, 4, 0, nil)
		if !errors.As(err, c.want) {
			t.Errorf("%s: Waits says %v, want a %T", name, err, c.want)
		}
		surface, err := forward.NewSurface(context.Background(), s, forward.SurfaceOptions{Replicas: 4})
		if err == nil {
			_, err = surface.Waits(r.Procs, r.Limit, nil)
			if _, q := surface.Quantile(r.Procs, r.Limit, .5); q == nil {
				t.Errorf("%s: Quantile says nothing", name)
			}
		}
		if !errors.As(err, c.want) {
			t.Errorf("%s: the surface says %v, want a %T", name, err, c.want)
		}
	}
}

// TestEdges proves special cases: an infinite lifetime counts as 100 years, a job that can never start blocks no other,
// the end of a context ends NewSurface, and invalid options, sizes and levels are refused.
func TestEdges(t *testing.T) {
	var sim forward.Sim
	s := &forward.State{Capacity: 4, Running: []forward.Running{{Procs: 4, Law: sure(math.Inf(1))}}}
	w, err := sim.Waits(s, forward.Request{Procs: 1}, 1, 0, nil)
	if got := one(t, w, err); got != 100*365*86400 {
		t.Errorf("wait for a job without an end %v, want 100 years", got)
	}
	s = &forward.State{Capacity: 4, Waiting: []forward.Waiting{{Procs: 5}, {Procs: 4, Eligible: math.Inf(1)}}}
	w, err = sim.Waits(s, forward.Request{Procs: 4}, 1, 0, nil)
	if got := one(t, w, err); got != 0 {
		t.Errorf("wait behind jobs that can never start %v, want 0", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := forward.NewSurface(ctx, busy(), forward.SurfaceOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled refresh: %v", err)
	}
	if _, err := forward.NewSurface(context.Background(), busy(), forward.SurfaceOptions{Replicas: -1}); !errors.Is(err,
		forward.ErrBadInput) {
		t.Errorf("-1 replicas: %v, want ErrBadInput", err)
	}
	surface, err := forward.NewSurface(context.Background(), busy(), forward.SurfaceOptions{Replicas: 3, Most: 10})
	check(t, err)
	if _, err := surface.Quantile(11, 60, .5); err == nil || surface.Capacity() != 10 {
		t.Errorf("a queue that takes 10 processors gives %v for 11", err)
	}
	if _, err := surface.Quantile(1, 60, math.NaN()); !errors.Is(err, forward.ErrBadInput) {
		t.Errorf("level NaN: %v, want ErrBadInput", err)
	}
	ranks := &forward.State{Policy: forward.PriorityFCFS, Waiting: []forward.Waiting{{Rank: 1}, {Rank: 1}, {Rank: 4}}}
	behind := []int{ranks.Behind(0), ranks.Behind(1), ranks.Behind(3), ranks.Behind(4)}
	if !slices.Equal(behind, []int{3, 1, 1, 0}) || !sort.IsSorted(sort.Reverse(sort.IntSlice(behind))) {
		t.Errorf("behind by rank %v, want 3, 1, 1, 0", behind)
	}
}

// TestOutageAfterAReservation proves that an outage that begins exactly at the planned end of a reserved job does not
// affect it.
func TestOutageAfterAReservation(t *testing.T) {
	s := &forward.State{
		Capacity: 6, Policy: forward.EASY,
		Running: []forward.Running{{Procs: 2, Limit: 10, Law: sure(10)}},
		Waiting: []forward.Waiting{{Procs: 5, Limit: 10, Law: sure(10)}}, // from 10 to 20, which leaves 1
		Outages: []forward.Outage{{From: 20, Until: 30, Procs: 3}},
	}
	var sim forward.Sim
	for procs, want := range map[int]float64{1: 0, 2: 20, 4: 30} {
		w, err := sim.Waits(s, forward.Request{Procs: procs, Limit: 100}, 1, 0, nil)
		if got := one(t, w, err); got != want {
			t.Errorf("%d processors: wait %v, want %v", procs, got, want)
		}
	}
}

// aging is a law whose part that depends only on the age can be computed beforehand, like that of track.Law.
type aging float64

func (a aging) Residual(age, u float64) float64 { return a.ResidualOfAged(age, a.Aged(age), u) }
func (a aging) Aged(age float64) float64        { return math.Exp(-age / float64(a)) }
func (a aging) ResidualOfAged(age, part, u float64) float64 {
	return -float64(a)*math.Log(part*(1-u)) - age
}

// whole is the law aging without that separate part.
type whole struct{ law aging }

func (w whole) Residual(age, u float64) float64 { return w.law.Residual(age, u) }

// TestAgingLawsChangeNothing proves that no wait changes if the part of a law that depends only on the age is computed
// beforehand, once for all replicas.
func TestAgingLawsChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := busy()
		s.Rho = rapid.SampledFrom([]float64{0, .3}).Draw(rt, "rho")
		group := rapid.SliceOfN(rapid.Uint64Range(0, 3), 38, 38).Draw(rt, "groups")
		plain := *s
		plain.Running, plain.Waiting = slices.Clone(s.Running), slices.Clone(s.Waiting)
		for i := range s.Running {
			law := aging(500 + 100*i)
			s.Running[i].Law, plain.Running[i].Law = law, whole{law}
			s.Running[i].Group, plain.Running[i].Group = group[i], group[i]
		}
		for i := range s.Waiting {
			s.Waiting[i].Group, plain.Waiting[i].Group = group[8+i], group[8+i]
		}
		r := forward.Request{Procs: 16, Limit: 1800}
		var sim forward.Sim
		got, err := sim.Futures(s, r, 12, 1, nil)
		check(t, err)
		want, err := new(forward.Sim).Futures(&plain, r, 12, 1, nil)
		if check(t, err); !slices.Equal(got, want) {
			rt.Fatalf("%v, of laws as a whole %v", got, want)
		}
	})
}
