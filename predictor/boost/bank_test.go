package boost

import (
	"math"
	"math/rand/v2"
	"testing"
)

// unlikeModels returns models of different numbers of trees and leaves, each also after a restart, and one with the
// highest threshold, which no value exceeds.
func unlikeModels(t *testing.T, columns [][]float64, y []float64) []*Model {
	var models []*Model
	for i, trees := range []int{1, 4, 7, 8, 9, 17, 20} {
		p := Params{Trees: trees, Leaves: 3 + 4*i, MinLeaf: 5, Bins: 20 + 15*i, Seed: uint64(i)}
		m := mustTrain(t, columns, y, nil, []float64{.1, .5, .9}[i%3], p)
		data, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := new(Model)
		if err := back.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		models = append(models, m, back)
	}
	highest := &Model{Features: len(columns)}
	var stump tree
	stump.plant()
	stump.leafValues[stump.split(0, 0, false, math.Inf(1))] = 1
	highest.trees.add(&stump)
	models = append(models, highest)
	return models
}

// disturb sometimes replaces a value by a missing or infinite one, or by one next to a threshold.
func disturb(rng *rand.Rand, value *float64) {
	switch rng.IntN(8) {
	case 0:
		*value = math.NaN()
	case 1:
		*value = math.Inf(1 - 2*rng.IntN(2))
	case 2:
		*value = math.Nextafter(*value, 1e9*rng.NormFloat64())
	case 3:
		*value = math.Copysign(math.MaxFloat64, rng.NormFloat64())
	}
}

// TestBankPredictsAsItsModels proves that a bank predicts to the last bit like its models. This holds for missing and
// infinite values, for values equal to thresholds, for models of different numbers of trees, and after restoring.
func TestBankPredictsAsItsModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	columns, y := uneven(600, 6)
	models := unlikeModels(t, columns, y)
	bank, err := NewBank(models...)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, len(models))
	var ranks []uint16
	for range 3000 {
		values := row(columns, rng.IntN(len(y)))
		for f := range values {
			disturb(rng, &values[f])
		}
		ranks = bank.Predict(values, got, ranks)
		for i, m := range models {
			if want := m.Predict(NewRow(values)); got[i] != want {
				t.Fatalf("model %d, %v: %v, want %v", i, values, got[i], want)
			}
		}
	}
}

// TestBankRefuses proves that a bank refuses models that it cannot use.
func TestBankRefuses(t *testing.T) {
	columns, y := uneven(60, 3)
	three := mustTrain(t, columns, y, nil, .5, Params{Trees: 1, MinLeaf: 5})
	two := mustTrain(t, columns[:2], y, nil, .5, Params{Trees: 1, MinLeaf: 5})
	if _, err := NewBank(three, two); err == nil {
		t.Error("models of different features are taken")
	}
	if _, err := NewBank(&Model{Features: mostCuts}); err == nil {
		t.Error("so many features that they have no number are taken")
	}
	many := &Model{Features: 1}
	for i := range mostCuts {
		var stump tree
		stump.plant()
		stump.split(0, 0, true, float64(i))
		many.trees.add(&stump)
	}
	if _, err := NewBank(many); err == nil {
		t.Error("so many thresholds that they have no rank are taken")
	}
	if b, err := NewBank(); b != nil || err != nil {
		t.Errorf("of no models there is %v, %v", b, err)
	}
}

// likeServed returns two sets of models of six levels, as large as those of the daemon, and rows of their 140 features.
func likeServed(b *testing.B) (models []*Model, columns [][]float64) {
	rng := rand.New(rand.NewPCG(3, 2))
	columns = make([][]float64, 140)
	y := make([]float64, 3000)
	for f := range columns {
		for i := range y {
			columns[f] = append(columns[f], rng.NormFloat64())
			y[i] += columns[f][i] / float64(f+1)
		}
	}
	for i := range 12 {
		level, p := []float64{.1, .25, .5, .75, .9, .95}[i%6], Params{FeatureShare: .35, Seed: uint64(i)}
		if level == .5 {
			p.Trees, p.Leaves = 300, 40
		}
		models = append(models, mustTrain(b, columns, y, nil, level, p))
	}
	return models, columns
}

// BenchmarkBank evaluates the models of twelve levels for one row: each by itself, in a bank, and in a Similar for rows
// of which half of the features are common.
func BenchmarkBank(b *testing.B) {
	models, columns := likeServed(b)
	for f := range columns {
		if f%2 == 1 {
			for i := range columns[f] {
				columns[f][i] = columns[f][0]
			}
		}
	}
	bank, err := NewBank(models...)
	if err != nil {
		b.Fatal(err)
	}
	similar := NewSimilar(bank)
	out, ranks := make([]float64, len(models)), []uint16(nil)
	i := 0
	for name, predict := range map[string]func(values []float64){
		"models": func(values []float64) {
			r := NewRow(values)
			for k, m := range models {
				out[k] = m.Predict(r)
			}
		},
		"bank":    func(values []float64) { ranks = bank.Predict(values, out, ranks) },
		"similar": func(values []float64) { ranks = similar.Predict(values, out, ranks) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				predict(row(columns, i%len(columns[0])))
				i++
			}
		})
	}
}
