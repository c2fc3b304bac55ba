package livemodels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

func newModels(t testing.TB, cfg Config) *Models {
	t.Helper()
	m, err := New(cfg, Site{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// lawsOf returns one law of each kind. The parameters of the hyper-Gamma law are those of the independent fit of
// KTH-SP2 in DESIGN. The uniform-log law is Downey's example (1996, section 4).
func lawsOf(t testing.TB) map[string]lifetime.Law {
	t.Helper()
	downey := uniformlog.Model{B0: -.183, B1: .104}
	kth := hypergamma.Law{First: hypergamma.Gamma{Shape: 4.90, Scale: .906},
		Second: hypergamma.Gamma{Shape: 70.4, Scale: .1276}, P: .6}
	rng := rand.New(rand.NewPCG(1, 2))
	var jobs []lifetime.Observation
	for i := range 3000 {
		seconds := math.Floor(math.Exp(9 * rng.Float64()))
		if i%4 == 0 {
			seconds = 3600 // an atom
		}
		jobs = append(jobs, lifetime.Observation{Seconds: seconds, Censored: i%9 == 1})
	}
	km, err := lifetime.FitKaplanMeier(jobs)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]lifetime.Law{
		lifetime.NameUniformLog: lifetime.UniformLog{Model: downey},
		lifetime.NameAtLimit:    lifetime.AtLimit{Model: downey, Limit: 7200},
		lifetime.NameHyperGamma: lifetime.HyperGamma{Log: kth, Short: .02}, lifetime.NameKaplanMeier: km,
	}
}

// TestDrawnLawIsTheLaw proves that the piecewise form of a law differs from the law by at most 0.005, or by at most
// 2/survivalSteps if the law itself has steps. The piecewise form never rises, and has the jumps of the law.
func TestDrawnLawIsTheLaw(t *testing.T) {
	for name, law := range lawsOf(t) {
		d := piecewise(law)
		if !sound(d) {
			t.Errorf("%s: no survival function", name)
		}
		tolerance := .005
		if name == lifetime.NameKaplanMeier {
			tolerance = 2. / survivalSteps
		}
		rapid.Check(t, func(rt *rapid.T) {
			seconds := math.Exp(rapid.Float64Range(-1, 16).Draw(rt, "ln seconds"))
			if got, want := d.Survival(seconds), law.Survival(seconds); math.Abs(got-want) > tolerance {
				rt.Errorf("%s: alive after %v s: %v, want %v", name, seconds, got, want)
			}
			if more := d.Survival(seconds * 1.01); more > d.Survival(seconds) {
				rt.Errorf("%s rises at %v s", name, seconds)
			}
		})
	}
	if d := piecewise(lawsOf(t)[lifetime.NameAtLimit]); d.Survival(7199.9) < .2 || d.Survival(7200) != 0 {
		t.Errorf("at the limit the law falls from %v to %v", d.Survival(7199.9), d.Survival(7200))
	}
	if d := piecewise(lawsOf(t)[lifetime.NameKaplanMeier]); d.Survival(3599.9)-d.Survival(3600) < .2 {
		t.Errorf("a quarter of the jobs end at 3600 s, the law falls from %v to %v", d.Survival(3599.9),
			d.Survival(3600))
	}
	if piecewise(nil) != nil {
		t.Error("a curve of no law")
	}
}

// stream draws n lifetimes from a law and passes jobs with these lifetimes to the models, one after the other.
func stream(t testing.TB, m *Models, law lifetime.Law, n int, limit time.Duration) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range n {
		start := at(float64(i) * 600)
		j := &cluster.Job{ID: "j", Seq: uint64(i), FirstQueue: "q", Order: start, Submit: start, Start: start}
		j.Queue, j.User, j.Procs, j.TimeLimit = "q", "somebody", 8, limit
		submit := job.Event{Kind: job.Submit, Time: start}
		if err := m.Learn(changes.Of(cluster.Change{Event: submit, After: j}, nil)); err != nil {
			t.Fatal(err)
		}
		end := start.Add(time.Duration(math.Floor(law.Sample(rng))) * time.Second)
		ev := job.Event{Kind: job.End, Time: end, Times: job.Times{Start: start, End: end}}
		if err := m.Learn(changes.Of(cluster.Change{Event: ev, Before: j}, nil)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBestLawIsUsed proves that forecasts use the law that the jobs of a queue follow: Downey's law, Downey's law cut
// at the time limit, or the hyper-Gamma law. The view shows the choice, and a restart keeps it.
func TestBestLawIsUsed(t *testing.T) {
	laws := lawsOf(t)
	for name, allowed := range map[string][]string{
		lifetime.NameUniformLog: {lifetime.NameUniformLog, lifetime.NameAtLimit}, // no job reaches the limit
		lifetime.NameAtLimit:    {lifetime.NameAtLimit},
		lifetime.NameHyperGamma: {lifetime.NameHyperGamma},
	} {
		limit := 2 * time.Hour
		if name != lifetime.NameAtLimit {
			limit = 1000 * time.Hour
		}
		m := newModels(t, Config{MinSamples: 30})
		stream(t, m, laws[name], 4000, limit)
		law, ok := m.View().Law("q", 8)
		if !ok {
			t.Fatalf("%s: no law", name)
		}
		found := false
		for _, a := range allowed {
			found = found || a == law.Name
		}
		c := m.View().Queue("q").Lifetimes[1].Selection
		if !found || c.Chosen != law.Name || c.Seen != 4000 {
			t.Errorf("jobs live by %s: forecasts use %s, of %+v", name, law.Name, c.Standings)
		}
		for _, seconds := range []float64{30, 600, 7000, 30_000} {
			if got, want := law.Lifetime.Survival(seconds), laws[name].Survival(seconds); math.Abs(got-want) > .04 {
				t.Errorf("%s: alive after %v s: %.3f, want %.3f", name, seconds, got, want)
			}
		}
		restored := newModels(t, m.cfg)
		data, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := restored.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		again, _ := restored.View().Law("q", 8)
		if d := cmp.Diff(law.Lifetime, again.Lifetime); d != "" || again.Name != law.Name {
			t.Errorf("%s: restored as %s: %s", name, again.Name, d)
		}
	}
}

// TestFewLifetimesHaveDowneysLaw proves that forecasts use Downey's law, and that no law has been chosen, with fewer
// than FirstChoice lifetimes.
func TestFewLifetimesHaveDowneysLaw(t *testing.T) {
	m := newModels(t, Config{MinSamples: 30})
	stream(t, m, lawsOf(t)[lifetime.NameHyperGamma], FirstChoice-1, 0)
	law, ok := m.View().Law("q", 8)
	if !ok || law.Name != lifetime.NameUniformLog || m.View().Queue("q").Lifetimes[1].Selection.Chosen != "" {
		t.Errorf("law %q of %d lifetimes", law.Name, FirstChoice-1)
	}
}

// TestEqualLifetimes proves that Downey's law cannot be fitted if all lifetimes are equal, that the Kaplan-Meier law is
// used instead, and that no answer is NaN.
func TestEqualLifetimes(t *testing.T) {
	m := newModels(t, Config{MinSamples: 30})
	// All lifetimes are 3 s, because the limit is below the shortest lifetime of the law.
	stream(t, m, lifetime.AtLimit{Model: uniformlog.Model{B0: -.183, B1: .104}, Limit: 3}, 600, 0)
	l := m.View().Queue("q").Lifetimes[1]
	if l.Err == nil || !l.Usable || l.Law.Name != lifetime.NameKaplanMeier {
		t.Errorf("law %q, usable: %v, Downey's fit: %v", l.Law.Name, l.Usable, l.Err)
	}
	if s := l.Law.Lifetime.Survival(2.9); s != 1 || l.Law.Lifetime.Survival(3) != 0 {
		t.Errorf("alive after 2.9 s: %v, after 3 s: %v", s, l.Law.Lifetime.Survival(3))
	}
}

// sound reports whether d is a survival function.
func sound(d *piecewiseSurvival) bool {
	falling := func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	}
	return len(d.X) > 0 && len(d.X) == len(d.S) && slices.IsSorted(d.X) && slices.IsSortedFunc(d.S, falling) &&
		d.S[0] <= 1 && d.S[len(d.S)-1] >= 0
}
