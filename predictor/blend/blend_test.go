package blend

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"pgregory.net/rapid"
)

func must(t testing.TB, cfg Config) *Blend {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pinball(p, y, q float64) float64 { return max(p*(y-q), (p-1)*(y-q)) }

// play makes n rounds of one level and returns the losses of the blend and of each expert. round returns the forecasts
// and the outcome of round i. Outcomes are learnt after a delay, whose number of rounds is late, in pairs in reverse
// order.
func play(b *Blend, p float64, n, late int, groups func(i int) []string,
	round func(i int) (x []float64, y float64)) (blend float64, expert []float64) {
	type told struct {
		x      []float64
		y      float64
		groups []string
	}
	var wait []told
	expert = make([]float64, b.Experts())
	out := make([]float64, 1)
	for i := range n {
		x, y := round(i)
		var g []string
		if groups != nil {
			g = groups(i)
		}
		b.Combine(g, x, out)
		blend += pinball(p, y, out[0])
		for k, z := range x {
			if math.IsNaN(z) {
				z = out[0]
			}
			expert[k] += pinball(p, y, z)
		}
		wait = append(wait, told{slices.Clone(x), y, g})
		for len(wait) > late+1 {
			b.Learn(wait[1].groups, wait[1].x, wait[1].y)
			b.Learn(wait[0].groups, wait[0].x, wait[0].y)
			wait = wait[2:]
		}
	}
	return blend, expert
}

// TestRegretBound compares the loss over T rounds with that of the best fixed convex combination, found by trying all
// in steps of 0.02. It proves that the loss is higher by at most 2 sqrt(V ln K) + 4 E ln K. Here V <= T E^2, and E is
// the largest linearised regret: max(p, 1-p) times the largest distance of two experts. The cases have random biases
// and noise, levels and delays, and also a best combination that is no single expert.
func TestRegretBound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom([]float64{.1, .5, .9}).Draw(rt, "p")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		bias := [2]float64{rng.NormFloat64(), rng.NormFloat64()}
		const n = 3000
		xs, ys := make([][]float64, n), make([]float64, n)
		e := 0.0
		for i := range n {
			ys[i] = rng.NormFloat64()
			xs[i] = []float64{bias[0] + .3*rng.NormFloat64(), bias[1] + .3*rng.NormFloat64()}
			e = max(e, math.Abs(xs[i][0]-xs[i][1])*max(p, 1-p))
		}
		b := must(t, Config{Levels: []float64{p}, Priors: []float64{1, 1}, Share: 1e-9, Memory: 1e9})
		got, _ := play(b, p, n, 0, nil, func(i int) ([]float64, float64) { return xs[i], ys[i] })
		best := math.Inf(1)
		for w := 0.0; w <= 1; w += .02 {
			loss := 0.0
			for i := range n {
				loss += pinball(p, ys[i], w*xs[i][0]+(1-w)*xs[i][1])
			}
			best = min(best, loss)
		}
		bound := 2*math.Sqrt(n*e*e*math.Ln2) + 4*e*math.Ln2
		if got > best+bound {
			rt.Fatalf("level %g: loss %.1f, best %.1f, bound %.1f more", p, got, best, bound)
		}
	})
}

// noisy returns the outcome and, for each expert, the outcome with an independent error.
func noisy(rng *rand.Rand, sd ...float64) ([]float64, float64) {
	y := 2 * rng.NormFloat64()
	x := make([]float64, len(sd))
	for k, s := range sd {
		x[k] = math.NaN()
		if s > 0 {
			x[k] = y + s*rng.NormFloat64()
		}
	}
	return x, y
}

// TestLateBestExpertTakesOver examines an expert that is by far the best, but gives no forecasts in the first half,
// like the trees. The expert gets nearly all weight within a few outcomes after it begins. From then on the loss is
// at most 2 % above the expert's own, with outcomes 200 rounds late.
func TestLateBestExpertTakesOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	b := must(t, Config{Levels: []float64{.5}, Priors: []float64{8, 1, 1, 1}})
	play(b, .5, 5000, 200, nil, func(int) ([]float64, float64) { return noisy(rng, 0, 1.5, 2, 3) })
	got, expert := play(b, .5, 5000, 200, nil, func(int) ([]float64, float64) { return noisy(rng, .3, 1.5, 2, 3) })
	if got > 1.02*expert[0] {
		t.Errorf("loss %.1f, the best expert's %.1f", got, expert[0])
	}
}

