package boost

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// uneven draws rows of y = a step of x0, plus noise whose width grows with x1. x2 has no effect. The quantiles are
// known.
func uneven(n int, seed uint64) (columns [][]float64, y []float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	columns = [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	y = make([]float64, n)
	for i := range n {
		a, b := rng.Float64(), rng.Float64()
		columns[0][i], columns[1][i], columns[2][i] = a, b, rng.Float64()
		y[i] = step(a) + (1+4*b)*rng.ExpFloat64()
	}
	return columns, y
}

func step(a float64) float64 {
	if a > .6 {
		return 10
	}
	return 0
}

// truth returns the true quantile, at a level, of the target of a row of uneven with the features a and b.
func truth(level, a, b float64) float64 { return step(a) - (1+4*b)*math.Log(1-level) }

func row(columns [][]float64, i int) []float64 {
	out := make([]float64, len(columns))
	for f := range columns {
		out[f] = columns[f][i]
	}
	return out
}

func mustTrain(t testing.TB, columns [][]float64, y, weight []float64, level float64, p Params) *Model {
	t.Helper()
	d, err := NewData(columns, y, weight, p.Bins)
	if err != nil {
		t.Fatal(err)
	}
	m, err := new(Trainer).Train(d, level, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pinball returns the mean loss of predictions over fresh rows.
func pinball(level float64, y []float64, predict func(i int) float64) float64 {
	sum := 0.0
	for i := range y {
		d := y[i] - predict(i)
		sum += math.Max(level*d, (level-1)*d)
	}
	return sum / float64(len(y))
}

// TestFindsConditionalQuantiles proves that on fresh rows the loss is within 5 % of that of the true quantiles, far
// below that of the best constant. The share of rows below a prediction is its level, and the important features are
// found.
func TestFindsConditionalQuantiles(t *testing.T) {
	columns, y := uneven(8000, 1)
	fresh, freshY := uneven(8000, 2)
	for _, level := range []float64{.1, .5, .9, .95} {
		m := mustTrain(t, columns, y, nil, level, Params{})
		got := pinball(level, freshY, func(i int) float64 { return m.Predict(NewRow(row(fresh, i))) })
		best := pinball(level, freshY, func(i int) float64 { return truth(level, fresh[0][i], fresh[1][i]) })
		constant := pinball(level, freshY, func(int) float64 { return m.Base })
		if got > 1.05*best || got > .8*constant {
			t.Errorf("level %v: loss %.4f, of the truth %.4f, of a constant %.4f", level, got, best, constant)
		}
		below := 0
		for i, v := range freshY {
			if v <= m.Predict(NewRow(row(fresh, i))) {
				below++
			}
		}
		if share := float64(below) / float64(len(freshY)); math.Abs(share-level) > .025 {
			t.Errorf("level %v: %.3f of the rows lie below", level, share)
		}
		if imp := m.Importance(); imp[0] < 1.5*imp[2] || math.Abs(imp[0]+imp[1]+imp[2]-1) > 1e-9 {
			t.Errorf("level %v: importances %v", level, imp)
		}
	}
}

// TestStumpIsTheBestSplit proves that one tree of two leaves is the best of all splits, each of which the test tries.
func TestStumpIsTheBestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 40).Draw(t, "rows")
		level := rapid.SampledFrom([]float64{.25, .5, .9}).Draw(t, "level")
		columns := [][]float64{make([]float64, n), make([]float64, n)}
		y := make([]float64, n)
		for i := range n {
			y[i] = float64(rapid.IntRange(0, 9).Draw(t, "y"))
			for f := range columns {
				columns[f][i] = float64(rapid.IntRange(0, 6).Draw(t, "x"))
				if columns[f][i] == 6 {
					columns[f][i] = math.NaN()
				}
			}
		}
		d, err := NewData(columns, y, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		m, err := new(Trainer).Train(d, level, Params{Trees: 1, Leaves: 2, MinLeaf: 1, Rate: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, g := range m.gain {
			got += g
		}
		if want := bestGain(columns, y, level, m.Base); math.Abs(got-want) > 1e-9 {
			t.Fatalf("the split gains %v, the best %v", got, want)
		}
	})
}

// bestGain tries every feature, threshold and side for the missing values.
func bestGain(columns [][]float64, y []float64, level, base float64) float64 {
	gain := func(in func(i int) bool) float64 {
		var g, rows [3]float64 // left, right, all
		for i := range y {
			d := level
			if y[i] <= base {
				d--
			}
			side := 1
			if in(i) {
				side = 0
			}
			g[side] += d
			rows[side]++
			g[2] += d
			rows[2]++
		}
		if rows[0] == 0 || rows[1] == 0 {
			return 0
		}
		return g[0]*g[0]/rows[0] + g[1]*g[1]/rows[1] - g[2]*g[2]/rows[2]
	}
	best := 0.0
	for _, column := range columns {
		for _, threshold := range append(slices.Clone(column), math.Inf(1)) {
			for _, missingLeft := range []bool{false, true} {
				best = math.Max(best, gain(func(i int) bool {
					return column[i] <= threshold || math.IsNaN(column[i]) && missingLeft
				}))
			}
		}
	}
	return best
}

// TestQuantile proves that the quantile by partitioning equals the one by sorting.
func TestQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.SliceOfN(rapid.Float64Range(-9, 9), 1, 60).Draw(t, "y")
		if rapid.Bool().Draw(t, "ties") {
			for i := range y {
				y[i] = math.Round(y[i] / 3)
			}
		}
		level := rapid.SampledFrom([]float64{.01, .25, .5, .9, .99}).Draw(t, "level")
		d, err := NewData(nil, y, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := begun(d, level, Params{}).base()
		sorted := slices.Sorted(slices.Values(y))
		if want := sorted[int(math.Ceil(level*float64(len(y))))-1]; got != want {
			t.Fatalf("the %v quantile of %v is %v, want %v", level, sorted, got, want)
		}
	})
}

