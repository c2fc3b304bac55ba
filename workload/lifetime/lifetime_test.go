package lifetime_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func observe(t interface{ Fatal(args ...any) }, s *lifetime.Selector, o lifetime.Observation) {
	if err := s.Observe(o); err != nil {
		t.Fatal(err)
	}
}

func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tol)
	}
}

var (
	paragon = lifetime.UniformLog{Model: uniformlog.Model{B0: -.183, B1: .104}} // Downey 1996, Table 1
	kth     = lifetime.HyperGamma{Log: hypergamma.Law{First: hypergamma.Gamma{Shape: 4.9, Scale: .906},
		Second: hypergamma.Gamma{Shape: 70.4, Scale: .1276}, P: .6}, Short: .01}
	limited = lifetime.AtLimit{Model: paragon.Model, Limit: 4 * 3600}
)

func draw(l lifetime.Law, seed uint64, n int) []lifetime.Observation {
	rng := rand.New(rand.NewPCG(seed, 3))
	out := make([]lifetime.Observation, n)
	for i := range out {
		out[i].Seconds = math.Ceil(l.Sample(rng))
	}
	return out
}

// laws returns one law of each kind, including fitted ones.
func laws(t testing.TB) map[string]lifetime.Law {
	t.Helper()
	return map[string]lifetime.Law{
		"uniform log": paragon, "at limit": limited, "hyper-Gamma": kth,
		"Kaplan-Meier": must[*lifetime.KaplanMeier](t)(lifetime.FitKaplanMeier(draw(kth, 1, 500))),
	}
}

// TestLawsOfEveryLaw proves the properties that every law must have: survival falls from 1, the quantile is the
// shortest time that reaches p, and draws follow the survival.
func TestLawsOfEveryLaw(t *testing.T) {
	for name, l := range laws(t) {
		t.Run(name, func(t *testing.T) {
			last := 1.0
			for x := -1.0; x < 1e6; x = max(x+.5, x*1.07) {
				s := l.Survival(x)
				if !(s <= last && s >= 0) || x < 0 && s != 1 {
					t.Fatalf("survival(%v) = %v after %v", x, s, last)
				}
				last = s
			}
			for _, p := range []float64{.001, .005, .02, .25, .5, .75, .9, .999} {
				q := l.Quantile(p)
				if below := l.Survival(q * (1 - 1e-9)); l.Survival(q) > 1-p+1e-6 || below < 1-p-1e-6 {
					t.Errorf("quantile(%v) = %v: survival %v there, %v just below", p, q, l.Survival(q), below)
				}
			}
			for _, p := range []float64{-.1, 1.1, math.NaN()} {
				if q := l.Quantile(p); !math.IsNaN(q) {
					t.Errorf("quantile(%v) = %v", p, q)
				}
			}
			const n = 20_000
			rng := rand.New(rand.NewPCG(9, 9))
			above := map[float64]float64{1: 0, 30: 0, 600: 0, 14399: 0, 14400: 0}
			for range n {
				x := l.Sample(rng)
				for at := range above {
					if x > at {
						above[at] += 1. / n
					}
				}
			}
			for at, share := range above {
				near(t, "share above", share, l.Survival(at), 4.5*.5/math.Sqrt(n))
			}
		})
	}
}

// TestKaplanMeierByHand checks an estimate that was computed by hand. Of 12 jobs one ends at 1, and two end at 3,
// where one more is censored. The others end at 10 and at 20, where one continues. The survival is 11/12, then 9/12.
// At 10 there are 8 at risk, of which 4 end: 9/24. At 20 there are 4, of which 3 end. The last is censored at 30,
// where Efron's rule ends it.
func TestKaplanMeierByHand(t *testing.T) {
	var jobs []lifetime.Observation
	for _, x := range []float64{20, 3, 1, 10, 10, 3, 20, 10, 10, 20} {
		jobs = append(jobs, lifetime.Observation{Seconds: x})
	}
	jobs = append(jobs, lifetime.Observation{Seconds: 3, Censored: true},
		lifetime.Observation{Seconds: 30, Censored: true})
	k := must[*lifetime.KaplanMeier](t)(lifetime.FitKaplanMeier(jobs))
	for at, want := range map[float64]float64{
		.5: 1, 1: 11. / 12, 2.9: 11. / 12, 3: 9. / 12, 10: 9. / 24, 20: 9. / 96, 29: 9. / 96, 30: 0,
	} {
		near(t, "survival", k.Survival(at), want, 1e-12)
	}
	near(t, "median", k.Quantile(.5), 10, 0)
	near(t, "end", k.Quantile(1), 30, 0)
	if k.Times() != 5 {
		t.Errorf("%d steps", k.Times())
	}
}

