package hypergamma

import (
	"math"

	"gonum.org/v1/gonum/optimize"
)

// These are limits of the law that fitCycle finds. Beyond these limits the law extends so far outside the day that 48
// half hours cannot distinguish one law from another.
const (
	leastCycleShape = .5
	mostCycleMean   = 2 * Slots
)

// fitCycle returns the daily law whose weights ([ArrivalParams.Weights]) give the observed counts of the half hours
// the greatest likelihood.
//
// A Gamma law extends beyond the day: 2 % of the program's law is before the first slot or after the last. The
// weights leave this part out. Therefore draws by the weights have a smaller spread than the law, and the plain fit
// of Table 7 ([FitGamma] on slot numbers) does not find the law. From jobs drawn with 7.99 and 3.69 it finds 9.0 and
// 3.25. fitCycle finds the original values. It starts at the plain fit, and returns the plain fit if the search
// fails.
func fitCycle(counts *[Slots]float64, plain Gamma) Gamma {
	unpack := func(x []float64) Gamma { return Gamma{Shape: math.Exp(x[0]), Scale: math.Exp(x[1] - x[0])} }
	total := 0.0
	for _, n := range counts {
		total += n
	}
	loss := func(x []float64) float64 { // -ln likelihood per job
		g := unpack(x)
		if !(g.Shape >= leastCycleShape && g.Shape < maxShape && g.Mean() <= mostCycleMean && g.Mean() >= 1) {
			return math.Inf(1)
		}
		w, sum := ArrivalParams{Daily: g, Shift: dayShift, FirstSlot: 1}.rawWeights()
		loss := math.Log(sum)
		for k, n := range counts {
			if n > 0 {
				loss -= n / total * math.Log(w[k])
			}
		}
		if math.IsNaN(loss) {
			return math.Inf(1)
		}
		return loss
	}
	start := []float64{math.Log(plain.Shape), math.Log(plain.Mean())}
	if math.IsInf(loss(start), 1) {
		return plain
	}
	settings := &optimize.Settings{FuncEvaluations: 400,
		Converger: &optimize.FunctionConverge{Absolute: 1e-10, Iterations: 20}}
	best, err := optimize.Minimize(optimize.Problem{Func: loss}, start, settings,
		&optimize.NelderMead{SimplexSize: .05})
	if err != nil || !(best.F <= loss(start)) {
		return plain
	}
	return unpack(best.X)
}
