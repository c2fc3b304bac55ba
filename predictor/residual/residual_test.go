package residual

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/headqueue"
)

var _ headqueue.Lifetime = (*Law)(nil)

// anyModel draws a model with a random past, and a job to ask about.
func anyModel(t *rapid.T) (*Model, Job, float64) {
	m := New(Config{Runs: 8, Users: 4, Classes: 16})
	now := 0.0
	running := []int64{}
	for i := range rapid.IntRange(0, 60).Draw(t, "events") {
		now += rapid.Float64Range(0, 1e5).Draw(t, "gap")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			m.Observe(anyJob(t), now, math.Exp(rapid.Float64Range(-3, 22).Draw(t, "ln runtime")))
		case 1:
			m.Started(int64(i), anyJob(t), now)
			running = append(running, int64(i))
		case 2:
			if len(running) > 0 {
				m.Ended(running[0], now)
				running = running[1:]
			}
		default:
			m.Lost(rapid.Int64Range(0, 60).Draw(t, "lost"))
		}
	}
	return m, anyJob(t), now
}

func anyJob(t *rapid.T) Job {
	return Job{
		Queue: rapid.SampledFrom([]string{"", "short", "long"}).Draw(t, "queue"),
		User:  rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"}).Draw(t, "user"),
		App:   rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "app"),
		Procs: rapid.IntRange(-1, 64).Draw(t, "procs"),
		Limit: rapid.SampledFrom([]float64{0, -1, .5, 60, 3600, 86400, 1e9, math.Inf(1), math.NaN()}).Draw(t, "limit"),
	}
}

// TestSurvivalNeverRises proves that after any history the survival is 1 at 0, never rises, and is positive and at most
// 1.
func TestSurvivalNeverRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, j, now := anyModel(t)
		l := m.Law(j, now)
		if l.Survival(0) != 1 || l.Survival(-5) != 1 {
			t.Fatalf("survival at 0 is %v", l.Survival(0))
		}
		last, at := 1.0, 0.0
		for range 200 {
			at = at*(1+rapid.Float64Range(0, .5).Draw(t, "step")) + .3
			s := l.Survival(at)
			if !(s <= last && s > 0) {
				t.Fatalf("survival %v at %v after %v", s, at, last)
			}
			last = s
		}
	})
}

// TestResidualInvertsConditionalSurvival proves that the remaining time at an age is the inverse of the conditional
// survival. Where the survival jumps, at the limit, the inverse is the limit.
func TestResidualInvertsConditionalSurvival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, j, now := anyModel(t)
		l := m.Law(j, now)
		age := rapid.OneOf(rapid.Just(0.), rapid.Float64Range(0, 1e6), rapid.Float64Range(0, 1e10)).Draw(t, "age")
		u := rapid.Float64Range(0, .999).Draw(t, "u")
		rest := l.Residual(age, u)
		want := (1 - u) * l.Survival(age)
		got := l.Survival(age + rest)
		const near = 1e-6
		if age+rest >= l.Limit()*(1-1e-12) && age < l.Limit() && l.Survival(l.Limit()*(1-1e-9)) >= want*(1-near) &&
			l.Survival(l.Limit()) <= want*(1+near) {
			return
		}
		if age+rest <= 1 && want >= l.Survival(1.01)*(1-near) {
			return // the table begins at one second
		}
		if math.Abs(got-want) > near*want+1e-12 {
			t.Fatalf("age %v u %v: %v remain, survival %v there, want %v (limit %v)", age, u, rest, got,
				want, l.Limit())
		}
	})
}

