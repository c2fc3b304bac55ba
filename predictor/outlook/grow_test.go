package outlook

import "testing"

// TestArrivalsGrow proves that at every level no fewer jobs have come by a later horizon than by an earlier one, and
// that consistent numbers do not change.
func TestArrivalsGrow(t *testing.T) {
	level := func(h, perHour float64) Point {
		p := Point{Horizon: h * hour}
		for l := range p.JobsPerHour {
			p.JobsPerHour[l], p.WorkPerHour[l] = perHour, 2*perHour
		}
		return p
	}
	points := []Point{level(1, 27), level(3, 2), level(6, 10)}
	grow(points)
	for k, want := range []float64{27, 9, 10} { // 27 jobs in the first hour are 9 per hour over three hours
		for l := range points[k].JobsPerHour {
			if points[k].JobsPerHour[l] != want || points[k].WorkPerHour[l] != 2*want {
				t.Errorf("horizon %d, level %d: %g jobs and %g work an hour, want %g and %g", k, l,
					points[k].JobsPerHour[l], points[k].WorkPerHour[l], want, 2*want)
			}
		}
	}
}
