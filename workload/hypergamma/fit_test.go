package hypergamma_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

// TestGammaFitSolvesTheLikelihoodEquations proves that the fit is at the maximum of a Gamma's likelihood, where both
// its derivatives are zero: mean = shape scale, and digamma(shape) + ln scale = mean of ln x.
func TestGammaFitSolvesTheLikelihoodEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := math.Exp(rapid.Float64Range(-2, 8).Draw(t, "ln shape"))
		g := distuv.Gamma{Alpha: shape, Beta: math.Exp(rapid.Float64Range(-3, 3).Draw(t, "ln rate")),
			Src: rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)}
		var x, w []float64
		for range rapid.IntRange(5, 200).Draw(t, "n") {
			x, w = append(x, max(g.Rand(), 1e-300)),
				append(w, rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t, "weight"))
		}
		fit, err := hypergamma.FitGamma(x, w)
		if err != nil {
			return // too few values with a weight
		}
		logs := 0.0
		for i, v := range x {
			logs += w[i] * math.Log(v)
		}
		mean := stat.Mean(x, w)
		a := fit.Mean()/mean - 1
		b := mathext.Digamma(fit.Shape) + math.Log(fit.Scale) - logs/stat.Mean(w, nil)/float64(len(w))
		if math.Abs(a) > 1e-12 || math.Abs(b) > 1e-9 {
			t.Fatalf("%+v: equations off by %v and %v", fit, a, b)
		}
	})
}

// TestGammaFitByHand proves that the exponential law's own quantiles give shape 1, and that weights count as
// repetitions.
func TestGammaFitByHand(t *testing.T) {
	var x []float64
	for i := range 200_000 {
		x = append(x, -3*math.Log1p(-(float64(i)+.5)/200_000))
	}
	g := must[hypergamma.Gamma](t)(hypergamma.FitGamma(x, nil))
	if math.Abs(g.Shape-1) > 1e-4 || math.Abs(g.Scale-3) > 3e-4 {
		t.Errorf("fit of the exponential law with mean 3: %+v", g)
	}
	a := must[hypergamma.Gamma](t)(hypergamma.FitGamma([]float64{1, 2, 5}, []float64{1, 2, 1}))
	b := must[hypergamma.Gamma](t)(hypergamma.FitGamma([]float64{1, 2, 2, 5}, nil))
	if math.Abs(a.Shape/b.Shape-1) > 1e-12 {
		t.Errorf("weighted %+v, repeated %+v", a, b)
	}
}

func sampleOf(l hypergamma.Law, seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 8))
	x := make([]float64, n)
	for i := range x {
		x[i] = l.Rand(rng)
	}
	return x
}

// TestEMRecoversTheLaw proves that EM finds the laws of the paper's Table 2 from 50,000 of their values, with a
// likelihood at least that of the true law.
func TestEMRecoversTheLaw(t *testing.T) {
	average, search := hypergamma.PaperRuntimes()
	for name, l := range map[string]hypergamma.Law{
		"average": average, "search": search,
		"KTH": {First: hypergamma.Gamma{Shape: 4.9, Scale: .906},
			Second: hypergamma.Gamma{Shape: 70.4, Scale: .1276}, P: .6},
		"LANL": {First: hypergamma.Gamma{Shape: 6, Scale: .66},
			Second: hypergamma.Gamma{Shape: 68.5, Scale: .13}, P: .55},
	} {
		x := sampleOf(l, 1, 50_000)
		f := must[hypergamma.Fit](t)(hypergamma.FitLaw(x))
		truth := 0.0
		for _, v := range x {
			truth += l.LogProb(v)
		}
		ratio := func(got, want float64) float64 { return math.Abs(got/want - 1) }
		if ratio(f.First.Shape, l.First.Shape) > .06 || ratio(f.Second.Shape, l.Second.Shape) > .15 ||
			math.Abs(f.P-l.P) > .02 ||
			ratio(f.First.Mean(), l.First.Mean()) > .02 || ratio(f.Second.Mean(), l.Second.Mean()) > .01 {
			t.Errorf("%s: %+v from %+v", name, f.Law, l)
		}
		// Twice the gain over the true law is chi-squared with 5 degrees of freedom, so that more than 15 is
		// improbable.
		if f.LogLikelihood < truth || f.LogLikelihood > truth+15 {
			t.Errorf("%s: log-likelihood %v, of the true law %v", name, f.LogLikelihood, truth)
		}
		if !f.Converged || f.KS > 1.36/math.Sqrt(50_000) {
			t.Errorf("%s: converged %v, D %v", name, f.Converged, f.KS)
		}
	}
}

