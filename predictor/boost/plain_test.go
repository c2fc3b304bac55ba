package boost

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plain trains by the definition of Train, without saving time or memory. It finds edges by sorting, counts
// histograms of every feature by row, and tries every split separately. Rows on which a tree is not grown pass
// through the tree one by one.
type plain struct {
	*trainer // for its data, level and parameters, its search for quantiles with weights, and plainFind
	rng      *rand.Rand
	columns  [][]float64
}

// plainEdges returns the largest value of each bin but the last, by sorting.
func plainEdges(column []float64, bins int) (out []float64) {
	values := slices.DeleteFunc(slices.Clone(column), math.IsNaN)
	slices.Sort(values)
	for i := 1; i < bins && len(values) > 0; i++ {
		v := values[(len(values)-1)*i/bins]
		if v < values[len(values)-1] && (len(out) == 0 || v > out[len(out)-1]) {
			out = append(out, v)
		}
	}
	return out
}

func plainTrain(columns [][]float64, target, weight []float64, level float64, p Params) *Model {
	p = p.withDefaults()
	d := &Data{rows: len(target), target: target, weight: weight}
	for _, column := range columns {
		upper, bins := plainEdges(column, p.Bins), make([]uint8, len(column))
		for i, v := range column {
			at, _ := slices.BinarySearch(upper, v)
			if bins[i] = uint8(at); math.IsNaN(v) {
				bins[i] = uint8(len(upper) + 1)
			}
		}
		d.upper, d.bins = append(d.upper, upper), append(d.bins, bins)
	}
	t := &plain{trainer: begun(d, level, p), columns: columns,
		rng: rand.New(rand.NewPCG(p.Seed, math.Float64bits(level)))}
	all := make([]int32, len(target))
	for i := range all {
		all[i] = int32(i)
	}
	m := &Model{Level: level, Features: len(columns), Base: t.weighted(all, weight),
		gain: make([]float64, len(columns))}
	for i := range t.prediction {
		t.prediction[i] = m.Base
	}
	for range p.Trees {
		grown := t.tree(m.gain)
		if len(grown.nodes) == 1 {
			break
		}
		m.trees.add(&grown)
	}
	return m
}

// chance returns the probability that a feature is drawn, by the gains of the trees before.
func (t *plain) chance(f int, gain []float64) float64 {
	all := 0.0
	for _, g := range gain {
		all += math.Sqrt(g)
	}
	if all == 0 {
		return t.params.FeatureShare
	}
	part := math.Sqrt(gain[f]) / all * float64(len(gain))
	return t.params.FeatureShare * (1 - t.params.Focus + t.params.Focus*part)
}

// draw draws rows and features.
func (t *plain) draw(gain []float64) (order, rest []int32) {
	for i := range t.target {
		share := t.params.RowShare
		if t.weight != nil {
			share *= t.weight[i]
		}
		if t.params.RowShare == 1 && t.weight == nil || t.rng.Float64() < share {
			order = append(order, int32(i))
		} else {
			rest = append(rest, int32(i))
		}
	}
	t.features, t.cells = t.features[:0], 0
	add := func(f int) {
		t.features = append(t.features, sampledFeature{feature: f, at: t.cells, bins: len(t.upper[f]) + 1})
		t.cells += len(t.upper[f]) + 2
	}
	for f := range t.bins {
		if p := t.chance(f, gain); p >= 1 || t.rng.Float64() < p {
			add(f)
		}
	}
	if len(t.features) == 0 && len(t.bins) > 0 {
		add(t.rng.IntN(len(t.bins)))
	}
	return order, rest
}

// plainLeaf is a leaf with its rows, and with the counts of these rows by drawn feature and bin.
type plainLeaf struct {
	leaf
	rows []int32
	sums [][]plainCell
}

func (t *plain) tree(gain []float64) tree {
	order, rest := t.draw(gain)
	var grown tree
	grown.plant()
	leaves := []*plainLeaf{{rows: order}}
	t.sum(leaves[0])
	t.search(leaves[0])
	for len(leaves) < t.params.Leaves {
		l := slices.MaxFunc(leaves, func(a, b *plainLeaf) int {
			if a.best.gain > b.best.gain {
				return 1
			}
			return -one(b.best.gain > a.best.gain)
		})
		s := l.best
		if !(s.gain > 0) {
			break
		}
		gain[s.feature] += s.gain
		threshold := math.Inf(1)
		if s.bin < len(t.upper[s.feature]) {
			threshold = t.upper[s.feature][s.bin]
		}
		at := grown.split(l.node, s.feature, s.missingLeft, threshold)
		left, right := &plainLeaf{leaf: leaf{node: at}}, &plainLeaf{leaf: leaf{node: at + 1}}
		for _, r := range l.rows {
			v := t.columns[s.feature][r]
			if v <= threshold || math.IsNaN(v) && s.missingLeft {
				left.rows = append(left.rows, r)
			} else {
				right.rows = append(right.rows, r)
			}
		}
		t.share(l, left, right)
		*l = *left
		leaves = append(leaves, right)
	}
	for _, l := range leaves {
		value := t.params.Rate * t.weighted(l.rows, nil)
		grown.leafValues[l.node] = value
		for _, r := range l.rows {
			t.prediction[r] += value
		}
	}
	for _, r := range rest {
		t.prediction[r] += grown.leafValues[walk(grown.nodes, row(t.columns, int(r)))]
	}
	return grown
}

