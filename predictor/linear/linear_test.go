package linear

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func levels() []float64 { return []float64{.1, .5, .9} }

func must(t testing.TB, cfg Config) *Model {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// teach gives a model n outcomes of y = slope . x + (1 + x[0]/4) e. e is standard normal, x[0] is in [0, 2], and the
// other features are normal with the given scales.
func teach(m *Model, rng *rand.Rand, n int, slope, scale []float64) {
	x := make([]float64, len(slope))
	for range n {
		y := draw(rng, x, slope, scale)
		m.Learn(x, y)
	}
}

func draw(rng *rand.Rand, x, slope, scale []float64) float64 {
	y := 0.0
	for i := range x {
		x[i] = rng.NormFloat64()
		if i == 0 {
			x[i] = 2 * rng.Float64()
		}
		y += slope[i] * x[i]
		x[i] *= scale[i]
	}
	return y + (1+x[0]/scale[0]/4)*rng.NormFloat64()
}

// excess returns the relative difference between the model's pinball loss and that of the true quantiles, on fresh
// outcomes.
func excess(m *Model, rng *rand.Rand, slope, scale []float64) float64 {
	x, q := make([]float64, len(slope)), make([]float64, len(levels()))
	got, best := 0.0, 0.0
	for range 4000 {
		y := draw(rng, x, slope, scale)
		m.Predict(x, q)
		mean := 0.0
		for i := range x {
			mean += slope[i] * x[i] / scale[i]
		}
		for l, p := range levels() {
			got += pinball(p, y, q[l])
			best += pinball(p, y, mean+(1+x[0]/scale[0]/4)*distuv.UnitNormal.Quantile(p))
		}
	}
	return got/best - 1
}

func pinball(p, y, q float64) float64 { return max(p*(y-q), (p-1)*(y-q)) }

// TestFindsLinearQuantiles proves that linear quantiles are found if the data has them: within 3 % of the loss of the
// true ones after 5,000 outcomes and 15 % after 300, whatever the units of the features are.
func TestFindsLinearQuantiles(t *testing.T) {
	slope := []float64{1, -2, .5, 0, 0}
	for _, scale := range [][]float64{{1, 1, 1, 1, 1}, {1e6, 1e-6, 3600, 1e9, 1e-9}} {
		rng := rand.New(rand.NewPCG(1, 1))
		m := must(t, Config{Levels: levels(), Features: 5})
		teach(m, rng, 300, slope, scale)
		if e := excess(m, rng, slope, scale); e > .15 {
			t.Errorf("scales %g: %.3f above the true quantiles after 300", scale, e)
		}
		teach(m, rng, 4700, slope, scale)
		if e := excess(m, rng, slope, scale); e > .03 {
			t.Errorf("scales %g: %.3f above the true quantiles after 5,000", scale, e)
		}
	}
}

// TestChangeOfRegime proves that after a change of the coefficients the new ones are found.
func TestChangeOfRegime(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := must(t, Config{Levels: levels(), Features: 2})
	scale := []float64{1, 1}
	teach(m, rng, 20000, []float64{1, 2}, scale)
	changed := []float64{-1, 1}
	before := excess(m, rng, changed, scale)
	teach(m, rng, 8000, changed, scale)
	if after := excess(m, rng, changed, scale); after > .1 || before < .3 {
		t.Errorf("%.3f above the true quantiles at the change, %.3f after 8,000 outcomes", before, after)
	}
}

// TestMissingValues proves that a feature that is missing half of the time, and whose absence carries information, is
// used both when present and when absent.
func TestMissingValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	m := must(t, Config{Levels: []float64{.5}, Features: 1})
	for range 10000 {
		x := rng.NormFloat64()
		if rng.IntN(2) == 0 {
			m.Learn([]float64{math.NaN()}, 7+.1*rng.NormFloat64())
		} else {
			m.Learn([]float64{x}, x+.1*rng.NormFloat64())
		}
	}
	q := make([]float64, 1)
	for _, c := range []struct{ x, want float64 }{{math.NaN(), 7}, {math.Inf(1), 7}, {0, 0}, {1, 1}} {
		if m.Predict([]float64{c.x}, q); math.Abs(q[0]-c.want) > .25 {
			t.Errorf("at %g: %.2f, want %.2f", c.x, q[0], c.want)
		}
	}
}

// TestCoverage proves that over a stationary stream each quantile covers its level.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	m := must(t, Config{Levels: levels(), Features: 3})
	slope, scale := []float64{1, 1, 1}, []float64{1, 1, 1}
	x, q, hits := make([]float64, 3), make([]float64, 3), make([]float64, 3)
	const n = 20000
	for i := range n {
		y := draw(rng, x, slope, scale)
		if m.Predict(x, q) && i >= n/4 {
			for l := range q {
				if y <= q[l] {
					hits[l] += 1. / (n - n/4)
				}
			}
		}
		m.Learn(x, y)
	}
	for l, p := range levels() {
		if math.Abs(hits[l]-p) > .02 {
			t.Errorf("level %g covers %.3f", p, hits[l])
		}
	}
}

