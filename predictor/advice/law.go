package advice

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/workload/speedup"
)

// Law is the distribution of a wait or a runtime, in seconds. A law never changes and may be used by any number of
// goroutines.
type Law interface {
	// Quantile returns the least time that a share p, 0 to 1, does not exceed. It never falls with p, and is +Inf where
	// so many never start.
	Quantile(p float64) float64
	// CDF returns the probability of at most so many seconds.
	CDF(seconds float64) float64
	// Mean returns the mean, +Inf if Quantile ever is.
	Mean() float64
}

// Cut is the level beyond which no law here is believed: above it, and below 1-Cut, its quantiles stay what they are
// there. It keeps means finite and from being ruled by a tail of which nobody has seen anything.
const Cut = .999

// Fixed is a time that is certain.
type Fixed float64

// Quantile returns the time.
func (f Fixed) Quantile(float64) float64 { return float64(f) }

// CDF is a step at the time.
func (f Fixed) CDF(seconds float64) float64 {
	if seconds >= float64(f) {
		return 1
	}
	return 0
}

// Mean returns the time.
func (f Fixed) Mean() float64 { return float64(f) }

// LogNormal is a time whose logarithm is normal, cut at Cut.
type LogNormal struct {
	Median float64 // seconds, above 0
	Spread float64 // standard deviation of ln seconds, 0 or more
}

// RunOf returns the law of the runtime on so many processors by a curve. The error is the curve's *speedup.SizeError.
func RunOf(curve speedup.Curve, procs int) (Law, error) {
	median, err := curve.Runtime(procs)
	if err != nil {
		return nil, err
	}
	if spread := curve.Spread(procs); spread != 0 {
		return LogNormal{median, spread}, nil
	}
	return Fixed(median), nil
}

// Quantile returns Median exp(Spread z).
func (l LogNormal) Quantile(p float64) float64 { return l.Median * math.Exp(l.Spread*normal(p)) }

// CDF returns the probability of at most so many seconds.
func (l LogNormal) CDF(seconds float64) float64 {
	switch {
	case seconds < l.Quantile(1-Cut):
		return 0
	case seconds >= l.Quantile(Cut):
		return 1
	}
	return distuv.UnitNormal.CDF(math.Log(seconds/l.Median) / l.Spread)
}

// Mean returns the mean of the law as it is cut.
func (l LogNormal) Mean() float64 {
	s, z := l.Spread, normal(Cut)
	phi := distuv.UnitNormal.CDF
	body := math.Exp(s*s/2) * (phi(z-s) - phi(-z-s))
	return l.Median * (body + (1-Cut)*(math.Exp(s*z)+math.Exp(-s*z)))
}

// normal returns the normal quantile at p, kept in Cut.
func normal(p float64) float64 { return distuv.UnitNormal.Quantile(min(max(p, 1-Cut), Cut)) }

// Samples is the empirical law of a sample. NewSamples makes one.
type Samples struct{ sorted []float64 }

// NewSamples returns the law of a sample of times, 0 or more; +Inf is never. The error is a *LawError.
func NewSamples(seconds []float64) (*Samples, error) {
	if len(seconds) == 0 {
		return nil, &LawError{Problem: "it is empty"}
	}
	for i, s := range seconds {
		if !(s >= 0) {
			return nil, &LawError{i + 1, s, "a time must be 0 or more"}
		}
	}
	sorted := slices.Clone(seconds)
	slices.Sort(sorted)
	return &Samples{sorted}, nil
}

// Quantile returns the least of the sample that a share p of it does not exceed.
func (s *Samples) Quantile(p float64) float64 { return quantile(s.sorted, p) }

// quantile returns the least value of a sorted sample that a share p of it does not exceed.
func quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	// Levels such as .35 times 20 come out a little above the whole number that they are.
	k := int(math.Ceil(p*float64(n) - 1e-9))
	return sorted[min(max(k-1, 0), n-1)]
}

// CDF returns the share of the sample up to so many seconds.
func (s *Samples) CDF(seconds float64) float64 {
	n := sort.Search(len(s.sorted), func(i int) bool { return s.sorted[i] > seconds })
	return float64(n) / float64(len(s.sorted))
}

// Mean returns the mean of the sample.
func (s *Samples) Mean() float64 { return mean(s.sorted) }

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// LawError is a sample, or a list of quantiles, that is no law.
type LawError struct {
	Place   int // in the list, from 1; 0 for the list as a whole
	Value   float64
	Problem string
}

// Error names the place.
func (e *LawError) Error() string {
	if e.Place == 0 {
		return "distribution: " + e.Problem
	}
	return fmt.Sprintf("distribution, entry %d is %v: %s", e.Place, e.Value, e.Problem)
}

// Quantiles is the law of a wait of which some quantiles are known. Between them ln(wait + 60 s) is linear in the
// normal quantile of the level, which makes each piece log-normal. Below the lowest level it goes on with the slope
// between that one and the median, down to a wait of 0; above the highest with the slope between the median and that
// one; both until Cut. (The slope of the outermost piece alone would do it better where quantiles are exact, but where
// .90 is 0 and .95 is an hour, it makes the mean wait months.) Where the upper levels are infinite, every wait above
// the highest finite level is.
type Quantiles struct {
	z, y []float64 // knots, rising: normal quantile of the level, and ln(wait + 60)
	top  float64   // share of the waits that are finite
	mean float64
}