// TestFitIsAlwaysALaw proves that any positive values give a valid law with the sample's mean (EM keeps it), without
// NaN, and with the smaller mean first.
func TestFitIsAlwaysALaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := rapid.SliceOfN(rapid.Float64Range(1e-3, 20), 1, 30).Draw(t, "pool")
		x := rapid.SliceOfN(rapid.SampledFrom(pool), hypergamma.MinSamples, 150).Draw(t, "values")
		f, err := hypergamma.FitLaw(x)
		if err != nil {
			if !errors.Is(err, hypergamma.ErrNoSpread) {
				t.Fatal(err)
			}
			return
		}
		if math.IsNaN(f.LogLikelihood) || math.IsInf(f.LogLikelihood, 0) || !(f.KS >= 0 && f.KS <= 1) ||
			f.First.Mean() > f.Second.Mean() || !(f.P >= 0 && f.P <= 1) {
			t.Fatalf("%+v", f)
		}
		if mean := stat.Mean(x, nil); math.Abs(f.Mean()/mean-1) > 1e-6 {
			t.Fatalf("mean %v, of the sample %v", f.Mean(), mean)
		}
		if q := f.Quantile(.5); !(q > 0) || math.IsInf(q, 0) {
			t.Fatalf("median %v", q)
		}
	})
}

// TestMediumMinimum proves that the split of the medium-minimum method lies between the two modes.
func TestMediumMinimum(t *testing.T) {
	// the modes are about 4 and 8
	l := hypergamma.Law{First: hypergamma.Gamma{Shape: 400, Scale: .01},
		Second: hypergamma.Gamma{Shape: 800, Scale: .01}, P: .3}
	f := must[hypergamma.Fit](t)(hypergamma.FitLaw(sampleOf(l, 3, 5000)))
	if f.Split < 4.7 || f.Split > 7 {
		t.Errorf("split at %v", f.Split)
	}
}

// TestSizeFitRecoversTheModel proves that a fit to sizes drawn from the paper's model finds this model (p2 by
// SizeFit.Rounded), and that drawn values have the model's cdf.
func TestSizeFitRecoversTheModel(t *testing.T) {
	p := hypergamma.PaperAll(128).Size
	rng := rand.New(rand.NewPCG(6, 6))
	sizes := make([]int, 100_000)
	below := map[int]float64{}
	for i := range sizes {
		sizes[i] = p.Rand(rng)
		below[sizes[i]] += 1. / float64(len(sizes))
	}
	f := must[hypergamma.SizeFit](t)(hypergamma.FitSizes(sizes, 128))
	within(t, "p1", f.Params.Serial, .24, .006)
	within(t, "p2", f.Rounded, .75, .01)
	within(t, "m", f.Params.Medium, 4.5, .15)
	within(t, "p", f.Params.Prob, .86, .02)
	if f.KS > .01 {
		t.Errorf("D %v", f.KS)
	}
	sum := 0.0
	for size := range 129 {
		sum += below[size]
		if gap := math.Abs(sum - p.CDF(size)); gap > 1.95/math.Sqrt(1e5) {
			t.Errorf("%d processors: share %v, cdf %v", size, sum, p.CDF(size))
		}
	}
}

