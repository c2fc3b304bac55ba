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

// plainCell counts the rows of one bin: all, and those whose target is not above the prediction.
type plainCell struct{ rows, below int32 }

func (c plainCell) and(d plainCell) plainCell  { return plainCell{c.rows + d.rows, c.below + d.below} }
func (c plainCell) less(d plainCell) plainCell { return plainCell{c.rows - d.rows, c.below - d.below} }

// gradient sums the gradients of the rows: the level for each target above the prediction, and the level less 1 for the
// others.
func (c plainCell) gradient(level float64) float64 { return level*float64(c.rows) - float64(c.below) }

// score returns the square of the summed gradient divided by the number of rows.
func (c plainCell) score(level float64) float64 {
	if c.rows == 0 {
		return 0
	}
	return c.gradient(level) * c.gradient(level) / float64(c.rows)
}

// plainFind is find by its definition, without regard to time. sums has the cells of each drawn feature, those of the
// missing values last.
func (t *trainer) plainFind(sums [][]plainCell) (best split) {
	least := int32(t.params.MinLeaf)
	for at, cells := range sums {
		n := len(cells) - 1
		var all, left plainCell
		for _, c := range cells {
			all = all.and(c)
		}
		none := cells[n]
		for i, c := range cells[:n] {
			left = left.and(c)
			for _, missingLeft := range [...]bool{true, false} {
				if none.rows == 0 && !missingLeft || i == n-1 && missingLeft {
					continue
				}
				part := left
				if missingLeft {
					part = part.and(none)
				}
				rest := all.gradient(t.level) - part.gradient(t.level) // as in find, to the last bit
				others := all.less(part).rows
				if part.rows < least || others < least {
					continue
				}
				gain := part.score(t.level) + score(rest, others) - all.score(t.level)
				if gain > best.gain+1e-12 {
					best = split{gain: gain, feature: t.features[at].feature, bin: i, missingLeft: missingLeft}
				}
			}
		}
	}
	return best
}

// plainSums counts rows by bin, one by one.
func (t *trainer) plainSums(rows []int32) [][]plainCell {
	out := make([][]plainCell, len(t.features))
	for i, d := range t.features {
		out[i] = make([]plainCell, d.bins+1)
		for _, r := range rows {
			c := &out[i][t.bins[d.feature][r]]
			c.rows++
			if t.target[r] <= t.prediction[r] {
				c.below++
			}
		}
	}
	return out
}

// TestFindExact proves that the search for splits finds what its definition says, to the last bit of the gain, because
// the ledger's forecasts depend on it. The data have few and many bins, missing values, and weights.
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
				weight[i] = .01 + .99*rng.Float64()
			}
		}
		data, err := NewData(columns, target, weight, maxBins)
		if err != nil {
			t.Fatal(err)
		}
		tr := begun(data, .9, Params{MinLeaf: 1 + rng.IntN(30), RowShare: 1, FeatureShare: 1, Leaves: 9, Rate: .1})
		tr.compare()
		tr.focus(make([]float64, len(columns)))
		tr.draw()
		checkTree(t, tr)
	}
}

// checkTree grows a tree as grow does, and checks every search.
func checkTree(t *testing.T, tr *trainer) {
	t.Helper()
	for tr.root(); len(tr.leaves) < tr.params.Leaves; {
		for i := range tr.leaves {
			l := &tr.leaves[i]
			if l.hist == nil {
				if l.best != (split{}) {
					t.Fatalf("rows %d to %d are to be split without their sums", l.from, l.to)
				}
				continue
			}
			sums := tr.plainSums(tr.order[l.from:l.to])
			checkCells(t, tr, l, sums)
			want := split{}
			if l.to-l.from >= 2*tr.params.MinLeaf {
				want = tr.plainFind(sums)
			}
			if l.best != want {
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

// checkCells compares a leaf's packed histogram with plain counts. The histogram was counted from the rows, or it is
// the parent's histogram minus that of the other leaf.
func checkCells(t *testing.T, tr *trainer, l *leaf, want [][]plainCell) {
	t.Helper()
	for i, d := range tr.features {
		for bin, c := range l.hist.cellsOf(d) {
			rows, gradient := c.parts(tr.level)
			if w := want[i][bin]; rows != w.rows || gradient != w.gradient(tr.level) {
				t.Fatalf("rows %d to %d, feature %d, bin %d: %d rows with the gradient %v, want %d with %v", l.from,
					l.to, d.feature, bin, rows, gradient, w.rows, w.gradient(tr.level))
			}
		}
	}
}
