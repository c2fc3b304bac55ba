package livemodels

import (
	"math"
	"sort"

	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
)

// piecewiseSurvival is a survival function of lifetimes that is piecewise linear in ln t, so that it is fast to
// evaluate. X and S are its knots. Where it jumps, two knots have the same X. It is immutable.
type piecewiseSurvival struct {
	X []float64 // ln seconds, never falling
	S []float64 // Pr{lifetime > t}, never rising
}

const (
	// shortest is the minimum lifetime in seconds. Shorter lifetimes are set to it, because logs are not more precise.
	shortest = .01
	// survivalSteps is the number of steps by which a law without a formula is approximated. Every step stands for the
	// same share of the jobs. A jump by at most this share becomes a slope.
	survivalSteps = 256
	// survivalWidth is the distance in ln t between two knots for a smooth law. It keeps the error of linear
	// interpolation below 0.002, even for the narrowest laws that are fitted.
	survivalWidth = .05
	// survivalEnd is the probability of survival below which the piecewise form of a smooth law ends.
	survivalEnd = 1e-6
)

// piecewise returns the piecewise linear form of a law, nil if law is nil.
func piecewise(law lifetime.Law) *piecewiseSurvival {
	switch l := law.(type) {
	case nil:
		return nil
	case lifetime.UniformLog: // its cdf is linear in ln t between its bounds
		return newPiecewiseSurvival([]float64{math.Log(l.TMin()), math.Log(l.TMax())}, []float64{1, 0})
	case lifetime.AtLimit:
		end := math.Log(l.Limit)
		top := min(math.Log(l.TMax()), end)
		low := min(math.Log(l.TMin()), top)
		return newPiecewiseSurvival([]float64{low, top, end}, []float64{1, max(0, min(1, 1-l.B0-l.B1*top)), 0})
	case lifetime.HyperGamma:
		return piecewiseSmooth(l)
	}
	return piecewiseSteps(law)
}

func newPiecewiseSurvival(x, s []float64) *piecewiseSurvival {
	least := math.Log(shortest)
	for i := range x {
		x[i] = max(x[i], least)
	}
	return &piecewiseSurvival{x, s}
}

// piecewiseSmooth approximates a hyper-Gamma law, in which ln lifetime is above 0. The share Short of the jobs, with
// lifetimes of at most 1 s, becomes a jump at 1 s.
func piecewiseSmooth(l lifetime.HyperGamma) *piecewiseSurvival {
	x, s := []float64{0, 0}, []float64{1, 1 - l.Short}
	end := math.Log(math.Exp2(31)) // longer lifetimes are not distinguished
	if q := quantileBound(l.Log); q < end {
		end = q
	}
	for at := survivalWidth; at < end && s[len(s)-1] > survivalEnd; at += survivalWidth {
		x, s = append(x, at), append(s, min(s[len(s)-1], l.Survival(math.Exp(at))))
	}
	last := x[len(x)-1]
	return newPiecewiseSurvival(append(x, last+survivalWidth), append(s, 0))
}

// quantileBound returns an x beyond which the law has negligible probability. For both Gammas it is at least 12
// standard deviations above the mean.
func quantileBound(l hypergamma.Law) float64 {
	bound := 0.0
	for _, g := range [...]hypergamma.Gamma{l.First, l.Second} {
		bound = max(bound, g.Mean()+12*math.Sqrt(g.Shape)*g.Scale)
	}
	return bound
}

// piecewiseSteps approximates a law without a formula by survivalSteps quantiles, and keeps its jumps.
func piecewiseSteps(law lifetime.Law) *piecewiseSurvival {
	var x, s []float64
	for i := range survivalSteps + 1 {
		t := law.Quantile(float64(i) / survivalSteps)
		at := math.Log(max(t, shortest))
		if len(x) > 0 && at <= x[len(x)-1] {
			continue
		}
		before, after := law.Survival(math.Nextafter(t, -1)), law.Survival(t)
		if len(x) == 0 || before-after > 1./survivalSteps {
			x, s = append(x, at), append(s, before)
		}
		x, s = append(x, at), append(s, after)
	}
	return newPiecewiseSurvival(x, s)
}

// Survival implements headqueue.Lifetime.
func (d *piecewiseSurvival) Survival(seconds float64) float64 {
	at := math.Log(seconds)
	if !(seconds > 0) || at < d.X[0] {
		return 1
	}
	n := sort.Search(len(d.X), func(i int) bool { return d.X[i] > at })
	if n == len(d.X) {
		return d.S[n-1]
	}
	from, to := d.X[n-1], d.X[n]
	return d.S[n-1] + (d.S[n]-d.S[n-1])*(at-from)/(to-from)
}