// TestSizeFitReduces proves that with too few different jobs the model becomes simpler: all serial, one size, or few
// parallel jobs.
func TestSizeFitReduces(t *testing.T) {
	for name, sizes := range map[string][]int{
		"all serial": slices.Repeat([]int{1}, 50), "one size": slices.Repeat([]int{12}, 50),
		"few parallel": append(slices.Repeat([]int{1}, 50), 4, 7),
		"two sizes":    append(slices.Repeat([]int{16}, 50), slices.Repeat([]int{17}, 50)...),
	} {
		f := must[hypergamma.SizeFit](t)(hypergamma.FitSizes(sizes, 64))
		p := f.Params
		whole := hypergamma.ProgramAll(64)
		whole.Size = p
		if err := whole.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for rng, i := rand.New(rand.NewPCG(1, 1)), 0; i < 100; i++ {
			if n := p.Rand(rng); n < 1 || n > 64 {
				t.Errorf("%s: drawn %d", name, n)
			}
		}
	}
}

// TestWeightLineIsRecovered proves that a fit to runtimes drawn with p = -.004 s + .8 finds this line, and that groups
// never split a size.
func TestWeightLineIsRecovered(t *testing.T) {
	r := hypergamma.RuntimeParams{First: hypergamma.Gamma{Shape: 4.2, Scale: .94},
		Second: hypergamma.Gamma{Shape: 312, Scale: .03}, PA: -.004, PB: .8, MaxLog: math.Inf(1)}
	rng := rand.New(rand.NewPCG(7, 7))
	var procs []int
	var seconds []float64
	for range 100_000 {
		n := 1 + rng.IntN(128)
		if rng.IntN(3) == 0 {
			n = 1
		}
		procs, seconds = append(procs, n), append(seconds, r.Rand(rng, n))
	}
	f := must[hypergamma.RuntimeFit](t)(hypergamma.FitRuntimeModel(procs, seconds))
	within(t, "a", f.A, -.004, .0003)
	within(t, "b", f.B, .8, .015)
	if len(f.Groups) != hypergamma.Groups || f.Groups[0].From != 1 || f.Groups[0].To != 1 {
		t.Errorf("groups %+v", f.Groups)
	}
	for i, g := range f.Groups[1:] {
		if g.From != f.Groups[i].To+1 {
			t.Errorf("group %d begins at %d, the one before ends at %d", i+1, g.From, f.Groups[i].To)
		}
		if math.Abs(float64(g.N)/(100_000*2./3/7)-1) > .1 {
			t.Errorf("group %d has %d jobs, want a seventh of what the serial jobs leave", i+1, g.N)
		}
	}
	one := must[hypergamma.RuntimeFit](t)(hypergamma.FitRuntimeModel(slices.Repeat([]int{4}, len(seconds)), seconds))
	if one.A != 0 || one.B != one.P {
		t.Errorf("one size: a %v, b %v, p %v", one.A, one.B, one.P)
	}
}

// TestArrivalFitRecoversTheCycle proves that a fit to arrivals from the program's model finds its parameters, in
// particular the daily cycle, whose slots begin at 5:00.
func TestArrivalFitRecoversTheCycle(t *testing.T) {
	p := hypergamma.ProgramAll(128).Arrival
	a, rng := hypergamma.NewArrivals(p), rand.New(rand.NewPCG(5, 5))
	local := make([]float64, 300_000)
	for i := range local {
		local[i] = a.Next(rng)
	}
	f := must[hypergamma.ArrivalFit](t)(hypergamma.FitArrivals(local, hypergamma.ArrivalOptions{}))
	w := p.Weights()
	for k := range w {
		// Jobs of one day depend on each other: 0.0025 is 5 % of the largest share.
		if math.Abs(f.HalfHours[k]-w[k]/hypergamma.Slots) > .0025 {
			t.Errorf("half hour %d: share %v, weight %v", k, f.HalfHours[k], w[k]/hypergamma.Slots)
		}
	}
	mean := 0.0 // the mean of the slots' numbers, 11 to 58; the law itself reaches further and has a mean of 32.4
	for k, v := range w {
		mean += float64((k+48-10)%48+11) * v / hypergamma.Slots
	}
	within(t, "daily mean", f.Daily.Mean(), mean, .15)
	if got := f.Params(); !(got.MaxLog > 5) || math.IsInf(got.MaxLog, 0) {
		t.Errorf("cap %v", got.MaxLog)
	}
}

