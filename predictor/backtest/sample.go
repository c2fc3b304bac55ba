package backtest

import (
	"math"

	"github.com/waitcast/waitcast/job/waittime"
)

// Sample is what a report draws of the served forecasts of one trace: a bounded number of points, and the loss month by
// month.
type Sample struct {
	from   float64
	every  int
	seen   int
	points []point
	months []month
}

// point is a forecast and what came.
type point struct{ forecast, wait float64 }

// month sums up 30 days.
type month struct {
	n            int
	loss, length float64 // of the median, and the logarithm of the wait
	covered      int     // by the .95 quantile
}

// samplePoints is about how many points are drawn: more makes a picture too heavy for a browser.
const samplePoints = 4000

// NewSample returns an empty sample for a trace.
func NewSample(t *Trace) *Sample {
	return &Sample{from: t.Jobs[0].Submit, every: max(1, len(t.Jobs)/samplePoints)}
}

// Add adds a served forecast; jobs that are not scored are left out.
func (s *Sample) Add(j *Job, q []float64) {
	if !j.Scored() {
		return
	}
	wait, median := j.Wait(), q[medianLevel]
	if s.seen%s.every == 0 {
		s.points = append(s.points, point{median, wait})
	}
	s.seen++
	i := int((j.Submit - s.from) / (30 * 86400))
	for len(s.months) <= i {
		s.months = append(s.months, month{})
	}
	m := &s.months[i]
	m.n++
	m.loss += waittime.Pinball(.5, waittime.Log(median), waittime.Log(wait))
	m.length += math.Log(wait + waittime.Shift)
	if wait <= q[highLevel] {
		m.covered++
	}
}