// TestResidualIsAlwaysATime proves that no age, level or limit gives a remaining time that is negative, infinite or not
// a number, and that it never falls with the level.
func TestResidualIsAlwaysATime(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, .5, 1e-300, 1e9, 1e15, 1e300, math.MaxFloat64}
	rapid.Check(t, func(t *rapid.T) {
		m, j, now := anyModel(t)
		for _, l := range []*Law{
			m.Law(j, now), m.Law(j, math.NaN()), m.Law(j, math.Inf(1)), m.Law(j, math.Inf(-1)), New(Config{}).Law(j, 0),
		} {
			for _, age := range odd {
				for _, u := range odd {
					if r := l.Residual(age, u); !(r >= 0) || math.IsInf(r, 1) {
						t.Fatalf("age %v, u %v: %v", age, u, r)
					}
				}
				last := 0.0
				for u := 0.; u <= 1; u += 1. / 32 {
					r := l.Residual(age, u)
					if r < last {
						t.Fatalf("age %v: %v at %v after %v", age, r, u, last)
					}
					if d := l.Draw(age, l.Tail(age), u); age >= 0 && d != r {
						t.Fatalf("age %v: drawn %v, residual %v", age, d, r)
					}
					last = r
				}
			}
		}
	})
}

// TestOwnRunsRule proves that a user whose runs are all alike is recognized, whatever the other users of the queue do.
// Without runs the queue's law applies.
func TestOwnRunsRule(t *testing.T) {
	m := New(Config{})
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 3000 {
		at := float64(i) * 100
		m.Observe(Job{Queue: "q", User: fmt.Sprint(i % 50), Procs: 4}, at, math.Exp(7+1.5*rng.NormFloat64()))
		m.Observe(Job{Queue: "q", User: "steady", Procs: 4}, at, 36000*(1+.02*rng.Float64()))
	}
	own := m.Law(Job{Queue: "q", User: "steady", Procs: 4}, 3e5)
	if q := own.Quantile(.5); math.Abs(q-36000) > 3600 {
		t.Errorf("median %.0f of a user whose runs take 36,000 s", q)
	}
	if spread := own.Quantile(.75) / own.Quantile(.25); spread > 1.3 {
		t.Errorf("quartiles of runs that are all alike lie a factor %.2f apart", spread)
	}
	// Half of the queue's jobs are those of the steady user: the median of an unknown user lies between.
	stranger := m.Law(Job{Queue: "q", User: "new", Procs: 4}, 3e5)
	truth := func(t float64) float64 {
		s := .5 * math.Erfc((math.Log(t)-7)/1.5/math.Sqrt2) / 2
		if t < 36360 {
			s += .5
		}
		return s
	}
	for _, s := range []float64{60, 600, 3600, 20000, 1e5} {
		if got := stranger.Survival(s); math.Abs(got-truth(s)) > .03 {
			t.Errorf("a stranger's survival at %.0f s is %.3f, want %.3f", s, got, truth(s))
		}
	}
}

// TestLikenessTells proves that runs with the same limit, size or executable have more weight than other runs of the
// same user.
func TestLikenessTells(t *testing.T) {
	for name, kinds := range map[string][2]Job{
		"limit":      {{Procs: 4, Limit: 86400}, {Procs: 4, Limit: 172800}},
		"size":       {{Procs: 4}, {Procs: 32}},
		"executable": {{App: "long"}, {App: "brief"}},
	} {
		m := New(Config{})
		for i := range 40 {
			kind := kinds[i%2]
			kind.User = "u"
			m.Observe(kind, float64(i), []float64{40000, 100}[i%2])
		}
		for i, kind := range kinds {
			kind.User = "u"
			long := m.Law(kind, 100).Survival(2000)
			if i == 0 && long < .65 || i == 1 && long > .35 {
				t.Errorf("%s: a job like kind %d lives over 2,000 s with %.2f", name, i, long)
			}
		}
	}
}

// TestAtomAtLimit proves that jobs that were killed at their limit make an atom at the limit, in laws for the same
// limit. In laws for a longer limit they only count as living longer.
func TestAtomAtLimit(t *testing.T) {
	m := New(Config{})
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range 4000 {
		m.Observe(Job{Queue: "q", User: fmt.Sprint(i % 40), Procs: 2, Limit: 3600}, float64(i),
			math.Min(3600, 3600*rng.ExpFloat64()))
	}
	want := math.Exp(-1)
	l := m.Law(Job{Queue: "q", User: "x", Procs: 2, Limit: 3600}, 4000)
	if got := l.Survival(3599) - l.Survival(3600); math.Abs(got-want) > .05 {
		t.Errorf("%.3f end at the limit, want %.3f", got, want)
	}
	if r := l.Residual(3000, .9); math.Abs(r-600) > 1e-6 {
		t.Errorf("the .9 quantile of the rest at 3,000 s is %v, want the 600 s to the limit", r)
	}
	longer := m.Law(Job{Queue: "q", User: "3", Procs: 2, Limit: 86400}, 4000)
	if s := longer.Survival(4000); s < .15 {
		t.Errorf("with a limit of a day a user's jobs live over 4,000 s with %.3f: those killed at an hour count as "+
			"ended", s)
	}
}

