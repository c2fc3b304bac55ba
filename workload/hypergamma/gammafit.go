package hypergamma

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

var (
	// ErrTooFew is returned if fewer values are given than a fit needs. Its text has the number.
	ErrTooFew = errors.New("too few values")
	// ErrNoSpread is returned if the values do not differ, or differ so little that no law can be fitted.
	ErrNoSpread = errors.New("values do not differ")
	// ErrValue is returned for a value that is NaN or out of range.
	ErrValue = errors.New("value out of range")
)

// maxShape is the maximum shape of a fitted Gamma law. The law's standard deviation is then 1/316 of its mean.
// Without this limit a component of a mixture could concentrate on one value, at which the likelihood is unbounded.
// The largest shape in the paper is 6,190 (Table 4).
const maxShape = 1e5

// moments are the sufficient statistics of a weighted sample for the likelihood of a Gamma law.
type moments struct {
	n    float64 // sum of the weights
	sum  float64 // weighted sum of x
	logs float64 // weighted sum of ln x
}

func (m *moments) add(x, ln, weight float64) {
	m.n += weight
	m.sum += weight * x
	m.logs += weight * ln
}

// fit returns the Gamma law with the greatest likelihood. Its mean is the mean of the sample. Its shape k solves ln k
// - digamma(k) = s, where s = ln(mean) - mean(ln x). fit starts at Minka's approximation and makes his Newton steps
// for 1/k; about 4 steps give all digits of a float64 ("Estimating a Gamma distribution", 2002). ok is false if the
// sample has no spread; then the shape is maxShape.
func (m moments) fit() (g Gamma, ok bool) {
	mean := m.sum / m.n
	s := math.Log(mean) - m.logs/m.n
	// for large k, s is about 1/(2k)
	if !(s > .5/maxShape) {
		return Gamma{Shape: maxShape, Scale: mean / maxShape}, false
	}
	k := (3 - s + math.Sqrt((s-3)*(s-3)+24*s)) / (12 * s)
	for range 20 {
		trigamma := mathext.Zeta(2, k)
		next := 1 / (1/k + (math.Log(k)-mathext.Digamma(k)-s)/(k*k*(1/k-trigamma)))
		if !(next > 0) || math.Abs(next-k) <= 1e-13*k {
			break
		}
		k = next
	}
	return Gamma{Shape: k, Scale: mean / k}, true
}

// FitGamma returns the Gamma law with the greatest likelihood for positive values. If weights is nil, all values have
// the same weight. At least two values with positive weight are needed. The error wraps [ErrTooFew], [ErrNoSpread] or
// [ErrValue].
func FitGamma(x, weights []float64) (Gamma, error) {
	if weights != nil && len(weights) != len(x) {
		return Gamma{}, fmt.Errorf("hypergamma: %d values with %d weights: %w", len(x), len(weights), ErrValue)
	}
	var m moments
	n := 0
	for i, v := range x {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		switch {
		case !(w >= 0) || math.IsInf(w, 1):
			return Gamma{}, fmt.Errorf("hypergamma: weight %d is %v: %w (0 or more expected)", i, w, ErrValue)
		case w == 0:
			continue
		case !(v > 0) || math.IsInf(v, 1):
			return Gamma{}, fmt.Errorf("hypergamma: value %d is %v: %w (above 0 expected)", i, v, ErrValue)
		}
		n++
		m.add(v, math.Log(v), w)
	}
	if n < 2 {
		return Gamma{}, fmt.Errorf("hypergamma: Gamma fit of %d values: %w (at least 2 needed)", n, ErrTooFew)
	}
	g, ok := m.fit()
	if !ok {
		return Gamma{}, fmt.Errorf("hypergamma: Gamma fit of %d values about %.6g: %w", n, m.sum/m.n, ErrNoSpread)
	}
	return g, nil
}

// LogProb returns the natural logarithm of the density at x. It is -Inf for x < 0. At 0 it is the limit.
func (g Gamma) LogProb(x float64) float64 {
	if x < 0 {
		return math.Inf(-1)
	}
	return g.density().log(x, math.Log(x))
}

// gammaDensity has the constants of a Gamma law's density, which take longer to compute than the density at one point.
type gammaDensity struct {
	constant, power, rate float64 // ln density = constant + power ln x - rate x
}

func (g Gamma) density() gammaDensity {
	rate := 1 / g.Scale
	lnGamma, _ := math.Lgamma(g.Shape)
	return gammaDensity{g.Shape*math.Log(rate) - lnGamma, g.Shape - 1, rate}
}

// log returns the natural logarithm of the density at x >= 0, whose logarithm is lnX.
func (g gammaDensity) log(x, lnX float64) float64 {
	if g.power == 0 { // even at x = 0, where lnX is infinite
		return g.constant - g.rate*x
	}
	return g.constant + g.power*lnX - g.rate*x
}

// LogProb returns the natural logarithm of the density at x. It does not underflow if x is far from both components.
func (l Law) LogProb(x float64) float64 { return l.logDensity()(x) }

// logDensity returns LogProb as a function, with which many values take less time.
func (l Law) logDensity() func(x float64) float64 {
	switch l.P {
	case 0:
		return l.Second.LogProb
	case 1:
		return l.First.LogProb
	}
	first, second := l.First.density(), l.Second.density()
	lnFirst, lnSecond := math.Log(l.P), math.Log1p(-l.P)
	return func(x float64) float64 {
		if x < 0 {
			return math.Inf(-1)
		}
		lnX := math.Log(x)
		a, b := lnFirst+first.log(x, lnX), lnSecond+second.log(x, lnX)
		if a < b {
			a, b = b, a
		}
		if math.IsInf(a, 0) {
			return a
		}
		return a + math.Log1p(math.Exp(b-a))
	}
}
