package hypergamma_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

func TestGammaAgainstClosedForms(t *testing.T) {
	for _, x := range []float64{.01, .5, 1, 3, 20} {
		const scale = 2.5
		u := x / scale
		for shape, survival := range map[float64]float64{
			1: math.Exp(-u), 2: math.Exp(-u) * (1 + u), 3: math.Exp(-u) * (1 + u + u*u/2), // the Erlang laws
			.5: math.Erfc(math.Sqrt(u)),
		} {
			g := hypergamma.Gamma{Shape: shape, Scale: scale}
			if got := g.Survival(x); math.Abs(got-survival) > 1e-13 {
				t.Errorf("shape %v: survival(%v) = %v, want %v", shape, x, got, survival)
			}
			if got := g.CDF(x); math.Abs(got-(1-survival)) > 1e-13 {
				t.Errorf("shape %v: cdf(%v) = %v, want %v", shape, x, got, 1-survival)
			}
		}
	}
}

func TestEndsOfTheLaw(t *testing.T) {
	l := hypergamma.Law{First: hypergamma.Gamma{Shape: 4.2, Scale: .94},
		Second: hypergamma.Gamma{Shape: 312, Scale: .03}, P: .7}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"cdf(-1)", l.CDF(-1), 0}, {"cdf(0)", l.CDF(0), 0}, {"cdf(inf)", l.CDF(inf), 1},
		{"survival(-1)", l.Survival(-1), 1}, {"survival(inf)", l.Survival(inf), 0}, {"density(-1)", l.Prob(-1), 0},
		{"quantile(0)", l.Quantile(0), 0}, {"quantile(1)", l.Quantile(1), inf},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
	for name, got := range map[string]float64{
		"quantile(-.1)": l.Quantile(-.1), "quantile(1.1)": l.Quantile(1.1), "quantile(NaN)": l.Quantile(nan),
		"cdf(NaN)": l.CDF(nan), "survival(NaN)": l.Survival(nan),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s = %v, want NaN", name, got)
		}
	}
}

func drawLaw(t *rapid.T) hypergamma.Law {
	gamma := func(name string) hypergamma.Gamma {
		return hypergamma.Gamma{
			Shape: math.Exp(rapid.Float64Range(0, 7).Draw(t, name+" ln shape")),
			Scale: math.Exp(rapid.Float64Range(-5, 2).Draw(t, name+" ln scale")),
		}
	}
	p := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1})).Draw(t, "p")
	return hypergamma.Law{First: gamma("first"), Second: gamma("second"), P: p}
}

func TestQuantileInvertsCDFWhichNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLaw(t)
		last := 0.0
		for _, p := range []float64{1e-6, .001, .1, .25, .5, .75, .9, .999, 1 - 1e-6} {
			x := l.Quantile(p)
			if !(x >= last) {
				t.Fatalf("quantile(%v) = %v, after %v", p, x, last)
			}
			last = x
			if got := l.CDF(x); math.Abs(got-p) > 1e-8 {
				t.Fatalf("cdf(quantile(%v)) = %v", p, got)
			}
			if sum := l.CDF(x) + l.Survival(x); math.Abs(sum-1) > 1e-12 {
				t.Fatalf("cdf + survival at %v = %v", x, sum)
			}
		}
	})
}

// TestDensityIntegratesToCDFAndMean checks the laws of ln runtime of the authors' program at several sizes.
func TestDensityIntegratesToCDFAndMean(t *testing.T) {
	for name, p := range sets(128) {
		for _, procs := range []int{1, 16, 128} {
			l := p.Runtime.Law(procs)
			integral := func(f func(x float64) float64, to float64) float64 {
				sum := 0.0
				const parts = 200
				for i := range parts {
					sum += quad.Fixed(f, to*float64(i)/parts, to*float64(i+1)/parts, 10, nil, 0)
				}
				return sum
			}
			for _, x := range []float64{2, 5, 9, 10, 12} {
				if got, want := integral(l.Prob, x), l.CDF(x); math.Abs(got-want) > 1e-6 {
					t.Errorf("%s, %d processors: density to %v sums to %v, cdf is %v", name, procs, x, got, want)
				}
			}
			if got, want := integral(func(x float64) float64 { return x * l.Prob(x) }, 60),
				l.Mean(); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s, %d processors: mean by the density %v, Mean %v", name, procs, got, want)
			}
		}
	}
}

// TestDrawsFollowTheLaw bounds the Kolmogorov-Smirnov distance of 50,000 draws by 1.95/sqrt(n), which chance exceeds
// once in 1,000 times (Kolmogorov's limit law).
func TestDrawsFollowTheLaw(t *testing.T) {
	const n = 50_000
	for name, p := range sets(128) {
		for _, procs := range []int{1, 64} {
			l := p.Runtime.Law(procs)
			rng := rand.New(rand.NewPCG(5, uint64(procs)))
			x := make([]float64, n)
			for i := range x {
				x[i] = l.Rand(rng)
			}
			slices.Sort(x)
			d := 0.0
			for i, v := range x {
				f := l.CDF(v)
				d = max(d, f-float64(i)/n, float64(i+1)/n-f)
			}
			if d > 1.95/math.Sqrt(n) {
				t.Errorf("%s, %d processors: distance %v", name, procs, d)
			}
		}
	}
}

func TestWeightOfTheFirstGammaIsClamped(t *testing.T) {
	r := hypergamma.ProgramAll(128).Runtime // -.0054 s + .78
	for procs, want := range map[int]float64{1: .7746, 100: .24, 144: .0024, 145: 0, 1024: 0} {
		if got := r.Law(procs).P; math.Abs(got-want) > 1e-12 {
			t.Errorf("%d processors: p = %v, want %v", procs, got, want)
		}
	}
	r.PB = 2
	if got := r.Law(1).P; got != 1 {
		t.Errorf("p = %v, want 1", got)
	}
	// p = 0 is the second Gamma alone, contrary to the wording of the paper's section 6.3.
	if got, want := hypergamma.ProgramAll(128).Runtime.Law(1024).Mean(), 312*.03; math.Abs(got-want) > 1e-12 {
		t.Errorf("mean for 1,024 processors %v, want that of the second Gamma, %v", got, want)
	}
}
