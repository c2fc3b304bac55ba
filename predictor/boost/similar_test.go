package boost

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestSimilarPredictsAsItsBank proves that rows with common values get the predictions of the bank to the last bit,
// from several goroutines at once. The common features change from group to group, and in some groups they turn out to
// vary after trees were shortened.
func TestSimilarPredictsAsItsBank(t *testing.T) {
	columns, y := uneven(600, 6)
	models := unlikeModels(t, columns, y)
	for group := range uint64(60) {
		bank, err := NewBank(models...)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSimilar(bank)
		var all sync.WaitGroup
		for worker := range uint64(3) {
			all.Go(func() {
				common := row(columns, int(group))
				rng := rand.New(rand.NewPCG(group, worker))
				for f := range common {
					disturb(rand.New(rand.NewPCG(group, uint64(f))), &common[f])
				}
				got, want := make([]float64, len(bank.models)), make([]float64, len(bank.models))
				var ranks []uint16
				for i := range 5 * leastSimilar {
					values := slices.Clone(common)
					vary(rng, values, columns, group, i)
					ranks = s.Predict(values, got, ranks)
					if ranks = bank.Predict(values, want, ranks); !slices.Equal(got, want) {
						t.Errorf("group %d, %v: %v, want %v", group, values, got, want)
						return
					}
				}
			})
		}
		all.Wait()
		if s.short.Load() == nil {
			t.Fatalf("group %d: no trees were shortened", group)
		}
	}
}

// vary changes the features of the i-th row that vary in a group: one of them, and in some groups another one in late
// rows. In some of these it is lower than all thresholds in early rows and missing in late ones: only one of the two
// ranks differs.
func vary(rng *rand.Rand, values []float64, columns [][]float64, group uint64, i int) {
	values[0] = columns[0][rng.IntN(len(columns[0]))]
	disturb(rng, &values[0])
	late := i > 3*leastSimilar
	switch {
	case group%7 == 0 && late:
		values[1] = columns[1][rng.IntN(len(columns[1]))]
		disturb(rng, &values[1])
	case group%7 == 1 && late:
		values[1] = math.NaN()
	case group%7 == 1:
		values[1] = math.Inf(-1)
	}
}

// TestSimilarLearnsWhatVaries proves that after trees were shortened twice, all rows are evaluated in short trees. One
// feature varies, and another one is either missing or lower than all thresholds.
func TestSimilarLearnsWhatVaries(t *testing.T) {
	columns, y := uneven(600, 6)
	bank, err := NewBank(unlikeModels(t, columns, y)...)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSimilar(bank)
	out, ranks := make([]float64, len(bank.models)), []uint16(nil)
	for i := range 20 * leastSimilar {
		ranks = s.Predict([]float64{columns[0][i], []float64{math.NaN(), math.Inf(-1)}[i%2], 1}, out, ranks)
	}
	if got := s.rows.Load(); got > 2*leastSimilar {
		t.Errorf("%d rows were evaluated in the trees of the bank, want at most %d", got, 2*leastSimilar)
	}
}

// TestShortTreesOfOneRow proves that trees have no nodes but leaves if all features are common, and all nodes if none
// is.
func TestShortTreesOfOneRow(t *testing.T) {
	columns, y := uneven(600, 6)
	bank, err := NewBank(unlikeModels(t, columns, y)...)
	if err != nil {
		t.Fatal(err)
	}
	trees, nodes := 0, 0
	for i, m := range bank.models {
		trees += len(m.trees.roots)
		nodes += len(bank.nodes[i])
	}
	ranks := bank.ranks(row(columns, 0), nil)
	if got := len(bank.shorten(ranks).nodes); got != trees {
		t.Errorf("%d nodes, want the %d of one leaf each", got, trees)
	}
	for f := range bank.varying {
		bank.varying[f].Store(true)
	}
	if got := len(bank.shorten(ranks).nodes); got != nodes {
		t.Errorf("%d nodes, want all %d", got, nodes)
	}
}
