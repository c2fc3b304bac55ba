package readmodel

import (
	"testing"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/queuenames"
)

// TestMetricScores proves that the figures of all queues without detailed metrics are summed under one queue, and that
// none are lost.
func TestMetricScores(t *testing.T) {
	v := &View{Names: queuenames.New([]string{"a"}, 1).View(), Scores: map[accuracy.Key]*accuracy.Score{},
		Recent: map[string]*accuracy.Figures{}}
	row := modelstore.Row{Outcome: modelstore.Started, WaitSeconds: 5, Quantiles: []float64{1, 2, 3, 4, 5, 6},
		Levels: []float64{.1, .25, .5, .75, .9, .95}}
	for i, q := range []string{"a", "b", "c", queuenames.Other} {
		s := accuracy.NewScore(6)
		for range i + 1 {
			s.Add(&row)
		}
		v.Scores[accuracy.Key{Queue: q, Size: "1"}] = s
		f := *accuracy.SumFigures([]*accuracy.Figures{&s.Figures})
		v.Recent[q] = &f
	}
	got := v.MetricScores()
	if len(got) != 2 || got[accuracy.Key{Queue: "a", Size: "1"}].N != 1 ||
		got[accuracy.Key{Queue: queuenames.Other, Size: "1"}].N != 2+3+4 {
		t.Errorf("scores of %d queues: %+v", len(got), got)
	}
	if recent := v.MetricRecent(); len(recent) != 2 || recent[queuenames.Other].N != 9 ||
		v.Recent[queuenames.Other].N != 4 {
		t.Errorf("recent figures %+v", recent)
	}
}
