package training

import (
	"cmp"
	"math"

	"github.com/waitcast/waitcast/predictor/boost"
)

// These constants define how trees are grown. They were chosen on the first halves of KTH-SP2, SDSC-SP2, CTC and
// SDSC-Par, see Learner.params.
const (
	// rowShare is the part of the rows that a tree uses. recentShare is the part of the newest rows, which are drawn by
	// their weights.
	rowShare, recentShare = .5, 1
	// featureShare is the part of the features that a tree uses. focus is how strongly it prefers features with the
	// highest gains so far, see boost.Params. It applies to levels below tail; at higher levels it did not help.
	featureShare, focus = .25, .8
	// leastLeaf is the minimum number of rows in a leaf. At levels of at least tail it is larger: of the rows of a
	// leaf, 20 (beyond) are expected above the quantile. With fewer than tailRows rows in all, the leaf is
	// proportionally smaller.
	leastLeaf = 50
	tail      = .9
	beyond    = 20
	tailRows  = 10_000
	// The median has the most to learn from. It has medianTrees trees of medianLeaves leaves; other levels have the
	// defaults of package boost. Each of its trees uses medianFeatures of the features. A tree uses medianShare of
	// the rows, or medianRows rows if these are fewer, but at least rowShare of them.
	medianLeaves   = 40
	medianTrees    = 300
	medianFeatures = .35
	medianShare    = .8
	medianRows     = 30_000
	// recentSeed is added to the seed of the trees of Config.Recent. With few rows both sets use nearly the same
	// rows. With different draws they correct each other.
	recentSeed = 1
)

// params returns the parameters of the trees of a level for the given number of rows. Configured values are kept.
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