// TestFitsWithRunningJobs proves that running jobs do not count as ended ones. Each fit to a sample of which a part is
// cut off at random times finds the law. If running jobs counted as ended ones, the median would be about half as long.
func TestFitsWithRunningJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for name, c := range map[string]struct {
		law lifetime.Law
		fit func([]lifetime.Observation) (lifetime.Law, error)
	}{
		"uniform log":  {paragon, lifetime.Candidates(0)[0].Fit},
		"hyper-Gamma":  {kth, lifetime.Candidates(0)[1].Fit},
		"Kaplan-Meier": {kth, lifetime.Candidates(0)[2].Fit},
	} {
		jobs := draw(c.law, 7, 20_000)
		cut := 0
		for i, j := range jobs {
			if age := paragon.Rand(rng); age < j.Seconds {
				jobs[i] = lifetime.Observation{Seconds: age, Censored: true}
				cut++
			}
		}
		l := must[lifetime.Law](t)(c.fit(jobs))
		for _, p := range []float64{.25, .5, .75} {
			if ratio := l.Quantile(p) / c.law.Quantile(p); ratio < .85 || ratio > 1.15 {
				t.Errorf("%s: quantile(%v) is %.2f of the true one, %d jobs running", name, p, ratio, cut)
			}
		}
		if cut < 5000 {
			t.Errorf("%s: only %d running", name, cut)
		}
	}
}

// TestUniformLogWithoutRunningJobs proves that without running jobs the uniform-log fit is Downey's own.
func TestUniformLogWithoutRunningJobs(t *testing.T) {
	jobs := draw(paragon, 2, 3000)
	var values []float64
	for _, j := range jobs {
		values = append(values, j.Seconds)
	}
	u := must[lifetime.UniformLog](t)(lifetime.FitUniformLog(jobs))
	if want := must[uniformlog.Fit](t)(uniformlog.FitValues(values)); u.Model != want.Model {
		t.Errorf("%+v, want %+v", u, want)
	}
}

// TestScoreIsADistribution proves that the scores of all cells of a law are the logarithms of a distribution. The
// probabilities of the cells sum to 1. The probability of a running job is the sum of the cells above its age.
func TestScoreIsADistribution(t *testing.T) {
	all := laws(t)
	all["none"] = nil
	for name, l := range all {
		sum := 0.0
		for cell := range 125 {
			sum += math.Exp(lifetime.Score(l, lifetime.Observation{Seconds: math.Exp2(float64(cell)/4) * (1 - 1e-12)}))
		}
		near(t, name+", sum", sum, 1, 1e-9)
		if s := lifetime.Score(l, lifetime.Observation{Seconds: 1e9}); s < math.Log(.01/125)-1e-9 {
			t.Errorf("%s: score %v", name, s)
		}
		if l != nil {
			near(t, name+", running", math.Exp(lifetime.Score(l, lifetime.Observation{Seconds: 600, Censored: true})),
				l.Survival(600), .01)
		}
	}
}

// TestTrueLawWins proves that on draws of each law that law is the best or within .01 of the best. (The Kaplan-Meier
// estimate is close to any law, and a law cut at its limit equals the uniform-log law if nothing is cut.)
func TestTrueLawWins(t *testing.T) {
	for name, truth := range map[string]lifetime.Law{
		lifetime.NameUniformLog: paragon, lifetime.NameHyperGamma: kth, lifetime.NameAtLimit: limited,
	} {
		standings := must[[]lifetime.Standing](t)(lifetime.Compare(draw(truth, 11, 8000), lifetime.Candidates(4*3600),
			lifetime.Options{}))
		t.Logf("%s: %+v", name, standings)
		own := standings[slices.IndexFunc(standings, func(s lifetime.Standing) bool { return s.Name == name })]
		if standings[0].Mean-own.Mean > .01 || own.Failed > 0 || own.N != 8000-64 {
			t.Errorf("%s: %+v, best %+v", name, own, standings[0])
		}
		last := standings[len(standings)-1]
		if own.Mean-last.Mean < .02 {
			t.Errorf("%s: the worst, %+v, is no worse", name, last)
		}
	}
}

// TestSelectorFollowsChange proves that a change of the stream changes the choice if old scores are forgotten, and that
// no prediction depends on later jobs.
func TestSelectorFollowsChange(t *testing.T) {
	stream := slices.Concat(draw(kth, 1, 5000), draw(limited, 2, 5000))
	s := lifetime.NewSelector(lifetime.Candidates(4*3600), lifetime.Options{Window: 1000, Refit: 200, Forget: .002})
	if _, _, ok := s.Best(); ok {
		t.Error("a law from nothing")
	}
	for i, o := range stream {
		observe(t, s, o)
		if _, name, _ := s.Best(); i == 4999 && name != lifetime.NameHyperGamma ||
			i == 9999 && name != lifetime.NameAtLimit {
			t.Errorf("after %d: %s, %+v", i+1, name, s.Standings())
		}
	}
	a := must[[]lifetime.Standing](t)(lifetime.Compare(stream[:6000], lifetime.Candidates(0), lifetime.Options{}))
	other := slices.Clone(stream)
	for i := 6000; i < len(other); i++ {
		other[i].Seconds = 1
	}
	prefix := lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{})
	for i, o := range other {
		if i == 6000 && !slices.Equal(prefix.Standings(), a) {
			t.Errorf("%+v, want %+v", prefix.Standings(), a)
		}
		observe(t, prefix, o)
	}
}

