package qbets

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// independentRun is the run of misses that is taken for a change where waits are independent: three in a row, as in the
// papers.
const independentRun = 3

// longestRun bounds the run that is waited for.
const longestRun = 50

// Run returns how many waits in a row must lie above the bound on the quantile q to be taken for a change, when
// successive waits (their logarithms) have the autocorrelation rho: as many as are as rare as three where waits are
// independent, (1-q)^3. The papers take such runs from simulated series; here they follow from a Gaussian
// autoregression of first order, by integrating over the values above the quantile again and again. rho is taken to be
// within [0, .95].
func Run(rho, q float64) int {
	rho = math.Min(math.Max(rho, 0), .95)
	rare := math.Pow(1-q, independentRun)
	if rho == 0 {
		return independentRun
	}
	// A grid over the values above the quantile, far enough that nothing is missed.
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
		if total <= rare*1.001 { // the grid is not exact
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

// correlation returns the autocorrelation of first order of the waits' logarithms, 0 where they do not vary.
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