func TestLocalSeconds(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Stockholm")
	if err != nil {
		t.Skip("time zones missing: ", err)
	}
	const week = 7 * 86400
	for at, want := range map[time.Time]float64{
		time.Date(1996, 9, 23, 14, 0, 31, 0, zone): 14*3600 + 31, // a Monday in summer time
		time.Date(1997, 1, 5, 8, 0, 0, 0, zone):    6*86400 + 8*3600,
	} {
		if got := math.Mod(hypergamma.LocalSeconds(at), week); got != want {
			t.Errorf("%v: %v, want %v", at, got, want)
		}
	}
}

// TestKSSignificance compares with Kolmogorov's limit law at the points of every table: 1.224, 1.358 and 1.628 for
// 0.10, 0.05 and 0.01.
func TestKSSignificance(t *testing.T) {
	const n = 1e10
	for x, p := range map[float64]float64{1.2238: .10, 1.3581: .05, 1.6276: .01} {
		if got := hypergamma.KSSignificance(x/math.Sqrt(n), n); math.Abs(got-p) > 1e-4 {
			t.Errorf("%v: %v, want %v", x, got, p)
		}
	}
	if hypergamma.KSSignificance(0, 5) != 1 || hypergamma.KSSignificance(1, 1000) != 0 {
		t.Error("ends")
	}
	// Values of the law itself pass in 95 of 100 subsamples.
	l, _ := hypergamma.PaperRuntimes()
	s := must[hypergamma.Subsamples](t)(hypergamma.SubsampleTest(rand.New(rand.NewPCG(1, 1)), sampleOf(l, 9, 20_000),
		l.CDF, 700, 400))
	if s.Passed < .91 || s.Passed > .99 {
		t.Errorf("%v of the subsamples pass", s.Passed)
	}
}

// TestChiSquaredByHand checks two cases that were computed by hand. In the first, the expected numbers 2, 3, 10, 20, 4
// are joined to 5, 10, 24, because each must be at least 5. In the second, the sum of 3.841 with 1 degree of freedom
// has the significance 0.05.
func TestChiSquaredByHand(t *testing.T) {
	chi2, _, err := hypergamma.ChiSquared([]float64{1, 6, 8, 22, 3}, []float64{2, 3, 10, 20, 4})
	if want := 4./5 + 4./10 + 1./24; err != nil || math.Abs(chi2-want) > 1e-12 {
		t.Errorf("got %v (%v), want %v", chi2, err, want)
	}
	_, p, err := hypergamma.ChiSquared([]float64{50 + 9.8, 50 - 9.8}, []float64{50, 50}) // 2 * 9.8^2 / 50 = 3.8416
	if err != nil || math.Abs(p-.05) > 1e-4 {
		t.Errorf("significance %v (%v)", p, err)
	}
}