// walk returns the leaf that a row reaches.
func walk(tree []node, row []float64) int32 {
	at := int32(0)
	for n := &tree[at]; !n.leaf(); n = &tree[at] {
		v := row[n.feature()]
		if at = n.next; v > n.threshold || math.IsNaN(v) && !n.missingLeft() {
			at++
		}
	}
	return at
}

// share counts the rows of the smaller part of a leaf. The counts of the larger part are the difference from the whole
// leaf. Then share searches the best splits of both parts.
func (t *plain) share(whole, left, right *plainLeaf) {
	small, large := left, right
	if len(left.rows) > len(right.rows) {
		small, large = right, left
	}
	t.sum(small)
	large.sums = make([][]plainCell, len(whole.sums))
	for i, cells := range whole.sums {
		for bin, c := range cells {
			large.sums[i] = append(large.sums[i], c.less(small.sums[i][bin]))
		}
	}
	t.search(left)
	t.search(right)
}

func (t *plain) sum(l *plainLeaf) { l.sums = t.plainSums(l.rows) }

func (t *plain) search(l *plainLeaf) {
	l.best = split{}
	if len(l.rows) >= 2*t.params.MinLeaf {
		l.best = t.plainFind(l.sums)
	}
}

// messy draws columns of many kinds, with few and many values, some of them missing, and a target that depends on them.
func messy(rng *rand.Rand, rows, features int) (columns [][]float64, y []float64) {
	columns, y = make([][]float64, features), make([]float64, rows)
	kinds := [...]func(i int) float64{
		func(int) float64 { return rng.NormFloat64() },
		func(int) float64 { return float64(rng.IntN(2)) },
		func(int) float64 { return math.Floor(20 * rng.ExpFloat64()) },
		func(int) float64 { return math.Exp(5 * rng.NormFloat64()) },
		func(i int) float64 { return float64(i / 100) },
		func(int) float64 { return math.Max(0, rng.NormFloat64()) },
		func(int) float64 { return 7 },
		func(int) float64 { return math.Copysign(float64(rng.IntN(3)), rng.Float64()-.5) }, // 0 and -0
	}
	holes := rng.IntN(3)
	for f := range columns {
		columns[f] = make([]float64, rows)
		for i := range y {
			v := kinds[(f+features)%len(kinds)](i)
			y[i] += math.Tanh(v) / float64(f+1)
			if f%3 < holes && rng.IntN(5) == 0 {
				v = math.NaN()
			}
			columns[f][i] = v
		}
	}
	round := rng.IntN(2) == 0
	for i := range y {
		if y[i] += .3 * rng.NormFloat64(); round {
			y[i] = math.Round(4 * y[i]) // this also gives 0 and -0
		}
	}
	return columns, y
}

// TestTrainExact proves that training gives the result of its definition to the last bit, although it is fast and uses
// little memory. The cases have weights or not, missing values, ties and shares, a trainer that has trained others
// before, and columns that are made one by one.
func TestTrainExact(t *testing.T) {
	var trainer Trainer
	for seed := range uint64(36) {
		rng := rand.New(rand.NewPCG(seed, 2))
		columns, y := messy(rng, []int{30, 400, 1500, 2500}[seed%4], 1+rng.IntN(13))
		var weight []float64
		if seed%3 == 0 {
			weight = make([]float64, len(y))
			for i := range weight {
				weight[i] = .001 + .999*rng.Float64()
			}
		}
		p := Params{Trees: 12, Leaves: 2 + rng.IntN(20), MinLeaf: 1 + rng.IntN(40),
			Bins: []int{maxBins, 64, 2}[rng.IntN(3)], Rate: .2, Seed: seed}
		if seed%2 == 0 {
			p.RowShare, p.FeatureShare, p.Focus = .5, .5, []float64{0, .6}[seed/2%2]
		}
		data, err := NewDataFrom(len(columns), func(f int, into []float64) { copy(into, columns[f]) }, y,
			weight, p.Bins)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range []float64{.1, .5, .75, .95} {
			m, err := trainer.Train(data, level, p)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := m.MarshalBinary()
			want, _ := plainTrain(columns, y, weight, level, p).MarshalBinary()
			if again, _ := mustTrain(t, columns, y, weight, level, p).MarshalBinary(); !bytes.Equal(got, want) ||
				!bytes.Equal(again, want) {
				t.Errorf("seed %d, level %v: %d trees are not those of the definition", seed, level, m.Trees())
			}
		}
	}
}

