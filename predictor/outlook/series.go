package outlook

import (
	"math"
	"slices"
)

// offset is the reference for work on the logarithmic scale: one minute of the whole machine. It corresponds to the
// one minute in ln(wait + 60 s).
const offset = minute

// log returns the value of a series on its scale for learning and scoring. For Utilization this is the share itself.
// For other series it is ln(1 + x), where x is the number of jobs, or the work in minutes of the whole machine.
func (s Series) log(x, procs float64) float64 {
	switch s {
	case Utilization:
		return x
	case QueuedWork, ArrivedWork:
		return math.Log1p(max(0, x) / (offset * procs))
	}
	return math.Log1p(max(0, x))
}

// unlog is the inverse of log.
func (s Series) unlog(y, procs float64) float64 {
	switch s {
	case Utilization:
		return y
	case QueuedWork, ArrivedWork:
		return math.Expm1(min(y, 100)) * offset * procs
	}
	return math.Expm1(min(y, 100))
}

// arrives reports whether the series counts arrivals between the forecast and the horizon.
func (s Series) arrives() bool { return s >= ArrivedJobs }

// loadSample is the load at one instant: the values by scope. Arrivals are the totals until that instant.
type loadSample struct {
	At     float64
	Values []values
}

// trailLength is how long samples are kept. It is longer than the week for which lastWeek looks back.
const trailLength = 8*day + hour

// sampleAt returns the last sample at or before an instant. ok is false if there is none, or if it is more than slack
// seconds before the instant.
func sampleAt(trail []loadSample, at, slack float64) (loadSample, bool) {
	i, found := slices.BinarySearchFunc(trail, at, func(l loadSample, at float64) int {
		switch {
		case l.At < at:
			return -1
		case l.At > at:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || at-trail[i].At > slack {
		return loadSample{}, false
	}
	return trail[i], true
}

// of returns the value of a series of a scope. It is 0 for a queue that was not known at the time of the sample.
func (l loadSample) of(scope int, s Series) float64 {
	if scope >= len(l.Values) {
		return 0
	}
	return l.Values[scope][s]
}

// quantile returns a quantile of sorted values, interpolated linearly between neighbors.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	x := p*float64(len(sorted)) - .5
	i := int(math.Floor(x))
	switch {
	case i < 0:
		return sorted[0]
	case i >= len(sorted)-1:
		return sorted[len(sorted)-1]
	}
	w := x - float64(i)
	if w == 0 || sorted[i] == sorted[i+1] {
		return sorted[i]
	}
	return sorted[i]*(1-w) + sorted[i+1]*w
}
