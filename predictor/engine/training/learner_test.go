package training

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/boost"
)

// taught returns a learner whose waits changed from 0 to 1 after so many rows without features that tell them apart.
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

// TestRecentForgets: of 1,200 waits the newest 300 are other ones. The median of all rows is the old wait.
// With a half-life of 100 the new ones weigh 1 - 2^-3 = .875 of all, so that the median is the new wait and the .1
// quantile still the old one; of the newest 250 rows alone both are the new one.
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
			if got := l.Recent[i].Predict([]float64{3}); math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v: the recent trees say %v at level %v, want %v", c.recent, got, l.cfg.Levels[i], want)
			}
			if got := l.Models[i].Predict([]float64{3}); got != 0 {
				t.Errorf("%+v: the trees say %v at level %v, want 0", c.recent, got, l.cfg.Levels[i])
			}
		}
	}
}
