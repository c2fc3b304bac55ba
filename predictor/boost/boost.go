// Package boost trains gradient-boosted regression trees for quantiles. They are histogram trees, grown leaf by leaf
// on the gradient of the pinball loss. The leaves are then set to the quantile of the residuals in them (Friedman,
// "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001, algorithm 4 with the
// quantile in place of the median). Histograms and leaf-wise growth are as in Ke et al., "LightGBM", NIPS 2017,
// sections 2.1 and 3.
//
// Features are float64 in the caller's order. NaN is a missing value, which each split sends to the better side.
// Training is deterministic: the same data and parameters give the same model, whatever the number of cores.
package boost

import (
	"errors"
	"fmt"
)

// Params define how a model is trained. The zero value of a field means its default.
type Params struct {
	// Trees is the number of trees, 200 by default. Leaves is the maximum number of leaves of a tree, 20 by default,
	// at least 2.
	Trees, Leaves int
	// Rate is the learning rate, in (0, 1]: the part by which the fit of each tree counts. The default is 0.05.
	Rate float64
	// MinLeaf is the minimum number of rows in a leaf, 20 by default.
	MinLeaf int
	// Bins is the maximum number of bins of a feature, 2 to 128, 128 by default.
	Bins int
	// RowShare and FeatureShare are the parts of the rows and of the features on which each tree is grown, in (0, 1];
	// 1 by default. They are drawn again for each tree. Smaller parts are faster and mostly better, because trees
	// from different parts correct each other (Friedman, "Stochastic gradient boosting", Computational Statistics &
	// Data Analysis 38, 2002). A row is drawn in proportion to its weight. Once drawn, it counts like any other row.
	RowShare, FeatureShare float64
	// Focus, in [0, 1), is how strongly the drawing of features prefers those that gained more in the earlier trees.
	// If the splits of one of n features gained g, it is drawn with the probability
	//		FeatureShare (1 - Focus + Focus n sqrt(g) / (sum of sqrt(g))),
	// at most 1. Before the first tree, and with the default 0, all features have equal probability. If only
	// a few of many features are informative, trees that get these depend less on the others (after Amaratunga, Cabrera
	// and Lee, "Enriched random forests", Bioinformatics 24, 2008, who weight features by tests).
	Focus float64
	// Seed is the seed of the random numbers.
	Seed uint64
}

func (p Params) withDefaults() Params {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&p.Trees, 200)
	set(&p.Leaves, 20)
	set(&p.MinLeaf, 20)
	set(&p.Bins, maxBins)
	for _, v := range [...]struct {
		share *float64
		to    float64
	}{{&p.Rate, .05}, {&p.RowShare, 1}, {&p.FeatureShare, 1}} {
		if *v.share == 0 {
			*v.share = v.to
		}
	}
	return p
}

func (p Params) check() error {
	switch {
	case p.Trees < 0:
		return fmt.Errorf("boost: %d trees: want 0 or more", p.Trees)
	case p.Leaves < 2:
		return fmt.Errorf("boost: %d leaves: want 2 or more", p.Leaves)
	case p.MinLeaf < 1:
		return fmt.Errorf("boost: %d rows in the smallest leaf: want 1 or more", p.MinLeaf)
	case p.Bins < 2 || p.Bins > maxBins:
		return fmt.Errorf("boost: %d bins: want 2 to %d", p.Bins, maxBins)
	case !(p.Rate > 0 && p.Rate <= 1):
		return fmt.Errorf("boost: rate %v: want more than 0, at most 1", p.Rate)
	case !(p.RowShare > 0 && p.RowShare <= 1):
		return fmt.Errorf("boost: share of rows %v: want more than 0, at most 1", p.RowShare)
	case !(p.FeatureShare > 0 && p.FeatureShare <= 1):
		return fmt.Errorf("boost: share of features %v: want more than 0, at most 1", p.FeatureShare)
	case !(p.Focus >= 0 && p.Focus < 1):
		return fmt.Errorf("boost: focus %v: want 0 or more, less than 1", p.Focus)
	}
	return nil
}

// ErrNoRows means that there are no rows to learn from.
var ErrNoRows = errors.New("boost: no rows to train on")

// Model is a trained model of one quantile. It is immutable; the zero Model predicts 0.
type Model struct {
	// Level is the level of the quantile, in (0, 1).
	Level float64
	// Features is the number of features of a row.
	Features int
	// Base is the prediction before the first tree: the quantile of all targets.
	Base  float64
	trees forest
	gain  []float64
}

// Trees returns the number of trees.
func (m *Model) Trees() int { return len(m.trees.roots) }

// Importance returns, for each feature, its part of the gain in the squared gradient by all splits. The parts sum to
// 1. They are all 0 if nothing was split.
func (m *Model) Importance() []float64 {
	out := make([]float64, m.Features)
	total := 0.0
	for _, g := range m.gain {
		total += g
	}
	for i, g := range m.gain {
		if total > 0 {
			out[i] = g / total
		}
	}
	return out
}

// Predict returns the quantile for a row of Features values, see NewRow.
func (m *Model) Predict(row Row) float64 {
	return m.trees.sum(m.Base, row)
}
