package coverage

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func levels() []float64 { return []float64{.5, .75, .9, .95} }

// stream adds jobs whose wait has a known law given the state at the submission: an atom at 0 of weight between .1 and
// .9, and otherwise ln(wait) is normal around a state that all jobs of some hours share. The forecast is the law's
// quantile q, with ln(q + 60 s) moved by bias. stream returns the report on these jobs.
func stream(t *testing.T, seed uint64, jobs int, bias float64) Report {
	t.Helper()
	s, err := New(Config{Levels: levels()})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	atom, mu, now := .5, 6.0, 0.0
	q := make([]float64, 4)
	for i := range jobs {
		now += rng.ExpFloat64() * 600
		if i%40 == 0 {
			atom, mu = .1+.8*rng.Float64(), 4+5*rng.Float64()
		}
		law := distuv.LogNormal{Mu: mu, Sigma: 1.2}
		for l, p := range levels() {
			q[l] = 0
			if p > atom {
				q[l] = max(0, (law.Quantile((p-atom)/(1-atom))+60)*math.Exp(bias)-60)
			}
		}
		wait := 0.0
		if rng.Float64() >= atom {
			wait = math.Ceil(law.Quantile(rng.Float64()))
		}
		if err := s.Add(now, wait, q); err != nil {
			t.Fatal(err)
		}
	}
	return s.Report()
}

// TestPerfectPassesBiasedFails proves that a perfect forecast of waits with atoms passes for every seed, and that
// forecasts half or twice as long fail.
func TestPerfectPassesBiasedFails(t *testing.T) {
	for seed := range uint64(10) {
		if r := stream(t, seed, 40000, 0); !r.Pass {
			t.Errorf("seed %d: the perfect forecast fails: all %+v, long %+v, months %.3f", seed, r.All,
				r.Long, r.Share)
		}
		for _, bias := range []float64{-math.Ln2, math.Ln2} {
			if r := stream(t, seed, 40000, bias); r.Pass {
				t.Errorf("seed %d: a forecast wrong by %+.2f in z passes", seed, bias)
			}
		}
	}
}

// TestMonthsSeeWhatTheWholeHides proves that a forecast that is right over the whole trace, but too long in one half
// and too short in the other, fails in its months.
func TestMonthsSeeWhatTheWholeHides(t *testing.T) {
	s, err := New(Config{Levels: []float64{.5}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const jobs = 20000
	for i := range jobs {
		q := []float64{3000}
		if i >= jobs/2 {
			q[0] = 7000
		}
		if err := s.Add(float64(i)*900, math.Ceil(10000*rng.Float64()), q); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Report()
	if !r.All[0].Holds() || r.Pass || r.Share > .2 {
		t.Errorf("all holds %v, pass %v, months %.2f; want true, false, about 0", r.All[0].Holds(), r.Pass, r.Share)
	}
}

// TestCoveredByHand proves that the interval follows its definition, worked out by hand with a resolution of 60 s.
func TestCoveredByHand(t *testing.T) {
	for _, c := range []struct {
		wait, q, res float64
		below, upTo  bool
	}{
		{0, 0, 60, false, true}, {0, 30, 60, false, true}, {60, 30, 60, false, true}, {60, 60, 60, false, true},
		{0, 60, 60, true, true},
		{120, 61, 60, false, true}, {120, 60, 60, false, false}, {5, 5.5, 1, false, true}, {4, 5.5, 1, true, true},
		{7, 5.5, 1, false, false},
	} {
		if below, upTo := Covered(c.wait, c.q, c.res); below != c.below || upTo != c.upTo {
			t.Errorf("wait %g, q %g, resolution %g: %v, %v; want %v, %v", c.wait, c.q, c.res, below, upTo,
				c.below, c.upTo)
		}
	}
	i := Interval{.4, .6}
	for level, want := range map[float64]float64{.5: 0, .4: 0, .7: .1, .25: -.15} {
		if got := i.Miss(level); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v misses %g by %g, want %g", i, level, got, want)
		}
	}
}

// TestBootstrapErrorOfDays proves that for independent days of one job each the bootstrap error is that of the
// binomial, sqrt(p(1-p)/n). For days of 20 equal jobs it is sqrt(20) times the error of as many independent jobs.
func TestBootstrapErrorOfDays(t *testing.T) {
	for _, perDay := range []int{1, 20} {
		s, err := New(Config{Levels: []float64{.9}, MonthSeconds: 600 * 86400, Replicates: 4000})
		if err != nil {
			t.Fatal(err)
		}
		for day := range 600 {
			wait := 200.0
			if day%2 == 0 {
				wait = 0
			}
			for range perDay {
				if err := s.Add(float64(day)*86400, wait, []float64{100}); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, want := s.Report().Months[0].Error, math.Sqrt(.25/600)
		if math.Abs(got/want-1) > .1 {
			t.Errorf("%d jobs a day: standard error %.4f, want %.4f", perDay, got, want)
		}
	}
}

// TestWhatIsJudged proves that only months with enough jobs are judged, and that the long forecasts are those with a
// median above one minute.
func TestWhatIsJudged(t *testing.T) {
	s, err := New(Config{Levels: levels(), MonthJobs: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []struct{ since, median float64 }{{0, 60}, {1, 61}, {2, 0}, {31 * 86400, 500}, {32 * 86400, 0}} {
		if err := s.Add(j.since, 0, []float64{j.median, 1000, 2000, 3000}); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Report()
	if r.All[0].N != 5 || r.Long[0].N != 2 || len(r.Months) != 4 || r.Months[0].Month != 0 {
		t.Errorf("jobs %d, long %d, pairs %d; want 5, 2, 4 of month 0", r.All[0].N, r.Long[0].N, len(r.Months))
	}
	if diff := cmp.Diff(r, s.Report()); diff != "" {
		t.Errorf("a second report differs:\n%s", diff)
	}
}

// TestBadInput proves that a value out of range is refused and not counted, and that no report has NaN.
func TestBadInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Config{Levels: []float64{.5, .9}, MonthJobs: 1, Replicates: 2})
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 59.5, 1e6})
		counted := 0
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			since, wait := value.Draw(t, "since"), value.Draw(t, "wait")
			q := []float64{value.Draw(t, "q1"), value.Draw(t, "q2")}
			good := since >= 0 && since < 1e9 && wait >= 0 && wait < 1e9 && q[0] >= 0 && q[1] >= 0
			if (s.Add(since, wait, q) == nil) != good {
				t.Fatalf("submit %g, wait %g, quantiles %v: accepted %v", since, wait, q, !good)
			}
			if good {
				counted++
			}
		}
		r := s.Report()
		if r.All[0].N != counted {
			t.Fatalf("%d jobs counted, want %d", r.All[0].N, counted)
		}
		for _, p := range append(append(r.All, r.Long...), r.Months...) {
			if v := p.Interval.Low + p.Interval.High + p.Miss + p.Error + p.Allowed; math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("not finite: %+v", p)
			}
		}
	})
	for _, c := range []Config{{}, {Levels: []float64{.5, .5}}, {Levels: []float64{1}},
		{Levels: []float64{.5}, Resolution: -1}, {Levels: []float64{.5}, MonthSeconds: 1}} {
		if _, err := New(c); err == nil {
			t.Errorf("configuration %+v is taken", c)
		}
	}
}

func BenchmarkReport(b *testing.B) {
	s, err := New(Config{Levels: levels()})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60000 {
		if err := s.Add(float64(i)*1000, rng.Float64()*1000, []float64{500, 750, 900, 950}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s.Report()
	}
}