// TestRunningJobsAreCensored proves that short jobs are not favored in a queue that has just begun, although most of
// the long ones have not ended. Running jobs count as censored, so the law is that of all jobs.
func TestRunningJobsAreCensored(t *testing.T) {
	m := New(Config{})
	rng := rand.New(rand.NewPCG(3, 1))
	type event struct {
		at    float64
		id    int64
		start bool
	}
	var events []event
	ended, long := 0, 0
	for i := range 4000 {
		start, life := 86400*rng.Float64(), 43200*rng.ExpFloat64()
		events = append(events, event{start, int64(i), true})
		if start+life > 86400 {
			continue
		}
		events = append(events, event{start + life, int64(i), false})
		ended++
		if life > 43200 {
			long++
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		if e.start {
			m.Started(e.id, Job{Queue: "q", User: fmt.Sprint(e.id), Procs: 2}, e.at)
		} else {
			m.Ended(e.id, e.at)
		}
	}
	got := m.Law(Job{Queue: "q", User: "new", Procs: 2}, 86400).Survival(43200)
	naive := float64(long) / float64(ended)
	if want := math.Exp(-1); math.Abs(got-want) > .04 || math.Abs(naive-want) < .1 {
		t.Errorf("survival of the mean lifetime is %.3f, want %.3f (of the ended jobs alone %.3f)", got, want, naive)
	}
}

// TestCopula proves that a copula's levels are uniform, and that the normal scores of two jobs with one factor have the
// requested correlation.
func TestCopula(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	const n = 40000
	for _, rho := range []float64{-1, 0, DefaultRho, 1, math.NaN()} {
		c := NewCopula(rho)
		var quarter int
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			shared := rng.NormFloat64()
			u, v := c.Level(shared, rng.NormFloat64()), c.Level(shared, rng.NormFloat64())
			if u < .25 {
				quarter++
			}
			a[i], b[i] = math.Erfinv(2*u-1), math.Erfinv(2*v-1)
		}
		want := rho
		if !(rho > 0) {
			want = 0
		}
		if r := stat.Correlation(a, b, nil); math.Abs(r-want) > .02 || math.Abs(float64(quarter)/n-.25) > .01 {
			t.Errorf("rho %v: correlation %.3f, %.3f of the levels below .25", rho, r, float64(quarter)/n)
		}
	}
}

// TestMemoryIsBounded proves that the stored size does not grow with the number of users, queues and limits.
func TestMemoryIsBounded(t *testing.T) {
	m := New(Config{Users: 100, Classes: 50, Runs: 10})
	for i := range 5000 {
		j := Job{Queue: fmt.Sprint("q", i%700), User: fmt.Sprint("u", i), Limit: float64(60 * (1 + i%300)),
			Procs: 1 + i%2}
		m.Started(int64(i), j, float64(i))
		m.Ended(int64(i), float64(i+60))
		m.Observe(Job{Queue: "q", User: "regular"}, float64(i), 5)
	}
	if len(m.users) > 100 || len(m.classes) > 52 || m.Running() != 0 {
		t.Errorf("%d users, %d classes and %d running jobs are kept", len(m.users), len(m.classes), m.Running())
	}
	if h := m.users[userKey{"q", "regular"}]; h == nil || len(h.runs) != 10 {
		t.Error("the user seen last was forgotten, or more runs than asked for are kept")
	}
	if m.classes[classKey{}] == nil {
		t.Error("the class of all jobs was forgotten")
	}
}

