package training

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/boost"
)

// taught returns a learner whose waits changed from 0 to 1 after before rows. No feature distinguishes the rows.
func taught(t *testing.T, recent Recent, before, after int) *Learner {
	t.Helper()
	l := NewLearner(Config{Levels: []float64{.1, .5}, Rows: 10_000, First: before + after, Growth: .1, Recent: recent,
		Synchronous: true, Cores: 1, Trees: boost.Params{Trees: 3}})
	t.Cleanup(l.Close)
	for i := range before + after {
		z := 0.0
		if i >= before {
			z = 1
		}
		l.Learn([]float32{3}, z)
	}
	if l.Models == nil {
		t.Fatal("nothing was trained")
	}
	return l
}

// TestRecentForgets covers 1,200 waits, of which the newest 300 differ. The median of all rows is the old wait. With a
// half-life of 100 the new ones have 1 - 2^-3 = .875 of the weight, so that the median is the new wait and the .1
// quantile is still the old one. Of the newest 250 rows alone both are the new one.
func TestRecentForgets(t *testing.T) {
	for _, c := range []struct {
		recent       Recent
		tenth, fifty float64
	}{
		{Recent{Rows: 10_000}, 0, 0},
		{Recent{Rows: 10_000, HalfLife: 100}, 0, 1},
		{Recent{Rows: 250}, 1, 1},
	} {
		l := taught(t, c.recent, 900, 300)
		for i, want := range []float64{c.tenth, c.fifty} {
			if got := l.Recent[i].Predict(boost.NewRow([]float64{3})); math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v: the recent trees say %v at level %v, want %v", c.recent, got, l.cfg.Levels[i], want)
			}
			if got := l.Models[i].Predict(boost.NewRow([]float64{3})); got != 0 {
				t.Errorf("%+v: the trees say %v at level %v, want 0", c.recent, got, l.cfg.Levels[i])
			}
		}
	}
}

// TestParams proves that leaves of high levels grow with the rows until 20 of their rows are expected beyond the
// quantile. Only the median has larger and more trees. They use 30,000 rows, but at most four fifths and at least half
// of all. Configured values stay.
func TestParams(t *testing.T) {
	l := NewLearner(Config{Trees: boost.Params{Seed: 7}})
	leaves := map[float64]map[int]int{
		.9:  {300: 50, 2500: 50, 5000: 100, 10_000: 200, 60_000: 200},
		.95: {300: 50, 1250: 50, 5000: 200, 10_000: 400, 60_000: 400},
	}
	shares := map[int]float64{300: .8, 1250: .8, 2500: .8, 5000: .8, 10_000: .8, 40_000: .75, 60_000: .5}
	for rows, share := range shares {
		for _, level := range []float64{.1, .25, .5, .75, .9, .95} {
			want := boost.Params{Seed: 7, RowShare: .5, FeatureShare: .25, Focus: .8, MinLeaf: 50}
			if leaf, told := leaves[level][rows]; told {
				want.MinLeaf, want.Focus = leaf, 0
			} else if level >= .9 {
				continue
			}
			if level == .5 {
				want.Leaves, want.Trees, want.FeatureShare, want.RowShare = 40, 300, .35, share
			}
			if got := l.params(level, rows); got != want {
				t.Errorf("%d rows, level %v: %+v, want %+v", rows, level, got, want)
			}
			want.RowShare, want.Seed = 1, 8
			if got := l.recentParams(level, rows); got != want {
				t.Errorf("the newest %d rows, level %v: %+v, want %+v", rows, level, got, want)
			}
		}
	}
	l.cfg.Trees = boost.Params{Trees: 8, Leaves: 6, MinLeaf: 10, RowShare: .3, FeatureShare: .7, Rate: .2}
	if got := l.params(.5, 60_000); got != l.cfg.Trees {
		t.Errorf("configured %+v, trained with %+v", l.cfg.Trees, got)
	}
}
