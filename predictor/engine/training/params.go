package training

import (
	"cmp"
	"math"

	"github.com/waitcast/waitcast/predictor/boost"
)

// These constants say how trees are grown. They were chosen on the first halves of KTH-SP2, SDSC-SP2, CTC and SDSC-Par,
// see Learner.params.
const (
	// rowShare is the part of the rows that a tree uses. recentShare is the part of the newest rows, which are drawn by
	// their weights.
	rowShare, recentShare = .5, 1
	// featureShare is the part of the features that a tree uses. At levels below tail, focus is how strongly features
	// with the highest gains so far are preferred, see boost.Params. At higher levels a focus did not help.
	featureShare, focus = .25, .8
	// leastLeaf is the least number of rows in a leaf. At levels of at least tail a leaf has enough rows that beyond of
	// them are expected beyond the quantile, and proportionally fewer while there are less than tailRows rows.
	leastLeaf = 50
	tail      = .9
	beyond    = 20
	tailRows  = 10_000
	// The median has the most to learn from. It has medianTrees trees of medianLeaves leaves, and other levels have the
	// defaults of package boost. Each tree uses medianFeatures of the features. Of the rows it uses medianShare, or
	// medianRows if these are fewer, but not less than rowShare.
	medianLeaves   = 40
	medianTrees    = 300
	medianFeatures = .35
	medianShare    = .8
	medianRows     = 30_000
	// recentSeed is added to the seed of the trees of Config.Recent. While there are few rows both sets use nearly the
	// same, and sets with different draws correct each other.
	recentSeed = 1
)

// params returns the parameters of the trees of a level for that many rows. Configured values stay.
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

// recentParams returns the parameters of the trees of Config.Recent.
func (l *Learner) recentParams(level float64, rows int) boost.Params {
	p := l.params(level, rows)
	p.RowShare = cmp.Or(l.cfg.Trees.RowShare, recentShare)
	p.Seed += recentSeed
	return p
}