// TestWith proves that training the same features with another target equals training on newly cut data.
func TestWith(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	columns, y := messy(rng, 900, 6)
	first, err := NewData(columns, make([]float64, len(y)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := first.With(y, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := new(Trainer).Train(data, .9, Params{Trees: 9})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := m.MarshalBinary()
	if want, _ := mustTrain(t, columns, y, nil, .9, Params{Trees: 9}).MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("not the model of data with that target")
	}
	if _, err := first.With(y[1:], nil); err == nil {
		t.Error("a target that is too short is taken")
	}
}

// TestNewest proves that training on the newest rows with weights of their own equals training on new data of only
// those rows, if the same values occur in them.
func TestNewest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	columns, y := make([][]float64, 4), make([]float64, 2000)
	for i := range y {
		for f := range columns {
			columns[f] = append(columns[f], float64(rng.IntN(4+8*f)))
			y[i] += columns[f][i]
		}
		columns[1][i] = []float64{columns[1][i], math.NaN()}[i%2]
		y[i] += rng.NormFloat64()
	}
	all, err := NewData(columns, y, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	weight := make([]float64, 900)
	for i := range weight {
		weight[i] = .1 + .9*rng.Float64()
	}
	last := make([][]float64, len(columns))
	for f := range columns {
		last[f] = columns[f][len(y)-len(weight):]
	}
	for _, w := range [][]float64{nil, weight} {
		data, err := all.Newest(len(weight), w)
		if err != nil {
			t.Fatal(err)
		}
		m, err := new(Trainer).Train(data, .75, Params{Trees: 9})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := m.MarshalBinary()
		if want, _ := mustTrain(t, last, y[len(y)-len(weight):], w, .75,
			Params{Trees: 9}).MarshalBinary(); !bytes.Equal(got, want) {
			t.Error("not the model of data with those rows only")
		}
	}
	for _, rows := range []int{0, len(y) + 1} {
		if _, err := all.Newest(rows, nil); err == nil {
			t.Errorf("%d of %d rows are taken", rows, len(y))
		}
	}
	if _, err := all.Newest(900, weight[1:]); err == nil {
		t.Error("weights that are too few are taken")
	}
}

// TestUnder proves that no split better than the best one is skipped.
func TestUnder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gradient, rows := rapid.Float64Range(-1e6, 1e6), rapid.Int32Range(-1, 1e6)
		a, b, w, v := gradient.Draw(t, "a"), gradient.Draw(t, "b"), rows.Draw(t, "w"), rows.Draw(t, "v")
		gain := score(a, w) + score(b, v)
		whole := rapid.Float64Range(0, 1).Draw(t, "whole") * gain
		gain -= whole
		best := gain - 1e-12
		for range rapid.IntRange(1, 3).Draw(t, "steps") { // just below the gain of the split
			best = math.Nextafter(best, 0)
		}
		if best >= 0 && gain > best+1e-12 && under(barOf(whole, best), a, b, w, v) {
			t.Fatalf("a gain of %v is passed over for %v", gain, best)
		}
	})
}

// TestPlace proves that the values at some ranks are those that sorting puts there, even if the halves are uneven.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 200), func(v int) float64 { return float64(v) }), 1,
			300).Draw(t, "values")
		last := len(values) - 1
		ranks := rapid.SliceOfN(rapid.IntRange(0, last), 1, 20).Draw(t, "ranks")
		slices.Sort(ranks)
		sorted := slices.Sorted(slices.Values(values))
		place(values, ranks, 0, rapid.IntRange(0, 12).Draw(t, "turns"))
		for _, r := range ranks {
			if values[r] != sorted[r] {
				t.Fatalf("at rank %d is %v, want %v", r, values[r], sorted[r])
			}
		}
	})
}

// TestNoRowDrawn proves that nothing is grown if no row is drawn.
func TestNoRowDrawn(t *testing.T) {
	m := mustTrain(t, [][]float64{{1, 2, 3}}, []float64{1, 2, 3}, nil, .5, Params{RowShare: 1e-9})
	if m.Trees() != 0 || m.Base != 2 {
		t.Errorf("%d trees on %v, want none on 2", m.Trees(), m.Base)
	}
}