// TestAnyInputAndRestore proves that after any input predictions rise, are numbers and lie within the observed targets,
// and that a restored Model continues like the saved one.
func TestAnyInputAndRestore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := must(t, Config{Levels: levels(), Features: 2})
		number := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -math.MaxFloat64, math.MaxFloat64,
			1e90, 0, -3, 1e-300, 4})
		lo, hi := math.Inf(1), math.Inf(-1)
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			x, y := []float64{number.Draw(rt, "x1"), number.Draw(rt, "x2")}, number.Draw(rt, "y")
			if math.Abs(y) <= 1e100 {
				lo, hi = min(lo, y), max(hi, y)
			}
			m.Learn(x, y)
			q := make([]float64, 3)
			if ok := m.Predict(x, q); ok != (lo <= hi) || ok && !(q[0] >= lo && q[2] <= hi && slices.IsSorted(q)) {
				rt.Fatalf("%v predicts %v, %v; targets within [%g, %g]", x, q, ok, lo, hi)
			}
			if rapid.Bool().Draw(rt, "restore") {
				m = restored(rt, m)
			}
		}
	})
}

func restored(t *rapid.T, m *Model) *Model {
	var out Model
	codectest.Transfer(t, m, &out)
	return &out
}

// TestEnvelope proves that damaged saved state, and that of another version, is refused.
func TestEnvelope(t *testing.T) {
	m := must(t, Config{Levels: levels(), Features: 2})
	m.Learn([]float64{1, 2}, 3)
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	codectest.Check(t, data, func() codec.Savable { return must(t, Config{Levels: []float64{.5}}) })
}

// FuzzUnmarshal proves that damaged fields give an error or a Model that predicts numbers, and never a panic.
func FuzzUnmarshal(f *testing.F) {
	m := must(f, Config{Levels: levels(), Features: 2})
	m.Learn([]float64{1, 2}, 3)
	data, err := m.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return new(Model) }, func(t *testing.T, v codec.Savable) {
		m := v.(*Model)
		x, q := make([]float64, m.s.Config.Features), make([]float64, len(m.s.Config.Levels))
		if m.Learn(x, 1); m.Predict(x, q) && math.IsNaN(q[0]) {
			t.Fatalf("predicts %v", q)
		}
	})
}

// TestBadConfig proves that a senseless configuration is refused.
func TestBadConfig(t *testing.T) {
	for _, c := range []Config{{}, {Levels: []float64{.5, .5}}, {Levels: []float64{0}},
		{Levels: []float64{.5}, Features: -1}, {Levels: []float64{.5}, Rate: -1},
		{Levels: []float64{.5}, Window: math.NaN()}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func stepper(t testing.TB) func() {
	m := must(t, Config{Levels: []float64{.1, .25, .5, .75, .9, .95}, Features: 40})
	x, q := make([]float64, 40), make([]float64, 6)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return func() {
		x[0]++
		m.Learn(x, x[0])
		m.Predict(x, q)
	}
}

// TestHotPathDoesNotAllocate proves that the calls made for every job do not allocate.
func TestHotPathDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, stepper(t)); n != 0 {
		t.Errorf("%g allocations for each job", n)
	}
}

func BenchmarkJob(b *testing.B) {
	step := stepper(b)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}

// TestHasten proves that a hastened model reacts faster. After 20,000 outcomes the level moves by 3, and this model is
// within .5 of the new median in fewer outcomes than another one. An invalid factor changes nothing.
func TestHasten(t *testing.T) {
	needs := func(factor float64) int {
		rng := rand.New(rand.NewPCG(11, 11))
		m, err := New(Config{Levels: []float64{.5}, Features: 1, Window: 50})
		if err != nil {
			t.Fatal(err)
		}
		for range 20_000 {
			m.Learn([]float64{rng.NormFloat64()}, rng.NormFloat64())
		}
		m.Hasten(factor)
		out := make([]float64, 1)
		for i := range 5000 {
			if m.Predict([]float64{0}, out); out[0] > 2.5 {
				return i
			}
			m.Learn([]float64{rng.NormFloat64()}, 3+rng.NormFloat64())
		}
		return 5000
	}
	plain, hastened := needs(1), needs(4)
	if hastened > plain/2 {
		t.Errorf("hastened it needs %d outcomes, else %d", hastened, plain)
	}
	for _, bad := range []float64{0, .5, math.NaN(), math.Inf(1)} {
		if got := needs(bad); got != plain {
			t.Errorf("factor %v: %d outcomes, without %d", bad, got, plain)
		}
	}
}

// TestVanishingSquares proves that no step is infinite if a feature is so close to its mean that the square of the
// distance vanishes.
func TestVanishingSquares(t *testing.T) {
	m := must(t, Config{Levels: levels(), Features: 1})
	for i, x := range []float64{1e-180, 1e-180, 1e-170, 1e-165, 1e-180} {
		m.s.Seen[0], m.s.Mean[0], m.s.Var[0] = 1e6, 0, 1 // so that the standardized feature nearly equals the feature
		m.Learn([]float64{x}, float64(i%2))
	}
	for _, v := range m.s.values() {
		if slices.ContainsFunc(*v, func(x float64) bool { return !finite(x) }) {
			t.Fatalf("values %v", *v)
		}
	}
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := must(t, Config{Levels: levels(), Features: 1}).UnmarshalBinary(data); err != nil {
		t.Error(err)
	}
}
