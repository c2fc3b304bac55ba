package advice_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job/waittime"
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
	// The middles see every step of the quantiles to half a part.
	if m := l.Mean(); !math.IsInf(sum, 1) || !math.IsInf(m, 1) {
		near(t, "mean", m, sum, 3e-3*m+largest/n)
	}
}

func genSeconds() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(0, 1e6), rapid.SampledFrom([]float64{0, 0, 1, 60, math.Inf(1)}))
}

// Every law keeps the laws of distributions.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkLaw(t, advice.Fixed(rapid.Float64Range(0, 1e6).Draw(t, "fixed")))
		checkLaw(t, advice.LogNormal{Median: rapid.Float64Range(1, 1e6).Draw(t, "median"),
			Spread: rapid.Float64Range(0, 1.5).Draw(t, "spread")})
		seconds := rapid.SliceOfN(genSeconds(), 6, 6).Draw(t, "seconds")
		checkLaw(t, must[*advice.Samples](t)(advice.NewSamples(seconds)))
		slices.Sort(seconds)
		q := must[*advice.Quantiles](t)(advice.NewQuantiles(waittime.Levels(), seconds))
		checkLaw(t, q)
		for i, p := range waittime.Levels() {
			near(t, "quantile at a level", q.Quantile(p), seconds[i], 1e-6*(seconds[i]+60))
		}
	})
}

// Where ln(wait + 60 s) is normal, six quantiles give back the whole law: each quantile up to the cut, the cdf, and the
// mean exp(mu + s^2/2) - 60 but for what the cut takes off.
func TestQuantilesOfLogNormalWaits(t *testing.T) {
	const mu, s = 8, .8
	at := func(p float64) float64 { return math.Exp(mu+s*distuv.UnitNormal.Quantile(p)) - 60 }
	var seconds []float64
	for _, p := range waittime.Levels() {
		seconds = append(seconds, at(p))
	}
	q := must[*advice.Quantiles](t)(advice.NewQuantiles(waittime.Levels(), seconds))
	for _, p := range []float64{.002, .05, .17, .4, .6, .85, .93, .97, .998} {
		near(t, "quantile", q.Quantile(p), at(p), 1e-9*at(p))
		near(t, "cdf", q.CDF(at(p)), p, 1e-9)
	}
	near(t, "beyond the cut", q.Quantile(.99999), at(advice.Cut), 1e-6)
	near(t, "mean", q.Mean(), math.Exp(mu+s*s/2)-60, .005*math.Exp(mu))
}

// The tails, by hand. Half start at once and the rest does within an hour by level .95: above, the slope is that from
// the median to .95, not that of the last piece. Where upper levels are infinite, so is every wait above the last
// finite one.
func TestTails(t *testing.T) {
	levels := []float64{.5, .9, .95}
	q := must[*advice.Quantiles](t)(advice.NewQuantiles(levels, []float64{0, 0, 3600}))
	z := distuv.UnitNormal.Quantile
	slope := math.Log(3660./60) / z(.95)
	near(t, "above", q.Quantile(.99), 3660*math.Exp(slope*(z(.99)-z(.95)))-60, 1e-6)
	near(t, "below", q.Quantile(.01), 0, 0)
	near(t, "cdf at 0", q.CDF(0), .9, 1e-12)
	if m := q.Mean(); !(m > 3600*.05 && m < 3600) {
		t.Errorf("mean %v s", m)
	}
	never := must[*advice.Quantiles](t)(advice.NewQuantiles(levels, []float64{60, 600, math.Inf(1)}))
	if !math.IsInf(never.Quantile(.901), 1) || !math.IsInf(never.Mean(), 1) || math.IsInf(never.Quantile(.9), 1) {
		t.Errorf("quantiles %v at .9, %v above, mean %v", never.Quantile(.9), never.Quantile(.901), never.Mean())
	}
	near(t, "cdf of never", never.CDF(1e12), .9, 1e-12)
	nothing := must[*advice.Quantiles](t)(advice.NewQuantiles(levels, []float64{math.Inf(1), math.Inf(1), math.Inf(1)}))
	if !math.IsInf(nothing.Quantile(0), 1) || nothing.CDF(1e12) != 0 || !math.IsInf(nothing.Mean(), 1) {
		t.Error("a wait that never ends has a finite quantile")
	}
}

// The mean of a log-normal runtime, by the textbook: median exp(s^2/2), but for the cut.
func TestLogNormal(t *testing.T) {
	l := advice.LogNormal{Median: 100, Spread: .5}
	near(t, "mean", l.Mean(), 100*math.Exp(.125), .2)
	near(t, "quantile", l.Quantile(.8413447460685429), 100*math.Exp(.5), 1e-9)
	near(t, "cdf", l.CDF(100), .5, 1e-12)
}

// A curve's runtimes become laws: certain for a model, log-normal with the curve's spread for a history.
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

// Each list that is no law is refused with the place.
func TestBadLaws(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		levels, seconds []float64
		place           int
	}{
		{nil, nil, 0}, {[]float64{.5}, nil, 0}, {[]float64{.5, .4}, []float64{1, 2}, 2},
		{[]float64{0}, []float64{1}, 1}, {[]float64{nan}, []float64{1}, 1},
		{[]float64{.5, 1}, []float64{1, 2}, 2}, {[]float64{.5, .9}, []float64{2, 1}, 2},
		{[]float64{.5, .9}, []float64{math.Inf(1), 1}, 2}, {[]float64{.5}, []float64{-1}, 1},
		{[]float64{.5, .9}, []float64{1, nan}, 2},
	} {
		var bad *advice.LawError
		if _, err := advice.NewQuantiles(c.levels, c.seconds); !errors.As(err, &bad) || bad.Place != c.place {
			t.Errorf("%v: %v, want a *LawError at %d", c, err, c.place)
		}
	}
	for _, sample := range [][]float64{nil, {-1}, {nan}} {
		var bad *advice.LawError
		if _, err := advice.NewSamples(sample); !errors.As(err, &bad) {
			t.Errorf("%v: %v, want a *LawError", sample, err)
		}
	}
}
