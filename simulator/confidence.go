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
	N    int     `json:"n"` // number of values
}

// Confidence returns the mean of independent values with its confidence interval by Student's t. Such values come
// from the replicas of a simulation. level is a number such as 0.95. A single value gives an infinite interval, no
// value gives an error.
func Confidence(values []float64, level float64) (Interval, error) {
	n := len(values)
	if n == 0 || !(level > 0 && level < 1) {
		return Interval{},
			fmt.Errorf("confidence of %d values at level %v: need a value, and a level between 0 and 1", n, level)
	}
	if n == 1 {
		return Interval{values[0], math.Inf(-1), math.Inf(1), 1}, nil
	}
	mean, dev := stat.MeanStdDev(values, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	half := t.Quantile(.5+level/2) * dev / math.Sqrt(float64(n))
	return Interval{mean, mean - half, mean + half, n}, nil
}
