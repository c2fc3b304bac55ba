package hypergamma

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// MinSamples is the minimum number of values for the fit of a hyper-Gamma law, which has 5 parameters.
const MinSamples = 50

// Fit is a hyper-Gamma law with facts about its fit.
type Fit struct {
	Law
	N int `json:"n"` // number of fitted values
	// number of values of at most 1 s that were left out, because the law has no place for them; only for values in
	// seconds
	Dropped int     `json:"dropped"`
	Largest float64 `json:"largest"` // the largest fitted value
	// sum of the ln density over the fitted values, in ln seconds if seconds were fitted
	LogLikelihood float64 `json:"log_likelihood"`
	KS            float64 `json:"ks"`         // D of the paper, section 3.3.1
	Split         float64 `json:"split"`      // the medium minimum at which the fit started
	Iterations    int     `json:"iterations"` // number of steps of EM
	Converged     bool    `json:"converged"`  // false if EM ended after MaxIterations
}

// MaxIterations is the maximum number of steps of a fit. Fits with more than a few hundred steps are rare.
const MaxIterations = 5000

// tolerance is the gain in mean log-likelihood below which EM stops.
const tolerance = 1e-10

// spot is a value with its logarithm and its number of occurrences.
type spot struct{ x, ln, w float64 }

// tally sorts values and counts equal ones. Logs have whole seconds, so 100,000 runtimes have only about 10,000
// different values.
func tally(x []float64) []spot {
	sorted := slices.Sorted(slices.Values(x))
	var out []spot
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		out = append(out, spot{sorted[i], math.Log(sorted[i]), float64(j - i)})
		i = j
	}
	return out
}

// mixture is a Law with coefficients for a step of EM: the logarithm of P f1 / ((1-P) f2) is a + b ln x + c x.
type mixture struct {
	Law
	a, b, c float64
}

func newMixture(l Law) mixture {
	norm := func(g Gamma) float64 {
		lgamma, _ := math.Lgamma(g.Shape)
		return lgamma + g.Shape*math.Log(g.Scale)
	}
	return mixture{
		Law: l,
		a:   math.Log(l.P) - math.Log1p(-l.P) - norm(l.First) + norm(l.Second),
		b:   l.First.Shape - l.Second.Shape,
		c:   1/l.Second.Scale - 1/l.First.Scale,
	}
}

// share returns the probability that x belongs to First (the E-step).
func (m *mixture) share(s spot) float64 { return 1 / (1 + math.Exp(-(m.a + m.b*s.ln + m.c*s.x))) }

// step performs one step of EM (paper, section 3.2.3). Every value belongs to both components, with its shares as
// weights. Each component is fitted to the values with these weights. step also returns the log-likelihood of the old
// law. ok is false if a component has a total weight below 1.
func step(l Law, spots []spot) (next Law, logLikelihood float64, ok bool) {
	m := newMixture(l)
	lgamma, _ := math.Lgamma(l.Second.Shape)
	base := math.Log1p(-l.P) - lgamma - l.Second.Shape*math.Log(l.Second.Scale)
	var first, all moments
	for _, s := range spots {
		odds := m.a + m.b*s.ln + m.c*s.x
		// ln(P f1 + (1-P) f2) = ln((1-P) f2) + ln(1 + e^odds)
		logSecond := base + (l.Second.Shape-1)*s.ln - s.x/l.Second.Scale
		e := math.Exp(-math.Abs(odds))
		r := 1 / (1 + e)
		if odds < 0 {
			r = e / (1 + e)
		}
		logLikelihood += s.w * (logSecond + max(odds, 0) + math.Log1p(e))
		first.add(s.x, s.ln, s.w*r)
		all.add(s.x, s.ln, s.w)
	}
	second := moments{all.n - first.n, all.sum - first.sum, all.logs - first.logs}
	if first.n < 1 || second.n < 1 {
		return l, logLikelihood, false
	}
	next.P = first.n / all.n
	next.First, _ = first.fit()
	next.Second, _ = second.fit()
	return next, logLikelihood, true
}

// em repeats steps until a step gains less than tolerance in mean log-likelihood, but at most limit times.
func em(start Law, spots []spot, limit int) (l Law, steps int, converged bool) {
	n := 0.0
	for _, s := range spots {
		n += s.w
	}
	l = start
	last := math.Inf(-1)
	for steps = range limit {
		next, logLikelihood, ok := step(l, spots)
		if !ok || logLikelihood-last < tolerance*n && steps > 0 {
			return l, steps, true
		}
		l, last = next, logLikelihood
	}
	return l, limit, false
}

