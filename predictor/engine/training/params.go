package training

import (
	"cmp"
	"math"

	"github.com/waitcast/waitcast/predictor/boost"
)

// How trees are grown. All was chosen on the first halves of KTH-SP2, SDSC-SP2, CTC and SDSC-Par, see Learner.params.
const (
	// rowShare is the part of the rows that a tree sees; recentShare that of the newest, which are drawn by their
	// weights.
	rowShare, recentShare = .5, 1
	// featureShare is the part of the features that a tree sees. Below tail, focus is how far those are preferred that
	// gained most so far, see boost.Params; from there on it gained nothing.
	featureShare, focus = .25, .8
	// leastLeaf is the least number of rows in a leaf. At a level of at least tail a leaf has so many more that beyond
	// of its rows are expected beyond the quantile; in proportion less while there are fewer than tailRows rows.
	leastLeaf = 50
	tail      = .9
	beyond    = 20
	tailRows  = 10_000
	// The median has the most to learn from: it has medianTrees trees of medianLeaves leaves, other levels have the
	// defaults of package boost. Each sees medianFeatures of the features, and of the rows medianShare, or medianRows
	// if these are fewer, but not less than rowShare.
	medianLeaves   = 40
	medianTrees    = 300
	medianFeatures = .35
	medianShare    = .8
	medianRows     = 30_000
	// recentSeed is added to the seed of the trees of Config.Recent: while there are few rows both sets see nearly the
	// same, and sets that draw differently correct each other.
	recentSeed = 1
)

// params returns the parameters of the trees of a level on so many rows. What is configured stays.
func (l *Learner) params(level float64, rows int) boost.Params {
	p, leaf := l.cfg.Trees, leastLeaf
	share, features, prefer := rowShare, featureShare, focus
	if level >= tail {
		prefer = 0
		most := math.Round(beyond / (1 - level))
		leaf = max(leastLeaf, int(most*min(1, float64(rows)/tailRows)))
	}
	if level == .5 {
		p.Leaves, p.Trees = cmp.Or(p.Leaves, medianLeaves), cmp.Or(p.Trees, medianTrees)
		share, features = max(rowShare, min(medianShare, medianRows/float64(rows))), medianFeatures
	}
	p.RowShare, p.MinLeaf = cmp.Or(p.RowShare, share), cmp.Or(p.MinLeaf, leaf)
	if p.FeatureShare == 0 {
		p.FeatureShare, p.Focus = features, prefer
	}
	return p
}

// recentParams is params of the trees of Config.Recent.
func (l *Learner) recentParams(level float64, rows int) boost.Params {
	p := l.params(level, rows)
	p.RowShare = cmp.Or(l.cfg.Trees.RowShare, recentShare)
	p.Seed += recentSeed
	return p
}
