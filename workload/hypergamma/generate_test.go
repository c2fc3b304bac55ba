package hypergamma_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/workload/hypergamma"
)

func sets(procs int) map[string]hypergamma.Params {
	return map[string]hypergamma.Params{
		"program, all": hypergamma.ProgramAll(procs), "program, batch": hypergamma.ProgramBatch(procs),
		"program, interactive": hypergamma.ProgramInteractive(procs), "paper, all": hypergamma.PaperAll(procs),
	}
}

func generator(t testing.TB, seed uint64, p ...hypergamma.Params) *hypergamma.Generator {
	t.Helper()
	g, err := hypergamma.New(rand.New(rand.NewPCG(seed, 1)), p...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestBuiltInNumbers compares with the numbers for 128 processors in the program's source and the paper's tables.
func TestBuiltInNumbers(t *testing.T) {
	for name, want := range map[string][4]float64{ // Low, Medium, High, and the share of powers of two among all jobs
		"program, all": {.8, 4.5, 7, .576}, "program, batch": {1.2, 5, 7, .6686},
		"program, interactive": {1, 3, 5.5, .625}, "paper, all": {.8, 4.5, 7, .75 * .76},
	} {
		s := sets(128)[name].Size
		for i, got := range [4]float64{s.Low, s.Medium, s.High, s.PowerOfTwo * (1 - s.Serial)} {
			if math.Abs(got-want[i]) > 1e-12 {
				t.Errorf("%s, value %d: got %v, want %v", name, i, got, want[i])
			}
		}
	}
}

func TestJobsFitEveryMachine(t *testing.T) {
	for _, procs := range []int{-1, 0, 1, 2, 3, 4, 5, 7, 16, 100, 128, 338, 1000} {
		for name, p := range sets(procs) {
			t.Run(fmt.Sprintf("%s %d", name, procs), func(t *testing.T) {
				g := generator(t, 1, p)
				last, largest := 0.0, 0
				for range 5000 {
					j := g.Next()
					if j.Submit < last || j.Procs < 1 || j.Procs > max(procs, 1) || j.Runtime < 1 ||
						math.IsNaN(j.Submit) {
						t.Fatalf("after %v: %+v", last, j)
					}
					last, largest = j.Submit, max(largest, j.Procs)
				}
				if low := int(math.Exp2(p.Size.High-.6)) - 1; largest < low {
					t.Errorf("largest of 5,000 jobs has %d processors, want at least %d", largest, low)
				}
			})
		}
	}
}

// TestSizesFollowTheTwoStageUniform compares frequencies with probabilities that follow from the model's definition,
// within 4.5 standard errors.
func TestSizesFollowTheTwoStageUniform(t *testing.T) {
	const n = 400_000
	s := hypergamma.ProgramAll(128).Size
	rng := rand.New(rand.NewPCG(3, 3))
	count := map[int]int{}
	for range n {
		count[s.Rand(rng)]++
	}
	cdf := func(x float64) float64 { // the cdf of log2 of a parallel job's size before rounding
		x = min(max(x, .8), 7)
		if x <= 4.5 {
			return .86 * (x - .8) / 3.7
		}
		return .86 + .14*(x-4.5)/2.5
	}
	for procs := 1; procs <= 128; procs++ {
		want := 0.0
		if procs == 1 {
			want = .244
		} else {
			size, x := float64(procs), math.Log2(float64(procs))
			want = (1 - .244 - .576) * (cdf(math.Log2(size+.5)) - cdf(math.Log2(size-.5)))
			if x == math.Floor(x) {
				want += .576 * (cdf(x+.5) - cdf(x-.5))
			}
		}
		got, sd := float64(count[procs])/n, math.Sqrt(want*(1-want)/n)
		if math.Abs(got-want) > 4.5*sd {
			t.Errorf("%d processors: frequency %.5f, probability %.5f +- %.5f", procs, got, want, sd)
		}
	}
}

func TestCapsAreKeptByDrawingAgain(t *testing.T) {
	p := hypergamma.ProgramAll(128)
	p.Runtime.MaxLog, p.Arrival.MaxLog = 9, 4
	g := generator(t, 4, p)
	const n = 20_000
	below, last := 0, 0.0
	for range n {
		j := g.Next()
		if j.Runtime > math.Exp(9) {
			t.Fatalf("runtime %v above the cap", j.Runtime)
		}
		if j.Runtime > math.Exp(8.999) {
			below++
		}
		last = j.Submit
	}
	if below > n/100 { // clamping would leave a fifth of the jobs at this value
		t.Errorf("%d of %d runtimes sit at the cap", below, n)
	}
	if mean := last / n; mean > math.Exp(4) {
		t.Errorf("mean interarrival %v above its cap", mean)
	}
}

func TestWeights(t *testing.T) {
	for name, p := range sets(128) {
		w := p.Arrival.Weights()
		sum, low, high := 0.0, 0, 0
		for k, v := range w {
			sum += v
			if v < w[low] {
				low = k
			}
			if v > w[high] {
				high = k
			}
		}
		// The paper's section 7.2 says that the least weight is around 5 h, and its Figure 8 that most jobs arrive
		// between 10 and 17 h.
		if math.Abs(sum-hypergamma.Slots) > 1e-9 || low < 8 || low > 12 || high < 20 || high > 34 {
			t.Errorf("%s: sum %v, least in slot %d, greatest in slot %d", name, sum, low, high)
		}
	}
	// Slot 10 (05:00) begins the day: it has number 11 in the program and 10 in the paper. Slot 9 ends the day, with
	// number 48 + 10 or 48 + 9.
	for _, c := range []struct {
		p     hypergamma.ArrivalParams
		first float64
	}{{hypergamma.ProgramAll(128).Arrival, 11}, {hypergamma.PaperAll(128).Arrival, 10}} {
		w, d := c.p.Weights(), c.p.Daily
		slot := func(x float64) float64 { return d.CDF(x+.5) - d.CDF(x-.5) }
		if got, want := w[9]/w[10], slot(c.first+47)/slot(c.first); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("first slot %v: slots 9 and 10 are as %v, want %v", c.first, got, want)
		}
	}
}

// TestArrivalsFollowTheDailyCycle compares the fraction of each half hour with its weight / 48. Arrivals of one day
// depend on each other, so the standard error comes from 24 runs.
func TestArrivalsFollowTheDailyCycle(t *testing.T) {
	const runs, n = 24, 40_000
	p := hypergamma.ProgramAll(128).Arrival
	var fractions [hypergamma.Slots]sample
	for seed := range uint64(runs) {
		a, rng := hypergamma.NewArrivals(p), rand.New(rand.NewPCG(seed, 2))
		var got [hypergamma.Slots]float64
		for range n {
			got[int(math.Mod(a.Next(rng), 86400)/hypergamma.SlotSeconds)] += 1. / n
		}
		for k := range got {
			fractions[k].add(got[k])
		}
	}
	w := p.Weights()
	for k := range w {
		want := w[k] / hypergamma.Slots
		if z := (fractions[k].mean() - want) / (fractions[k].sd() / math.Sqrt(runs)); math.Abs(z) > 4.5 {
			t.Errorf("slot %d: fraction %.5f, weight/48 %.5f, %.1f standard errors apart", k,
				fractions[k].mean(), want, z)
		}
	}
}

func TestSeedsDecideAndClassesMergeInOrder(t *testing.T) {
	both := []hypergamma.Params{hypergamma.ProgramInteractive(128), hypergamma.ProgramBatch(128)}
	a, b, other := generator(t, 7, both...), generator(t, 7, both...), generator(t, 8, both...)
	differs, last, classes := false, 0.0, [2]int{}
	for range 5000 {
		j := a.Next()
		if j != b.Next() {
			t.Fatal("the same seed gave other jobs")
		}
		differs = differs || j != other.Next()
		if j.Submit < last {
			t.Fatalf("submitted at %v after %v", j.Submit, last)
		}
		last = j.Submit
		classes[j.Class]++
	}
	if !differs || classes[0] == 0 || classes[1] == 0 {
		t.Errorf("other seed differs: %v; classes %v", differs, classes)
	}
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	for want, spoil := range map[string]func(p *hypergamma.Params){
		"serial":         func(p *hypergamma.Params) { p.Size.Serial = 1.5 },
		"power of two":   func(p *hypergamma.Params) { p.Size.PowerOfTwo = math.NaN() },
		"medium":         func(p *hypergamma.Params) { p.Size.Medium = 9 },
		"first: shape":   func(p *hypergamma.Params) { p.Runtime.First.Shape = 0 },
		"second: shape":  func(p *hypergamma.Params) { p.Runtime.Second.Scale = math.Inf(1) },
		"pa":             func(p *hypergamma.Params) { p.Runtime.PA = math.NaN() },
		"cap e^0":        func(p *hypergamma.Params) { p.Runtime.MaxLog = 0 },
		"peak":           func(p *hypergamma.Params) { p.Arrival.Peak.Scale = -1 },
		"daily: shape":   func(p *hypergamma.Params) { p.Arrival.Daily.Shape = math.NaN() },
		"outside":        func(p *hypergamma.Params) { p.Arrival.Daily = hypergamma.Gamma{Shape: 1e6, Scale: 1} },
		"ARAR":           func(p *hypergamma.Params) { p.Arrival.ARAR = 0 },
		"shift":          func(p *hypergamma.Params) { p.Arrival.Shift = 48 },
		"first slot":     func(p *hypergamma.Params) { p.Arrival.FirstSlot = 2 },
		"cap e^NaN":      func(p *hypergamma.Params) { p.Arrival.MaxLog = math.NaN() },
		"high 31":        func(p *hypergamma.Params) { p.Size.High = 31 },
		"arrival model:": func(p *hypergamma.Params) { p.Arrival.MaxLog = .5 },
	} {
		p := hypergamma.ProgramAll(128)
		spoil(&p)
		_, err := hypergamma.New(rand.New(rand.NewPCG(1, 1)), p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	if _, err := hypergamma.New(rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("a generator without parameters was made")
	}
}

func BenchmarkGenerator(b *testing.B) {
	g := generator(b, 1, hypergamma.ProgramAll(128))
	b.ReportAllocs()
	for b.Loop() {
		g.Next()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