// mediumMinimum returns the value of the minimum between the two modes of the histogram (paper, section 3.2.3). It
// chooses the valley that is deepest below the lower of the highest peaks on its two sides. The histogram has 64 bins
// and is smoothed by a Gaussian of 1.5 bins. If there is no valley (one mode), mediumMinimum returns the median,
// because EM can start at any split.
func mediumMinimum(spots []spot) float64 {
	const bins, width = 64, 1.5
	low, high := spots[0].x, spots[len(spots)-1].x
	var raw, h [bins]float64
	n := 0.0
	for _, s := range spots {
		raw[min(int((s.x-low)/(high-low)*bins), bins-1)] += s.w
		n += s.w
	}
	for i := range h {
		for j := range raw {
			d := float64(i-j) / width
			h[i] += raw[j] * math.Exp(-d*d/2)
		}
	}
	var right [bins]float64 // right[i] is the highest bin from i on
	for i := bins - 1; i >= 0; i-- {
		right[i] = h[i]
		if i < bins-1 {
			right[i] = max(h[i], right[i+1])
		}
	}
	at, depth, left := -1, 0.0, 0.0
	for i, v := range h {
		left = max(left, v)
		if d := min(left, right[i]) - v; d > depth {
			at, depth = i, d
		}
	}
	if at >= 0 {
		return low + (float64(at)+.5)*(high-low)/bins
	}
	half := 0.0
	for _, s := range spots {
		if half += s.w; half >= n/2 && s.x > low {
			return s.x
		}
	}
	return high
}

// startAt splits the values and fits a Gamma law to each side.
func startAt(split float64, spots []spot) Law {
	var first, second moments
	for _, s := range spots {
		if s.x < split {
			first.add(s.x, s.ln, s.w)
		} else {
			second.add(s.x, s.ln, s.w)
		}
	}
	var l Law
	l.First, _ = first.fit()
	l.Second, _ = second.fit()
	l.P = first.n / (first.n + second.n)
	return l
}

// coarse joins neighboring values into at most bins intervals of equal width. Each is represented by its mean. If there
// are at most 2*bins values, it returns them as they are.
func coarse(spots []spot, bins int) []spot {
	if len(spots) <= 2*bins {
		return spots
	}
	low := spots[0].x
	width := (spots[len(spots)-1].x - low) / float64(bins)
	out := make([]spot, 0, bins)
	at := -1
	for _, s := range spots {
		bin := min(int((s.x-low)/width), bins-1)
		if bin != at {
			out, at = append(out, spot{}), bin
		}
		o := &out[len(out)-1]
		o.x += s.x * s.w
		o.ln += s.ln * s.w
		o.w += s.w
	}
	for i := range out {
		out[i].x /= out[i].w
		out[i].ln /= out[i].w
	}
	return out
}

// FitLaw fits a hyper-Gamma law to positive values by EM (paper, section 3.2.3). EM starts at the medium minimum. For
// runtimes see [FitRuntimes]. EM first runs on 1,000 groups of neighboring values and then on the values themselves.
// First is the component with the smaller mean. At least [MinSamples] values are needed. The error wraps [ErrTooFew],
// [ErrNoSpread] or [ErrValue].
func FitLaw(x []float64) (Fit, error) {
	if len(x) < MinSamples {
		return Fit{}, fmt.Errorf("hypergamma: fit of %d values: %w (at least %d needed)", len(x), ErrTooFew, MinSamples)
	}
	for i, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return Fit{}, fmt.Errorf("hypergamma: value %d is %v: %w (above 0 expected)", i, v, ErrValue)
		}
	}
	return fitSpots(tally(x))
}

