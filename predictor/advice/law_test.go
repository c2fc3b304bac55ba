package advice_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/workload/speedup"
)

// checkLaw checks that quantiles rise, that the cdf is their inverse, and that the mean is their integral.
func checkLaw(t *rapid.T, l advice.Law) {
	p := rapid.Float64Range(.002, .998).Draw(t, "p")
	q := l.Quantile(p)
	if more := rapid.Float64Range(p, 1).Draw(t, "more"); l.Quantile(more) < q {
		t.Errorf("quantile %v at %v, %v at %v", q, p, l.Quantile(more), more)
	}
	if !math.IsInf(q, 1) {
		if c := l.CDF(q*(1+1e-9) + 1e-9); c < p-1e-6 {
			t.Errorf("cdf %v at the quantile %v of %v", c, q, p)
		}
		if c := l.CDF(q*(1-1e-6) - 1e-6); c > p+1e-6 {
			t.Errorf("cdf %v below the quantile %v of %v", c, q, p)
		}
	}
	const n = 3000
	sum, largest := 0., 0.
	for i := range n {
		largest = l.Quantile((float64(i) + .5) / n)
		sum += largest / n
	}
	// Between two neighboring middles a quantile may jump anywhere. This changes the mean by at most half a part.
	if m := l.Mean(); !math.IsInf(sum, 1) || !math.IsInf(m, 1) {
		near(t, "mean", m, sum, 3e-3*m+largest/n)
	}
}

func genSeconds() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(0, 1e6), rapid.SampledFrom([]float64{0, 0, 1, 60, math.Inf(1)}))
}

// TestLaws proves that every law has the properties of a distribution.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkLaw(t, advice.Fixed(rapid.Float64Range(0, 1e6).Draw(t, "fixed")))
		checkLaw(t, advice.LogNormal{Median: rapid.Float64Range(1, 1e6).Draw(t, "median"),
			Spread: rapid.Float64Range(0, 1.5).Draw(t, "spread")})
		seconds := rapid.SliceOfN(genSeconds(), 6, 6).Draw(t, "seconds")
		checkLaw(t, must[*advice.Samples](t)(advice.NewSamples(seconds)))
	})
}

// TestLogNormal compares the mean of a log-normal runtime with the textbook, exp(s^2/2) times the median, except for
// the cut.
func TestLogNormal(t *testing.T) {
	l := advice.LogNormal{Median: 100, Spread: .5}
	near(t, "mean", l.Mean(), 100*math.Exp(.125), .2)
	near(t, "quantile", l.Quantile(.8413447460685429), 100*math.Exp(.5), 1e-9)
	near(t, "cdf", l.CDF(100), .5, 1e-12)
}

// TestRunOf proves which law a curve's runtimes become: a certain one for a model, and a log-normal one with the
// curve's spread for a history.
func TestRunOf(t *testing.T) {
	amdahl := must[*speedup.Amdahl](t)(speedup.NewAmdahl(.1, 100))
	if l := must[advice.Law](t)(advice.RunOf(amdahl, 10)); l != advice.Fixed(19) {
		t.Errorf("Amdahl's law: %v", l)
	}
	history := must[*speedup.History](t)(speedup.NewHistory([]speedup.Point{
		{Procs: 1, Seconds: 100}, {Procs: 1, Seconds: 150}, {Procs: 4, Seconds: 30}, {Procs: 4, Seconds: 40},
	}))
	l, ok := must[advice.Law](t)(advice.RunOf(history, 2)).(advice.LogNormal)
	if want, _ := history.Runtime(2); !ok || l.Median != want || l.Spread != history.Spread(2) || l.Spread <= 0 {
		t.Errorf("history: %v", l)
	}
	var size *speedup.SizeError
	if _, err := advice.RunOf(history, 100); !errors.As(err, &size) {
		t.Errorf("a size far away: %v, want a *speedup.SizeError", err)
	}
}

// TestBadLaws proves that a sample that is no law is refused with a *LawError.
func TestBadLaws(t *testing.T) {
	for _, sample := range [][]float64{nil, {-1}, {math.NaN()}} {
		var bad *advice.LawError
		if _, err := advice.NewSamples(sample); !errors.As(err, &bad) {
			t.Errorf("%v: %v, want a *LawError", sample, err)
		}
	}
}
