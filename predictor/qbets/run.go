package qbets

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// independentRun is the run of misses that counts as a change if waits are independent. It is three, as in the
// papers.
const independentRun = 3

// longestRun is the maximum run of misses that is required.
const longestRun = 50

// Run returns the number of successive waits above the bound on the quantile q that counts as a change. rho is the
// autocorrelation of (the logarithms of) successive waits; Run limits it to [0, 0.95]. A run of this length is as rare
// as three misses of independent waits, (1-q)^3, or has the maximum length 50. The papers take such runs from simulated
// series. Here they follow from a Gaussian autoregression of first order, by repeated integration over the values above
// the quantile.
func Run(rho, q float64) int {
	rho = math.Min(math.Max(rho, 0), .95)
	rare := math.Pow(1-q, independentRun)
	if rho == 0 {
		return independentRun
	}
	// The grid of values above the quantile is so wide that the rest has no noticeable probability.
	const steps = 200
	low := distuv.UnitNormal.Quantile(q)
	width := (math.Max(low, 0) + 8 - low) / steps
	noise := distuv.Normal{Sigma: math.Sqrt(1 - rho*rho)}
	density, next := make([]float64, steps), make([]float64, steps)
	at := func(i int) float64 { return low + (float64(i)+.5)*width }
	for i := range density {
		density[i] = distuv.UnitNormal.Prob(at(i))
	}
	for run := 1; run < longestRun; run++ {
		total := 0.0
		for _, d := range density {
			total += d * width
		}
		if total <= rare*1.001 { // with a tolerance, because the grid is not exact
			return run
		}
		for j := range next {
			sum := 0.0
			for i, d := range density {
				sum += d * noise.Prob(at(j)-rho*at(i))
			}
			next[j] = sum * width
		}
		density, next = next, density
	}
	return longestRun
}

// correlation returns the autocorrelation of first order of the logarithms of the waits, 0 if all are equal or there
// are fewer than three.
func correlation(waits []float64) float64 {
	if len(waits) < 3 {
		return 0
	}
	logs := make([]float64, len(waits))
	for i, w := range waits {
		logs[i] = math.Log1p(w)
	}
	r := stat.Correlation(logs[1:], logs[:len(logs)-1], nil)
	if math.IsNaN(r) {
		return 0
	}
	return r
}