// FitWeighted does the same as [FitLaw] for values with weights. Weights are at least 0, and their sum must be at
// least [MinSamples]. N is the sum of the weights, rounded.
func FitWeighted(x, weights []float64) (Fit, error) {
	if len(x) != len(weights) {
		return Fit{}, fmt.Errorf("hypergamma: %d values with %d weights: %w", len(x), len(weights), ErrValue)
	}
	spots := make([]spot, 0, len(x))
	sum := 0.0
	for i, v := range x {
		w := weights[i]
		if !(v > 0) || math.IsInf(v, 1) || !(w >= 0) || math.IsInf(w, 1) {
			return Fit{},
				fmt.Errorf("hypergamma: value %d is %v with weight %v: %w (above 0, and at least 0, expected)", i,
					v, w, ErrValue)
		}
		if w > 0 {
			spots = append(spots, spot{v, math.Log(v), w})
			sum += w
		}
	}
	if sum < MinSamples-.5 {
		return Fit{}, fmt.Errorf("hypergamma: fit of %.1f values: %w (at least %d needed)", sum, ErrTooFew, MinSamples)
	}
	slices.SortFunc(spots, func(a, b spot) int { return cmp.Compare(a.x, b.x) })
	return fitSpots(spots)
}

func fitSpots(spots []spot) (Fit, error) {
	var all moments
	for _, s := range spots {
		all.add(s.x, s.ln, s.w)
	}
	if _, ok := all.fit(); !ok || len(spots) < 3 {
		return Fit{}, fmt.Errorf("hypergamma: fit of %v values, %d of them distinct, about %.6g: %w", all.n, len(spots),
			all.sum/all.n, ErrNoSpread)
	}
	f := Fit{N: int(math.Round(all.n)), Largest: spots[len(spots)-1].x, Split: mediumMinimum(spots)}
	start := startAt(f.Split, spots)
	rough, n, _ := em(start, coarse(spots, 1000), MaxIterations)
	f.Law, f.Iterations, f.Converged = em(rough, spots, MaxIterations)
	f.Iterations += n
	if f.First.Mean() > f.Second.Mean() {
		f.First, f.Second, f.P = f.Second, f.First, 1-f.P
	}
	logProb := f.logDensity()
	for _, s := range spots {
		f.LogLikelihood += s.w * logProb(s.x)
	}
	f.KS = ksSpots(spots, all.n, f.CDF)
	return f, nil
}

// ksSpots returns D of the paper's section 3.3.1 for sorted values with counts.
func ksSpots(spots []spot, n float64, cdf func(float64) float64) (d float64) {
	return ksBelow(math.Inf(1), spots, n, cdf)
}

// ksBelow returns D if it is below the limit. Otherwise it may return early, with any value from the limit to D.
func ksBelow(limit float64, spots []spot, n float64, cdf func(float64) float64) (d float64) {
	below := 0.0
	for _, s := range spots {
		f := cdf(s.x)
		d = max(d, f-below/n, (below+s.w)/n-f)
		if d >= limit {
			return d
		}
		below += s.w
	}
	return d
}

// LogSeconds returns ln t of runtimes (or gaps, or amounts of work) in seconds, without values of 1 s or less. It
// also returns the number of these values. They are left out because ln 1 = 0 is outside a Gamma law. The paper does
// not say how it treats them. If the 196 such values of KTH (1 %) were raised to 1.5 s or 2 s, the first Gamma's
// shape would change from 4.9 to 3.9 or 4.2. The error wraps [ErrValue].
func LogSeconds(seconds []float64) (logs []float64, dropped int, err error) {
	logs = make([]float64, 0, len(seconds))
	for i, t := range seconds {
		switch {
		case !(t >= 0) || math.IsInf(t, 1):
			return nil, 0, fmt.Errorf("hypergamma: value %d is %v s: %w (0 or more expected)", i, t, ErrValue)
		case t > 1:
			logs = append(logs, math.Log(t))
		default:
			dropped++
		}
	}
	return logs, dropped, nil
}

// FitRuntimes fits the law of ln runtime (paper, section 5, Table 2) to runtimes in seconds. It leaves out runtimes
// of at most 1 s ([LogSeconds]). Everything else is as in [FitLaw].
func FitRuntimes(seconds []float64) (Fit, error) {
	logs, dropped, err := LogSeconds(seconds)
	if err != nil {
		return Fit{}, err
	}
	f, err := FitLaw(logs)
	f.Dropped = dropped
	return f, err
}

// FitWork fits the law of ln(processors * runtime) (paper, section 5.3, Table 3).
func FitWork(procs, seconds []float64) (Fit, error) {
	if len(procs) != len(seconds) {
		return Fit{}, fmt.Errorf("hypergamma: %d sizes with %d runtimes: %w", len(procs), len(seconds), ErrValue)
	}
	work := make([]float64, len(seconds))
	for i, t := range seconds {
		work[i] = procs[i] * t
	}
	return FitRuntimes(work)
}