// TestOneUserPushesOutNobody proves that a user who runs jobs with different names in very many queues displaces only
// the user's own runs. Jobs of unknown users do not count as jobs of one user.
func TestOneUserPushesOutNobody(t *testing.T) {
	m := New(Config{Users: 100, QueuesOfUser: 8, Classes: 400})
	for i := range 50 {
		m.Observe(Job{Queue: fmt.Sprint("q", i), User: fmt.Sprint("quiet", i)}, float64(i), 5)
	}
	for i := range 10_000 {
		m.Observe(Job{Queue: fmt.Sprint("q", i%90), User: "flood", App: fmt.Sprint("name", i)}, float64(100+i), 60)
	}
	for i := range 20 {
		m.Observe(Job{Queue: fmt.Sprint("q", i)}, float64(20_000+i), 60)
	}
	for i := range 50 {
		if m.users[userKey{fmt.Sprint("q", i), fmt.Sprint("quiet", i)}] == nil {
			t.Errorf("the runs of user quiet%d were forgotten", i)
		}
	}
	of := map[string]int{}
	for key := range m.users {
		of[key.user]++
	}
	if of["flood"] > 8 || of[""] != 20 {
		t.Errorf("runs are kept of %d queues for the user of very many, and of %d for unknown users", of["flood"],
			of[""])
	}
	if !maps.Equal(of, m.queues) {
		t.Errorf("%v are counted, %v are there", m.queues, of)
	}
	if f := m.Forgotten(); f.HistoriesForRoom < 10_000-8 || f.HistoriesByAge != 0 {
		t.Errorf("counted as forgotten: %+v", f)
	}
}

// TestForget proves that histories and classes without a start or an end since an instant are forgotten, except those
// with a running job.
func TestForget(t *testing.T) {
	m := New(Config{})
	m.Started(1, Job{Queue: "long", User: "runs", Procs: 2, Limit: 600}, 10)
	m.Observe(Job{Queue: "old", User: "gone", Procs: 2, Limit: 600}, 10, 5)
	m.Started(2, Job{Queue: "new", User: "comes", Procs: 2, Limit: 600}, 99)
	m.Started(3, Job{Queue: "new", User: "ends", Procs: 2, Limit: 600}, 50)
	m.Ended(3, 101)
	m.Lost(2)
	witness := New(Config{})
	data, err := m.MarshalBinary()
	if err != nil || witness.UnmarshalBinary(data) != nil {
		t.Fatal("the model could not be saved and restored")
	}
	for _, of := range []*Model{m, witness} {
		of.Forget(99)
		for user, want := range map[userKey]bool{
			{"long", "runs"}: true, {"old", "gone"}: false, {"new", "comes"}: true, {"new", "ends"}: true,
		} {
			if (of.users[user] != nil) != want {
				t.Errorf("the runs of user %s are kept: %v, want %v", user.user, !want, want)
			}
		}
		for kind, key := range (Job{Queue: "old", Procs: 2, Limit: 600}).keys() {
			if kind != kindAll && of.classes[key] != nil {
				t.Errorf("class %v is kept", key)
			}
		}
		if f := of.Forgotten(); f.HistoriesByAge != 1 || f.ClassesByAge != 3 || f.HistoriesForRoom != 0 {
			t.Errorf("counted as forgotten: %+v", f)
		}
		of.Ended(1, 200)
		if h := of.users[userKey{"long", "runs"}]; h == nil || len(h.runs) != 1 {
			t.Error("the run of the job that ran on was not learnt")
		}
	}
	one, _ := m.MarshalBinary()
	other, _ := witness.MarshalBinary()
	if !bytes.Equal(one, other) {
		t.Error("a restored model forgets something else")
	}
}

// TestNoAllocation proves that neither Residual, which samplers call millions of times, nor making a law, which happens
// for every running job, allocates.
func TestNoAllocation(t *testing.T) {
	m := benchModel()
	j := Job{Queue: "q", User: "7", App: "a", Procs: 8, Limit: 7200}
	var l Law
	if n := testing.AllocsPerRun(100, func() { m.LawInto(&l, j, 1e6) }); n != 0 {
		t.Errorf("LawInto allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { _ = l.Residual(100, .3) }); n != 0 {
		t.Errorf("Residual allocates %v times", n)
	}
}