// TestSelectorBearsAnything proves that for any observations nothing panics, no score is NaN, and a candidate that
// cannot be fitted says why.
func TestSelectorBearsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, 60, 3600}), rapid.Float64Range(0, 1e7))
		s := lifetime.NewSelector(lifetime.Candidates(3600), lifetime.Options{Window: 100, Refit: 20})
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			observe(t, s,
				lifetime.Observation{Seconds: value.Draw(t, "seconds"),
					Censored: rapid.IntRange(0, 4).Draw(t, "running") == 0})
		}
		for _, x := range s.Standings() {
			if math.IsNaN(x.Mean) || x.Mean > 0 || x.Mean < -10 {
				t.Fatalf("%+v", x)
			}
		}
		if l, _, ok := s.Best(); ok {
			if q := l.Quantile(.5); math.IsNaN(q) || q < 0 {
				t.Fatalf("median %v", q)
			}
		}
	})
	same := must[[]lifetime.Standing](t)(lifetime.Compare(slices.Repeat([]lifetime.Observation{{Seconds: 60}}, 200),
		lifetime.Candidates(0), lifetime.Options{}))
	if same[0].Name != lifetime.NameKaplanMeier || same[0].Error != "" || same[1].Error == "" ||
		same[1].Failed != same[1].N {
		t.Errorf("equal lifetimes: %+v", same)
	}
}

func TestFitErrors(t *testing.T) {
	few := slices.Repeat([]lifetime.Observation{{Seconds: 5, Censored: true}}, 100)
	bad := append(draw(kth, 1, 100), lifetime.Observation{Seconds: math.NaN()})
	same := slices.Repeat([]lifetime.Observation{{Seconds: 60}}, 100)
	sameRunning := append(slices.Clone(same), lifetime.Observation{Seconds: 70, Censored: true})
	for _, c := range lifetime.Candidates(3600) {
		for what, x := range map[string]struct {
			jobs []lifetime.Observation
			want error
		}{
			"few": {few, lifetime.ErrTooFew}, "none": {nil, lifetime.ErrTooFew}, "NaN": {bad, lifetime.ErrValue},
			"same": {same, lifetime.ErrNoSpread}, "same and running": {sameRunning, lifetime.ErrNoSpread},
		} {
			if c.Name == lifetime.NameKaplanMeier && errors.Is(x.want, lifetime.ErrNoSpread) {
				continue
			}
			if l, err := c.Fit(x.jobs); !errors.Is(err, x.want) || l != nil {
				t.Errorf("%s, %s: %v, %v", c.Name, what, l, err)
			}
		}
	}
	if _, err := lifetime.Compare(bad, nil, lifetime.Options{}); !errors.Is(err, lifetime.ErrValue) {
		t.Errorf("NaN observed: %v", err)
	}
	if _, err := lifetime.FitAtLimit(same, 0); !errors.Is(err, lifetime.ErrValue) {
		t.Errorf("limit 0: %v", err)
	}
}

// TestParagonsLongQueue proves that another law than Downey's is better out of sample for Downey's long queue on the
// Paragon (R2 .74 in 1995, .73 in 1996).
func TestParagonsLongQueue(t *testing.T) {
	f, err := swf.Open(refdata.Shared(t, "traces/SDSC-Par-1996-3.1-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	classes := map[string][]lifetime.Observation{}
	var r swf.Record
	for f.Next(&r) == nil {
		queue := f.Header().QueueName(&r)
		if r.Runtime > 0 && r.Allocated > 1 && r.Partition == 2 {
			class := queue[len(queue)-1:]
			classes[class] = append(classes[class], lifetime.Observation{Seconds: float64(r.Runtime)})
		}
	}
	for _, class := range []string{"s", "m", "l"} {
		standings := must[[]lifetime.Standing](t)(lifetime.Compare(classes[class], lifetime.Candidates(0),
			lifetime.Options{}))
		t.Logf("%s, %d jobs: %+v", class, len(classes[class]), standings)
		if class == "l" && (standings[0].Name == lifetime.NameUniformLog || len(classes[class]) < 5000) {
			t.Errorf("long queue: %+v", standings)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	stream := draw(kth, 1, 1<<16)
	s := lifetime.NewSelector(lifetime.Candidates(4*3600), lifetime.Options{})
	for _, o := range stream {
		observe(b, s, o)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		observe(b, s, stream[i&(1<<16-1)])
	}
}
