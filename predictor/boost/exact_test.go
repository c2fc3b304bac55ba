package boost

import (
	"math"
	"math/rand/v2"
	"testing"
)

// begun returns a trainer at the beginning of a training.
func begun(d *Data, level float64, p Params) *trainer {
	t := new(trainer)
	t.begin(d, level, p)
	return t
}

// plainFind is find as it is defined, without regard to time.
func plainFind(t *trainer, l *leaf) (best split) {
	least := int32(t.params.MinLeaf)
	if l.to-l.from < 2*t.params.MinLeaf {
		return best
	}
	plus := func(a, b cell) cell { return cell{a.gradient + b.gradient, a.weight + b.weight, a.rows + b.rows} }
	for _, d := range t.features {
		cells := l.hist.cellsOf(d)
		n := d.bins
		var all, left cell
		for _, c := range cells[:n] {
			all = plus(all, c)
		}
		none := cells[n]
		all = plus(all, none)
		for i, c := range cells[:n] {
			left = plus(left, c)
			for _, missingLeft := range [...]bool{true, false} {
				if none.rows == 0 && !missingLeft || i == n-1 && missingLeft {
					continue
				}
				a := left
				if missingLeft {
					a = plus(a, none)
				}
				b := cell{all.gradient - a.gradient, all.weight - a.weight, all.rows - a.rows}
				if a.rows < least || b.rows < least {
					continue
				}
				if gain := score(a.gradient, a.weight) + score(b.gradient, b.weight) -
					score(all.gradient, all.weight); gain > best.gain+1e-12 {
					best = split{gain: gain, feature: d.feature, bin: i, missingLeft: missingLeft}
				}
			}
		}
	}
	return best
}

// TestFindExact proves that the search for splits finds what its definition says, to the last bit of the gain: the
// ledger's forecasts depend on it. The data have few and many bins, missing values, and weights.
func TestFindExact(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rows := 50 + rng.IntN(2000)
		columns := make([][]float64, 6)
		for f := range columns {
			columns[f] = make([]float64, rows)
			kinds := []int{1, 2, 5, 40, 1000, 100000}[f]
			for i := range columns[f] {
				if columns[f][i] = float64(rng.IntN(kinds)); rng.IntN(4) == 0 && seed%3 > 0 {
					columns[f][i] = math.NaN()
				}
			}
		}
		target, weight := make([]float64, rows), []float64(nil)
		for i := range target {
			target[i] = columns[3][i] + rng.NormFloat64()
			if math.IsNaN(target[i]) {
				target[i] = rng.NormFloat64()
			}
		}
		if seed%2 == 0 {
			weight = make([]float64, rows)
			for i := range weight {
				weight[i] = .01 + rng.Float64()
			}
		}
		data, err := NewData(columns, target, weight, 255)
		if err != nil {
			t.Fatal(err)
		}
		tr := begun(data, .9, Params{MinLeaf: 1 + rng.IntN(30), RowShare: 1, FeatureShare: 1, Leaves: 9, Rate: .1})
		tr.compare()
		tr.draw()
		checkTree(t, tr)
	}
}

// checkTree grows a tree as grow does, and looks at every search.
func checkTree(t *testing.T, tr *trainer) {
	t.Helper()
	for tr.plant(); len(tr.leaves) < tr.params.Leaves; {
		for i := range tr.leaves {
			l := &tr.leaves[i]
			if l.hist == nil {
				if l.best != (split{}) {
					t.Fatalf("rows %d to %d are to be split without their sums", l.from, l.to)
				}
				continue
			}
			if want := plainFind(tr, l); l.best != want {
				t.Fatalf("best split of rows %d to %d: %+v, want %+v", l.from, l.to, l.best, want)
			}
		}
		l := &tr.leaves[len(tr.leaves)-1]
		if !(l.best.gain > 0) {
			return
		}
		tr.leaves = append(tr.leaves, tr.divide(l))
		tr.measure(&tr.leaves[len(tr.leaves)-2], &tr.leaves[len(tr.leaves)-1])
	}
}
