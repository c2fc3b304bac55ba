package simulator

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a mean with its confidence interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"` // values or batches it was made of
}

// Confidence returns the mean of independent values, as the replicas of a simulation give them, with its confidence interval by Student's
// t; level is a number as .95. A single value has an interval without bounds, no value an error.
func Confidence(values []float64, level float64) (Interval, error) {
	n := len(values)
	if n == 0 || !(level > 0 && level < 1) {
		return Interval{}, fmt.Errorf("confidence of %d values at level %v: need a value, and a level between 0 and 1", n, level)
	}
	if n == 1 {
		return Interval{values[0], math.Inf(-1), math.Inf(1), 1}, nil
	}
	mean, dev := stat.MeanStdDev(values, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	half := t.Quantile(.5+level/2) * dev / math.Sqrt(float64(n))
	return Interval{mean, mean - half, mean + half, n}, nil
}

// BatchMeans returns the mean of values in order of time, with the confidence interval that the means of so many equal batches give; the
// remainder at the end is left out. Neighboring jobs' waits depend on each other, batches that are much longer than that dependence
// hardly do (A. Law, "Simulation Modeling and Analysis", on the method of batch means).
func BatchMeans(values []float64, batches int, level float64) (Interval, error) {
	if batches < 2 || len(values) < batches {
		return Interval{}, fmt.Errorf("%d batches of %d values: need at least 2, of a value each", batches, len(values))
	}
	size := len(values) / batches
	means := make([]float64, batches)
	for i := range means {
		means[i] = stat.Mean(values[i*size:(i+1)*size], nil)
	}
	return Confidence(means, level)
}