// TestChangeOfRegime proves that after the best expert has become bad, the second takes over, however long the first
// was best, because of fixed share.
func TestChangeOfRegime(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	b := must(t, Config{Levels: []float64{.5}, Priors: []float64{1, 1}})
	play(b, .5, 20000, 0, nil, func(int) ([]float64, float64) { return noisy(rng, .3, 2) })
	got, expert := play(b, .5, 3000, 0, nil, func(int) ([]float64, float64) { return noisy(rng, 2, .3) })
	if got > 1.3*expert[1] {
		t.Errorf("loss %.1f after the change, the better expert's %.1f, the worse one's %.1f", got,
			expert[1], expert[0])
	}
}

// TestGroups proves that if the best expert differs between groups, weights per group halve the loss of common weights.
// A new group gets the common weights.
func TestGroups(t *testing.T) {
	loss := map[bool]float64{}
	for _, grouped := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(4, 4))
		b := must(t, Config{Levels: []float64{.5}, Priors: []float64{1, 1}, MaxGroups: 2})
		names := func(i int) []string {
			if !grouped {
				return nil
			}
			return [][]string{{"a"}, {"b"}}[i%2]
		}
		loss[grouped], _ = play(b, .5, 8000, 20, names, func(i int) ([]float64, float64) {
			if i%2 == 0 {
				return noisy(rng, .2, 3)
			}
			return noisy(rng, 3, .2)
		})
		x, one, other := []float64{1, 2}, make([]float64, 1), make([]float64, 1)
		if grouped {
			b.Learn([]string{"one too many"}, x, 1)
		}
		b.Combine(nil, x, one)
		b.Combine([]string{"never seen", "one too many"}, x, other)
		if one[0] != other[0] || len(b.groups) > 2 {
			t.Errorf("unknown groups give %g, the common weights %g; %d groups", other[0], one[0], len(b.groups))
		}
	}
	if loss[true] > .5*loss[false] {
		t.Errorf("loss with groups %.1f, without %.1f", loss[true], loss[false])
	}
}

// TestGrowAndSleep proves that a new expert begins with the share that its prior has, and that an expert without
// forecasts neither gains nor loses weight.
func TestGrowAndSleep(t *testing.T) {
	b := must(t, Config{Levels: []float64{.5}, Priors: []float64{1, 1}})
	b.Learn([]string{"a"}, []float64{1, 5}, 1)
	if err := b.Grow(2); err != nil {
		t.Fatal(err)
	}
	w := make([]float64, 3)
	b.Weights(0, w)
	if math.Abs(w[2]-.5) > 1e-9 || math.Abs(w[0]+w[1]-.5) > 1e-9 {
		t.Errorf("weights %v after an expert of the others' prior joined, want .5 for it", w)
	}
	for range 100 {
		b.Learn([]string{"a"}, []float64{1, 5, math.NaN()}, 1)
	}
	b.Weights(0, w)
	if math.Abs(w[2]-.5) > 1e-6 || w[0] < .49 {
		t.Errorf("weights %v after the third slept and the first was right, want about .5, 0, .5", w)
	}
	if b.Grow(0) == nil || b.Grow(math.NaN()) == nil || b.Grow(math.Inf(1)) == nil {
		t.Error("a prior that is none is taken")
	}
}

// TestAnyInputAndRestore proves that after any input a combination rises and lies within the forecasts of the experts
// that have one. A level without an expert gives false. A restored Blend continues like the saved one.
func TestAnyInputAndRestore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := must(t, Config{Levels: []float64{.25, .5, .9}, Priors: []float64{3, 1}, Share: .01, MaxGroups: 2})
		number := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e9, 0, 4.1, 9, 20, 1e9})
		group := rapid.SampledFrom([]string{"", "a", "b", "c"})
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			x := make([]float64, 6)
			lo, hi := math.Inf(1), math.Inf(-1)
			for i := range x {
				if x[i] = number.Draw(rt, "x"); awake(x[i]) {
					lo, hi = min(lo, x[i]), max(hi, x[i])
				}
			}
			groups, out := []string{group.Draw(rt, "g"), group.Draw(rt, "h")}, make([]float64, 3)
			can := true
			for l := range 3 {
				can = can && (awake(x[2*l]) || awake(x[2*l+1]))
			}
			slack := 1e-9 * (math.Abs(lo) + math.Abs(hi))
			if ok := b.Combine(groups, x, out); ok != can ||
				ok && !(out[0] >= lo-slack && out[2] <= hi+slack && slices.IsSorted(out)) {
				rt.Fatalf("%v gives %v, %v", x, out, ok)
			}
			b.Learn(groups, x, number.Draw(rt, "y"))
			if rapid.Bool().Draw(rt, "restore") {
				b = restored(rt, b)
			}
		}
	})
}