// TestMissingValues proves that the model learns from the fact that a value is missing.
func TestMissingValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	columns, y := [][]float64{make([]float64, 2000)}, make([]float64, 2000)
	for i := range y {
		columns[0][i], y[i] = rng.Float64(), rng.Float64()
		if rng.IntN(3) == 0 {
			columns[0][i], y[i] = math.NaN(), 100+rng.Float64()
		}
	}
	m := mustTrain(t, columns, y, nil, .5, Params{Trees: 300})
	none, some := m.Predict(NewRow([]float64{math.NaN()})), m.Predict(NewRow([]float64{.5}))
	if math.Abs(none-100.5) > .3 ||
		math.Abs(some-.5) > .3 {
		t.Errorf("medians %v without the value and %v with it, want 100.5 and .5", none, some)
	}
}

// TestFocus uses 40 features of which one affects the target, so that nearly all gain comes from splits by it. Of 300
// trees that draw a tenth of the features, about 30 draw this feature. With a focus of 0.8 its probability is above
// 0.9 once a tree has split by it. The others are still drawn: 0.1 (1 - 0.8) of 40 features is about one per tree.
func TestFocus(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	columns, y := make([][]float64, 40), make([]float64, 2000)
	for i := range y {
		for f := range columns {
			columns[f] = append(columns[f], rng.Float64())
		}
		y[i] = 10 * columns[7][i]
	}
	split := func(focus float64) (by int, others map[int]bool) {
		others = map[int]bool{}
		m := mustTrain(t, columns, y, nil, .5, Params{Trees: 300, Rate: .01, FeatureShare: .1, Focus: focus})
		for _, tree := range m.trees.trees() {
			uses := false
			for _, n := range tree.nodes {
				if n.leaf() {
					continue
				}
				if uses = uses || n.feature() == 7; n.feature() != 7 {
					others[n.feature()] = true
				}
			}
			by += one(uses)
		}
		return by, others
	}
	if n, _ := split(0); n < 15 || n > 50 { // the mean is 30, the deviation 5
		t.Errorf("%d of 300 trees split by the feature that tells all, want about a tenth", n)
	}
	if n, others := split(.8); n < 200 || len(others) < 30 {
		t.Errorf("%d of 300 trees split by the feature that tells all, and others by %d of the 39 that tell nothing; "+
			"want most trees, and most features", n, len(others))
	}
}

