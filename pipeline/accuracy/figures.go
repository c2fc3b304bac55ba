// Package accuracy compares forecasts of waits with the actual waits. It keeps the forecast of a job until the job's
// wait is over, makes the ledger row of that forecast, and sums the scores of many rows. It does not depend on the
// packages that make forecasts or store rows.
package accuracy

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// resolution is the resolution of the waits in logs, in seconds.
const resolution = 1

// Figures has the errors of the forecasts of started jobs, by level. How often waits stayed below their quantiles is in
// Coverage, which counts all jobs.
type Figures struct {
	// N is the number of jobs.
	N int64 `json:"n"`
	// LogPinball has, for each level, the sum of the pinball losses on the scale ln(wait + 60 s).
	LogPinball []float64 `json:"log_pinball"`
	// Within2 counts the waits that are within a factor 2 of their medians, after 60 s are added to both.
	Within2 int64 `json:"within_2"`
}

func newFigures(levels int) Figures { return Figures{LogPinball: make([]float64, levels)} }

// add counts a wait in seconds with its quantiles.
func (f *Figures) add(levels, quantiles []float64, wait float64) {
	f.N++
	for i, q := range quantiles {
		q = finiteQuantile(q)
		f.LogPinball[i] += loss(levels[i], q, wait)
		if levels[i] == .5 && withinFactor2(q, wait) {
			f.Within2++
		}
	}
}

// withinFactor2 reports whether a wait is within a factor 2 of its median, after 60 s are added to both. Exactly
// twice counts as within.
func withinFactor2(median, wait float64) bool {
	const rounding = 1e-12
	return math.Abs(math.Log(median+waittime.Shift)-math.Log(wait+waittime.Shift)) <= math.Ln2+rounding
}

func (f *Figures) merge(o *Figures) {
	f.N += o.N
	f.Within2 += o.Within2
	for i := range o.LogPinball {
		f.LogPinball[i] += o.LogPinball[i]
	}
}

// SumFigures returns the sums of the figures of several groups of jobs. There must be at least one group.
func SumFigures(groups []*Figures) *Figures {
	sum := newFigures(len(groups[0].LogPinball))
	for _, f := range groups {
		sum.merge(f)
	}
	return &sum
}

// sound reports whether saved figures have the given number of levels.
func (f *Figures) sound(levels int) bool { return len(f.LogPinball) == levels }

func (f *Figures) clone() Figures {
	c := *f
	c.LogPinball = slices.Clone(f.LogPinball)
	return c
}

func count(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// loss returns the pinball loss of a quantile on the scale ln(wait + 60 s).
func loss(level, quantile, wait float64) float64 {
	return waittime.Pinball(level, math.Log(quantile+waittime.Shift), math.Log(wait+waittime.Shift))
}
