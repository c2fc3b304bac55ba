// Package hypergamma fits and generates the workload model of Lublin and Feitelson: sizes, runtimes and arrivals of
// rigid jobs.
//
// [FitModel] fits the model to a log. [Live] fits it to a queue while its jobs come and end. [Named] returns the
// parameters that the authors give. [Generator] draws jobs. The parts can be used alone: [FitGamma], [FitLaw] (EM),
// [FitSizes], [FitRuntimeModel], [FitArrivals], [FitWork], and the tests of goodness [KS], [SubsampleTest] and
// [ChiSquared].
//
// Source of every formula: U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the
// characteristics of rigid jobs", J. Parallel and Distributed Computing 63(11), 2003 (called "the paper" below). The
// authors' own program (version lublin99) is called "the program". If the program differs from the paper, the comment
// of the function says so.
//
// Gamma laws are given by shape alpha and scale beta as in the paper; their mean is alpha*beta. Times are in seconds.
package hypergamma

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Gamma is a Gamma law on (0, inf) with density x^(Shape-1) e^(-x/Scale) / (Gamma(Shape) Scale^Shape).
type Gamma struct {
	Shape float64 `json:"shape"` // alpha > 0
	Scale float64 `json:"scale"` // beta > 0
}

// dist returns the law as a gonum distribution, whose Beta is a rate.
func (g Gamma) dist(src rand.Source) distuv.Gamma {
	return distuv.Gamma{Alpha: g.Shape, Beta: 1 / g.Scale, Src: src}
}

// Mean returns Shape * Scale.
func (g Gamma) Mean() float64 { return g.Shape * g.Scale }

// CDF returns Pr{X <= x}. It is 0 for x <= 0.
func (g Gamma) CDF(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x <= 0:
		return 0
	case math.IsInf(x, 1):
		return 1
	}
	return g.dist(nil).CDF(x)
}

// Survival returns Pr{X > x}. In the tail it is more accurate than 1 - CDF.
func (g Gamma) Survival(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x <= 0:
		return 1
	case math.IsInf(x, 1):
		return 0
	}
	return mathext.GammaIncRegComp(g.Shape, x/g.Scale)
}

// Prob returns the density at x. It is 0 for x < 0. At 0 it is infinite for shapes below 1.
func (g Gamma) Prob(x float64) float64 { return g.dist(nil).Prob(x) }

// Quantile returns the x with CDF(x) = p, for p in [0, 1]. It returns NaN for any other p. For shapes far below 1,
// which the model never has, gonum's inverse may give 0 for p below 1e-5.
func (g Gamma) Quantile(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 1:
		return math.Inf(1)
	}
	return g.dist(nil).Quantile(p)
}

func (g Gamma) check(name string) error {
	if !(g.Shape > 0) || !(g.Scale > 0) || math.IsInf(g.Shape, 0) || math.IsInf(g.Scale, 0) {
		return fmt.Errorf("%s: shape %v and scale %v must be positive and finite", name, g.Shape, g.Scale)
	}
	return nil
}

// Law is the hyper-Gamma law (paper, section 3.1): First with probability P, and Second otherwise.
type Law struct {
	First  Gamma   `json:"first"`
	Second Gamma   `json:"second"`
	P      float64 `json:"p"` // weight of First, in [0, 1]
}

// Mean returns P First.Mean + (1-P) Second.Mean.
func (l Law) Mean() float64 { return l.P*l.First.Mean() + (1-l.P)*l.Second.Mean() }

// CDF returns Pr{X <= x}.
func (l Law) CDF(x float64) float64 { return l.P*l.First.CDF(x) + (1-l.P)*l.Second.CDF(x) }

// Survival returns Pr{X > x}.
func (l Law) Survival(x float64) float64 {
	return l.P*l.First.Survival(x) + (1-l.P)*l.Second.Survival(x)
}

// Prob returns the density at x.
func (l Law) Prob(x float64) float64 {
	switch l.P { // a component with weight 0 may have an infinite density at 0
	case 0:
		return l.Second.Prob(x)
	case 1:
		return l.First.Prob(x)
	}
	return l.P*l.First.Prob(x) + (1-l.P)*l.Second.Prob(x)
}

// Quantile returns the x with CDF(x) = p, for p in [0, 1], to the last bits. It returns NaN for any other p. There is
// no formula. The result is between the quantiles of the two components, and is found by repeated halving of this
// interval.
func (l Law) Quantile(p float64) float64 {
	switch l.P {
	case 0:
		return l.Second.Quantile(p)
	case 1:
		return l.First.Quantile(p)
	}
	lo, hi := l.First.Quantile(p), l.Second.Quantile(p)
	if lo > hi {
		lo, hi = hi, lo
	}
	if math.IsNaN(lo) || math.IsInf(hi, 1) || lo == hi {
		return hi
	}
	upper := p > 0.5 // use the smaller tail, which is more accurate
	for {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			return mid
		}
		if below := l.CDF(mid) < p; !upper && below || upper && l.Survival(mid) > 1-p {
			lo = mid
		} else {
			hi = mid
		}
	}
}

// Rand draws from the law.
func (l Law) Rand(rng *rand.Rand) float64 {
	g := l.Second
	if rng.Float64() < l.P {
		g = l.First
	}
	return g.dist(rng).Rand()
}