// NewQuantiles returns the law that has the given quantiles, in seconds, at levels that rise between 0 and 1. A
// quantile may be +Inf. The error is a *LawError.
func NewQuantiles(levels, seconds []float64) (*Quantiles, error) {
	if len(levels) != len(seconds) || len(levels) == 0 {
		return nil,
			&LawError{Problem: fmt.Sprintf("%d levels and %d quantiles; want as many, at least 1", len(levels),
				len(seconds))}
	}
	q := &Quantiles{top: 1}
	for i, p := range levels {
		switch s := seconds[i]; {
		case !(p > 1-Cut && p < Cut):
			return nil, &LawError{i + 1, p, "a level must lie between .001 and .999"}
		case i > 0 && p <= levels[i-1]:
			return nil, &LawError{i + 1, p, "levels must rise"}
		case !(s >= 0):
			return nil, &LawError{i + 1, s, "a quantile must be 0 or more"}
		case i > 0 && s < seconds[i-1]:
			return nil, &LawError{i + 1, s, fmt.Sprintf("quantiles must not fall, and %v comes before", seconds[i-1])}
		case !math.IsInf(s, 1):
			q.z, q.y = append(q.z, distuv.UnitNormal.Quantile(p)), append(q.y, math.Log(s+waittime.Shift))
			q.top = p
		}
	}
	if len(q.z) == 0 {
		q.top, q.mean = 0, math.Inf(1)
		return q, nil
	}
	q.addTails(len(q.z) == len(levels))
	q.integrate()
	return q, nil
}

// addTails adds the knots below the lowest level and, if all quantiles are finite, above the highest.
func (q *Quantiles) addTails(upper bool) {
	last := len(q.z) - 1
	middle := func(i int) int { return min(max(i, 0), last) }
	up := middle(sort.SearchFloat64s(q.z, 0))                                         // first level from the median
	down := middle(sort.Search(len(q.z), func(i int) bool { return q.z[i] > 0 }) - 1) // last one up to it
	end, zero := normal(Cut), math.Log(waittime.Shift)
	if upper {
		slope := q.slope(min(up, max(last-1, 0)), last)
		q.z, q.y = append(q.z, end), append(q.y, q.y[last]+slope*(end-q.z[last]))
		q.top = 1
	}
	slope := q.slope(0, max(down, min(1, last)))
	y := q.y[0] - slope*(q.z[0]+end)
	if y >= zero {
		q.z, q.y = slices.Insert(q.z, 0, -end), slices.Insert(q.y, 0, y)
		return
	}
	at := q.z[0]
	if slope > 0 {
		at -= (q.y[0] - zero) / slope
	}
	q.z, q.y = slices.Insert(q.z, 0, -end, at), slices.Insert(q.y, 0, zero, zero)
}

func (q *Quantiles) slope(i, j int) float64 {
	if i == j {
		return 0
	}
	return (q.y[j] - q.y[i]) / (q.z[j] - q.z[i])
}

// integrate computes the mean.
func (q *Quantiles) integrate() {
	if q.top < 1 {
		q.mean = math.Inf(1)
		return
	}
	last := len(q.z) - 1
	q.mean = (1 - Cut) * (wait(q.y[0]) + wait(q.y[last])) // what is beyond the cuts
	for i := range last {
		if q.y[i+1] == q.y[i] {
			phi := distuv.UnitNormal.CDF
			q.mean += wait(q.y[i]) * (phi(q.z[i+1]) - phi(q.z[i]))
			continue
		}
		slope := q.slope(i, i+1)
		density := func(z float64) float64 {
			return wait(q.y[i]+slope*(z-q.z[i])) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		}
		q.mean += quad.Fixed(density, q.z[i], q.z[i+1], 16, nil, 0)
	}
}

// wait returns the wait of which y is ln(wait + 60).
func wait(y float64) float64 { return max(0, math.Exp(y)-waittime.Shift) }

// Quantile returns the wait at a level.
func (q *Quantiles) Quantile(p float64) float64 {
	if p > q.top || q.top == 0 {
		return math.Inf(1)
	}
	z := normal(p)
	i := sort.SearchFloat64s(q.z, z) // first knot from z
	switch {
	case i == 0:
		return wait(q.y[0])
	case i == len(q.z):
		return wait(q.y[i-1])
	}
	return wait(q.y[i-1] + q.slope(i-1, i)*(z-q.z[i-1]))
}

// CDF returns the probability of a wait of at most so many seconds.
func (q *Quantiles) CDF(seconds float64) float64 {
	if !(seconds >= 0) || q.top == 0 {
		return 0
	}
	y := math.Log(seconds + waittime.Shift)
	i := sort.Search(len(q.y), func(i int) bool { return q.y[i] > y }) // first knot above
	switch {
	case i == 0:
		return 0
	case i == len(q.y):
		return q.top
	}
	return distuv.UnitNormal.CDF(q.z[i-1] + (y-q.y[i-1])/q.slope(i-1, i))
}

// Mean returns the mean wait.
func (q *Quantiles) Mean() float64 { return q.mean }