// TestWeights proves that a row counts by its weight. The base is the quantile of the weights. Of two kinds of rows
// with the same features the heavier kind is learnt at the median: the rows of weight 1, although three times as many
// rows have another target and a quarter of the weight. If the heavier kind has only 0.4 of the weight, the other kind
// is learnt.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for other, want := range map[float64]float64{.25: 1, .4: 0} {
		columns, y, weight := [][]float64{nil}, []float64{}, []float64{}
		for i := range 8000 {
			side := float64(rng.IntN(2)) // the feature, which moves all targets by 10
			target, w := 0.0, other
			if i%4 == 0 {
				target, w = 1, 1
			}
			columns[0], y, weight = append(columns[0], side), append(y, target+10*side), append(weight, w)
		}
		m := mustTrain(t, columns, y, weight, .5, Params{Trees: 300, RowShare: .8})
		for side := range 2 {
			if got := m.Predict(NewRow([]float64{float64(side)})); math.Abs(got-want-10*float64(side)) > .2 {
				t.Errorf("weight %v, side %d: %v, want %v", other, side, got, want+10*float64(side))
			}
		}
	}
	m := mustTrain(t, nil, []float64{1, 2, 3}, []float64{.2, .3, .6}, .5, Params{})
	if m.Base != 3 {
		t.Errorf("the median of 1, 2 and 3 with the weights .2, .3 and .6 is %v, want 3", m.Base)
	}
}

// TestTrainingLossFalls proves that more trees never fit the training rows worse, and that the prediction is within the
// targets.
func TestTrainingLossFalls(t *testing.T) {
	columns, y := uneven(1500, 5)
	last := math.Inf(1)
	for _, trees := range []int{1, 10, 50, 150} {
		m := mustTrain(t, columns, y, nil, .8, Params{Trees: trees})
		loss := pinball(.8, y, func(i int) float64 { return m.Predict(NewRow(row(columns, i))) })
		if loss > last {
			t.Errorf("%d trees: loss %v after %v", trees, loss, last)
		}
		last = loss
	}
}

// TestCodec proves that the same data give the same bytes, that a saved model predicts as before, and that damaged
// bytes are refused or harmless.
func TestCodec(t *testing.T) {
	columns, y := uneven(1000, 6)
	columns[1][7] = math.NaN()
	m := mustTrain(t, columns, y, nil, .9, Params{Trees: 30})
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	same, err := mustTrain(t, columns, y, nil, .9, Params{Trees: 30}).MarshalBinary()
	if err != nil || string(same) != string(data) {
		t.Errorf("trained again it is different, %v", err)
	}
	var back Model
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, &back, cmp.AllowUnexported(Model{}, forest{}, node{}), cmpopts.EquateNaNs()); d != "" {
		t.Errorf("read back (-want +got): %s", d)
	}
	codectest.Check(t, data, func() codec.Savable { return new(Model) })
}

// FuzzUnmarshal proves that no bytes make a model that fails.
func FuzzUnmarshal(f *testing.F) {
	columns, y := uneven(200, 7)
	data, err := mustTrain(f, columns, y, nil, .5, Params{Trees: 3, Leaves: 3}).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return new(Model) }, func(_ *testing.T, v codec.Savable) {
		m := v.(*Model)
		m.Predict(NewRow(make([]float64, m.Features)))
		m.Importance()
	})
}

