package ask

import (
	"strings"
	"testing"

	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// TestNoteOnLoadForecast proves that the note says where the bands come from: from simulations with or without jobs to
// come, and from the outcomes of earlier forecasts if some are known.
func TestNoteOnLoadForecast(t *testing.T) {
	for _, c := range []struct {
		arrivals string
		outcomes []int
		want     string
		never    string
	}{
		{"", []int{0, 0}, "the simulation is without them", "outcomes"},
		{"", []int{9, 0}, "only the outcomes of earlier forecasts correct for them", "simulation alone"},
		{"weekly", []int{0, 0}, "those of the simulation alone", "without"},
		{"weekly", []int{9, 0}, "no outcome is known yet of what was forecast 6 h ahead", "1 h"},
		{"weekly", []int{9, 9}, "learnt from 9 outcomes 1 h ahead", "simulation"},
	} {
		o := &loadforecast.Outlook{Forecast: &outlook.Forecast{Arrivals: c.arrivals}, Outcomes: c.outcomes}
		o.Cluster.Points = []outlook.Point{{Horizon: 3600}, {Horizon: 6 * 3600}}
		got := loadLearnt(o, 24).Note
		if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("%q, %v: %q, want %q and not %q", c.arrivals, c.outcomes, got, c.want, c.never)
		}
	}
}