// TestFitErrors proves that an error names the kind of the bad input, and that no result is ever NaN.
func TestFitErrors(t *testing.T) {
	second := func(_ any, err error) error { return err }
	same := slices.Repeat([]float64{60}, 100)
	var spread []float64
	for i := range 100 {
		spread = append(spread, float64(2+i))
	}
	for name, c := range map[string]struct{ err, want error }{
		"one value":        {second(hypergamma.FitGamma([]float64{1}, nil)), hypergamma.ErrTooFew},
		"equal values":     {second(hypergamma.FitGamma([]float64{2, 2, 2}, nil)), hypergamma.ErrNoSpread},
		"a zero":           {second(hypergamma.FitGamma([]float64{0, 1, 2}, nil)), hypergamma.ErrValue},
		"weights":          {second(hypergamma.FitGamma([]float64{1, 2}, []float64{1})), hypergamma.ErrValue},
		"a weight":         {second(hypergamma.FitGamma([]float64{1, 2}, []float64{1, -1})), hypergamma.ErrValue},
		"few":              {second(hypergamma.FitLaw(spread[:49])), hypergamma.ErrTooFew},
		"equal runtimes":   {second(hypergamma.FitRuntimes(same)), hypergamma.ErrNoSpread},
		"all 1 s":          {second(hypergamma.FitRuntimes(slices.Repeat([]float64{1}, 100))), hypergamma.ErrTooFew},
		"negative runtime": {second(hypergamma.FitRuntimes(append(slices.Clone(spread), -1))), hypergamma.ErrValue},
		"NaN":              {second(hypergamma.FitLaw(append(slices.Clone(spread), math.NaN()))), hypergamma.ErrValue},
		"few sizes":        {second(hypergamma.FitSizes([]int{1, 2}, 4)), hypergamma.ErrTooFew},
		"no processors":    {second(hypergamma.FitSizes(make([]int, 30), 4)), hypergamma.ErrValue},
		"lengths":          {second(hypergamma.FitRuntimeModel([]int{1}, spread)), hypergamma.ErrValue},
		"work's lengths":   {second(hypergamma.FitWork([]float64{1}, spread)), hypergamma.ErrValue},
		"few arrivals": {second(hypergamma.FitArrivals(spread[:20], hypergamma.ArrivalOptions{})),
			hypergamma.ErrTooFew},
		"night arrivals": {second(hypergamma.FitArrivals(spread, hypergamma.ArrivalOptions{})), hypergamma.ErrTooFew},
		"NaN arrival": {second(hypergamma.FitArrivals([]float64{math.NaN()}, hypergamma.ArrivalOptions{})),
			hypergamma.ErrValue},
		"model's lengths": {second(hypergamma.FitModel(hypergamma.Jobs{Procs: []int{1}}, 1,
			hypergamma.ArrivalOptions{})), hypergamma.ErrValue},
		"model of nothing": {second(hypergamma.FitModel(hypergamma.Jobs{}, 1, hypergamma.ArrivalOptions{})),
			hypergamma.ErrTooFew},
		"subsample of 7": {second(hypergamma.SubsampleTest(nil, spread, math.Sqrt, 7, 1)), hypergamma.ErrTooFew},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	if _, _, err := hypergamma.ChiSquared([]float64{1, 2}, []float64{1, 2}); !errors.Is(err, hypergamma.ErrTooFew) {
		t.Errorf("chi-squared of few: %v", err)
	}
	if d := hypergamma.KS(nil, math.Sqrt); d != 0 {
		t.Errorf("KS of nothing: %v", d)
	}
}

func benchJobs(n int) hypergamma.Jobs {
	g, err := hypergamma.New(rand.New(rand.NewPCG(1, 1)), hypergamma.ProgramAll(128))
	if err != nil {
		return hypergamma.Jobs{}
	}
	var j hypergamma.Jobs
	for range n {
		x := g.Next()
		j.Procs, j.Seconds, j.Local = append(j.Procs, x.Procs), append(j.Seconds, math.Floor(x.Runtime)),
			append(j.Local, math.Floor(x.Submit))
	}
	return j
}

// BenchmarkFitModel100k fits sizes, runtimes, p(s), arrivals and total work of 100,000 jobs. All models together should
// take at most a second.
func BenchmarkFitModel100k(b *testing.B) {
	j := benchJobs(100_000)
	for b.Loop() {
		if _, err := hypergamma.FitModel(j, 128, hypergamma.ArrivalOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