func restored(t *rapid.T, b *Blend) *Blend {
	var out Blend
	codectest.Transfer(t, b, &out)
	x := []float64{1, 2, 3, 4, 5, 6}
	b.Learn([]string{"a"}, x, 3)
	out.Learn([]string{"a"}, x, 3)
	one, _ := b.MarshalBinary()
	two, _ := out.MarshalBinary()
	if !bytes.Equal(one, two) {
		t.Fatal("what was restored goes on otherwise")
	}
	return &out
}

// TestEnvelope proves that damaged saved state, and that of another version, is refused.
func TestEnvelope(t *testing.T) {
	data, err := learnt(t).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	codectest.Check(t, data, func() codec.Savable {
		return must(t, Config{Levels: []float64{.1}, Priors: []float64{1}})
	})
}

func learnt(t testing.TB) *Blend {
	b := must(t, Config{Levels: []float64{.5}, Priors: []float64{1, 1}})
	b.Learn([]string{"a"}, []float64{1, 2}, 1)
	return b
}

// FuzzUnmarshal proves that damaged fields give an error or a Blend that combines, and never a panic.
func FuzzUnmarshal(f *testing.F) {
	data, err := learnt(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return new(Blend) }, func(t *testing.T, v codec.Savable) {
		b := v.(*Blend)
		x, out := make([]float64, b.Experts()*len(b.cfg.Levels)), make([]float64, len(b.cfg.Levels))
		b.Learn([]string{"a"}, x, 1)
		if !b.Combine([]string{"a"}, x, out) || math.IsNaN(out[0]) {
			t.Fatalf("combines zeros to %v", out)
		}
	})
}

// TestBadConfig proves that a senseless configuration is refused.
func TestBadConfig(t *testing.T) {
	for _, c := range []Config{{}, {Levels: []float64{.5}}, {Levels: []float64{.5, .4}, Priors: []float64{1}},
		{Levels: []float64{.5}, Priors: []float64{0}}, {Levels: []float64{.5}, Priors: []float64{1}, Share: 1},
		{Levels: []float64{.5}, Priors: []float64{1}, Memory: math.NaN()}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func stepper(t testing.TB) func() {
	b := must(t, Config{Levels: []float64{.1, .25, .5, .75, .9, .95}, Priors: []float64{8, 2, 1, 1, 1, 1, 1, 1, 1, 1}})
	groups, x, out := []string{"queue 1", "size 2"}, make([]float64, 60), make([]float64, 6)
	for i := range x {
		x[i] = float64(i%10) + 4
	}
	return func() {
		b.Combine(groups, x, out)
		b.Learn(groups, x, 7)
	}
}

// TestHotPathDoesNotAllocate proves that the calls made for every job do not allocate.
func TestHotPathDoesNotAllocate(t *testing.T) {
	step := stepper(t)
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
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

// TestForget proves that after the best expert has become bad, a blend with forgetting has a lower loss in the next 300
// rounds than one without. This holds for forgetting in the common weights and in a group's. Weights stay weights, and
// an invalid part changes nothing.
func TestForget(t *testing.T) {
	after := func(name string, part float64) float64 {
		rng := rand.New(rand.NewPCG(8, 8))
		b := must(t, Config{Levels: []float64{.5}, Priors: []float64{1, 1}})
		groups := func(int) []string { return nil }
		if name != "" {
			groups = func(int) []string { return []string{name} }
		}
		play(b, .5, 20000, 0, groups, func(int) ([]float64, float64) { return noisy(rng, .3, 2) })
		b.Forget(name, part)
		b.Forget("never seen", part)
		w := make([]float64, 2)
		if b.Weights(0, w); math.Abs(w[0]+w[1]-1) > 1e-9 {
			t.Errorf("weights %v after forgetting %v", w, part)
		}
		loss, _ := play(b, .5, 300, 0, groups, func(int) ([]float64, float64) { return noisy(rng, 2, .3) })
		return loss
	}
	for _, name := range []string{"", "a"} {
		plain := after(name, 0)
		if got := after(name, .3); got > .95*plain {
			t.Errorf("group %q: loss %.1f after forgetting, else %.1f", name, got, plain)
		}
		for _, bad := range []float64{-1, 1.5, math.NaN()} {
			if got := after(name, bad); got != plain {
				t.Errorf("part %v: loss %.1f, else %.1f", bad, got, plain)
			}
		}
	}
}