// TestRefusals proves that data that cannot be trained on is refused with the reason.
func TestRefusals(t *testing.T) {
	good := [][]float64{{1, 2}}
	for name, err := range map[string]error{
		"no rows":       second(NewData(good, nil, nil, 0)),
		"short column":  second(NewData([][]float64{{1}}, []float64{1, 2}, nil, 0)),
		"target NaN":    second(NewData(good, []float64{1, math.NaN()}, nil, 0)),
		"weights":       second(NewData(good, []float64{1, 2}, []float64{1}, 0)),
		"weight of 0":   second(NewData(good, []float64{1, 2}, []float64{1, 0}, 0)),
		"weight over 1": second(NewData(good, []float64{1, 2}, []float64{1, 1.5}, 0)),
		"level 0":       trainError(good, 0, Params{}),
		"level 1":       trainError(good, 1, Params{}),
		"rate":          trainError(good, .5, Params{Rate: 2}),
		"focus":         trainError(good, .5, Params{Focus: 1}),
		"no focus":      trainError(good, .5, Params{Focus: -.1}),
		"one leaf":      trainError(good, .5, Params{Leaves: 1}),
		"too many bins": trainError(good, .5, Params{Bins: 300}),
	} {
		if err == nil || err.Error() == "" {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := new(Trainer).Train(nil, .5, Params{}); !errors.Is(err, ErrNoRows) {
		t.Errorf("without data: %v", err)
	}
	m := mustTrain(t, nil, []float64{1, 2, 3}, nil, .5, Params{})
	if got := m.Predict(nil); got != 2 || m.Trees() != 0 {
		t.Errorf("without features %v by %d trees, want the median 2 by none", got, m.Trees())
	}
}

func second(_ *Data, err error) error { return err }

func trainError(columns [][]float64, level float64, p Params) error {
	d, err := NewData(columns, []float64{1, 2}, nil, 0)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	_, err = new(Trainer).Train(d, level, p)
	return err
}

// year draws as many rows and features as a year of a small cluster has.
func year() (columns [][]float64, y []float64) {
	rng := rand.New(rand.NewPCG(8, 8))
	columns, y = make([][]float64, 40), make([]float64, 60_000)
	for f := range columns {
		columns[f] = make([]float64, len(y))
		for i := range y {
			columns[f][i] = rng.NormFloat64()
			y[i] += columns[f][i] / float64(f+1)
		}
	}
	return columns, y
}

// BenchmarkTrain trains 200 trees of 20 leaves on 60,000 rows of 40 features, the budget of one training: 2 s. It uses
// all rows and features, and half of both for each tree.
func BenchmarkTrain(b *testing.B) {
	columns, y := year()
	d, err := NewData(columns, y, nil, 0)
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]Params{"all": {}, "half": {RowShare: .5, FeatureShare: .5, MinLeaf: 50}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			trees := 0
			for b.Loop() {
				m, err := new(Trainer).Train(d, .5, p)
				if err != nil {
					b.Fatal(err)
				}
				trees = m.Trees()
			}
			b.ReportMetric(float64(trees), "trees")
			b.ReportMetric(float64(len(y))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkLevels cuts the same columns, made one by one, and trains a few trees for each of six levels with one
// worker. It measures the memory of a training, and the time that the data cost.
func BenchmarkLevels(b *testing.B) {
	columns, y := year()
	b.ReportAllocs()
	for b.Loop() {
		d, err := NewDataFrom(len(columns), func(f int, into []float64) { copy(into, columns[f]) }, y, nil, 0)
		if err != nil {
			b.Fatal(err)
		}
		var trainer Trainer
		for _, level := range []float64{.1, .25, .5, .75, .9, .95} {
			if _, err := trainer.Train(d, level,
				Params{Trees: 10, RowShare: .5, FeatureShare: .5, MinLeaf: 50}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestPredictWalks proves that walking four trees at once gives the result of a walk by definition in each tree. This
// holds for missing and infinite values, and for a number of trees that four does not divide.
func TestPredictWalks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	value := func() float64 {
		switch rng.IntN(6) {
		case 0:
			return math.NaN()
		case 1:
			return math.Inf(1 - 2*rng.IntN(2))
		}
		return math.Round(4*rng.NormFloat64()) / 2
	}
	columns, y := make([][]float64, 5), make([]float64, 400)
	for i := range y {
		for f := range columns {
			columns[f] = append(columns[f], value())
		}
		y[i] = rng.NormFloat64()
		if v := columns[0][i] + columns[1][i]; v > 0 {
			y[i] += 5
		}
	}
	for _, trees := range []int{1, 3, 4, 7, 9} {
		m := mustTrain(t, columns, y, nil, .5, Params{Trees: trees, Leaves: 12, MinLeaf: 5})
		if m.Trees() != trees {
			t.Fatalf("%d trees, want %d", m.Trees(), trees)
		}
		for range 2000 {
			values := []float64{value(), value(), value(), value(), value()}
			want := m.Base
			for _, tree := range m.trees.trees() {
				want += tree.leafValues[walk(tree.nodes, values)]
			}
			if got := m.Predict(NewRow(values)); got != want {
				t.Fatalf("%d trees, %v: %v, want %v", trees, values, got, want)
			}
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	columns, y := uneven(3000, 9)
	m := mustTrain(b, columns, y, nil, .5, Params{})
	var rows []Row
	for i := range 1000 { // with one row only, the processor would learn its branches
		rows = append(rows, NewRow(row(columns, i)))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.Predict(rows[i%len(rows)])
		i++
	}
}
