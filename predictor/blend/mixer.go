package blend

import (
	"math"
	"slices"
)

// mixer holds the weights of K experts for one level. It implements BOA with a separate rate for each expert, sleeping
// experts and fixed share. See the package comment for the sources.
type mixer struct {
	w     []float64 // weights; their sum over all experts is 1, except for rounding
	scale []float64 // E: largest |r| so far, discounted
	v     []float64 // V: discounted sum of r^2
	eta   []float64 // the rate that follows from scale and v
}

func newMixer(prior []float64) mixer {
	m := mixer{}
	for _, p := range prior {
		m.grow(p)
	}
	m.normalize()
	return m
}

// mixerParts is the number of slices of a mixer.
const mixerParts = 4

// memory is one block of memory that holds all slices of a copied Blend. It grows if it is too small.
type memory struct {
	mixers  []mixer
	numbers []float64
}

func (m *memory) copyMixers(all []mixer) []mixer {
	from := len(m.mixers)
	for i := range all {
		x := &all[i]
		m.mixers = append(m.mixers, mixer{w: m.copy(x.w), scale: m.copy(x.scale), v: m.copy(x.v), eta: m.copy(x.eta)})
	}
	return slices.Clip(m.mixers[from:])
}

// copy appends numbers to the block and returns the copied slice. An append to that slice allocates, so it cannot
// overwrite its neighbor in the block.
func (m *memory) copy(numbers []float64) []float64 {
	from := len(m.numbers)
	m.numbers = append(m.numbers, numbers...)
	return slices.Clip(m.numbers[from:])
}

// grow adds an expert with the weight p, relative to the present weights of the others. The caller normalizes the
// weights after one or more calls.
func (m *mixer) grow(p float64) {
	m.w = append(m.w, p)
	m.scale = append(m.scale, 0)
	m.v = append(m.v, 0)
	m.eta = append(m.eta, 1)
}

func (m *mixer) normalize() {
	sum := 0.0
	for _, w := range m.w {
		sum += w
	}
	for k := range m.w {
		m.w[k] = max(m.w[k]/sum, least)
	}
}

// least is the minimum of weights. It is above 0, because a weight of 0 could not rise.
const least = 1e-200

// mix returns the mean f of the awake experts' forecasts, weighted by weight times rate. mass is the sum of the weights
// of these experts, without the rates. Both are 0 if no expert is awake.
func (m *mixer) mix(x []float64) (f, mass float64) {
	sum := 0.0
	for k, z := range x {
		if awake(z) {
			w := m.w[k] * m.eta[k]
			f += w * z
			sum += w
			mass += m.w[k]
		}
	}
	if sum == 0 {
		return 0, 0
	}
	return f / sum, mass
}

// learn learns from the outcome y of the forecasts x for level p. prior has the weights, relative to each other, with
// which fixed share mixes. grown is scratch memory.
func (m *mixer) learn(x []float64, y, p float64, prior []float64, cfg *Config, grown []float64) {
	f, mass := m.mix(x)
	if mass == 0 {
		return
	}
	g := gradient(p, y, f)
	keep := 1 - 1/cfg.Memory
	priors, sum := 0.0, 0.0
	for k, z := range x {
		if !awake(z) {
			continue
		}
		r := g * (f - z) // regret against expert k, linearized
		eta := m.eta[k]
		grown[k] = m.w[k] * math.Exp(max(eta*r*(1-eta*r), -most))
		m.scale[k] = max(m.scale[k]*keep, math.Abs(r))
		m.v[k] = m.v[k]*keep + r*r
		m.eta[k] = m.rate(k, len(x))
		sum += grown[k]
		priors += prior[k]
	}
	// The awake experts share the mass that they had before, so that sleeping experts neither gain nor lose.
	for k, z := range x {
		if awake(z) {
			m.w[k] = max(mass*((1-cfg.Share)*grown[k]/sum+cfg.Share*prior[k]/priors), least)
		}
	}
}

// forget moves the weights towards the prior by a share. It raises the rates as if that share of the losses had not
// occurred.
func (m *mixer) forget(prior []float64, part float64) {
	total, sum := 0.0, 0.0
	for k := range m.w {
		total += m.w[k]
		sum += prior[k]
	}
	for k := range m.w {
		m.w[k] = max((1-part)*m.w[k]+part*total*prior[k]/sum, least)
		m.v[k] *= 1 - part
		m.eta[k] = m.rate(k, len(m.w))
	}
}

// most is the maximum decrease of the logarithm of a weight in one step. It matters for the first steps, whose scale
// is not known yet.
const most = 5

// rate returns BOA's adaptive rate min(1, 1/(2E), sqrt(ln(K)/V)) (Wintenberger 2017, section 3). It is 1 while V is 0.
// For fewer than e^2 experts K is e^2.
func (m *mixer) rate(k, experts int) float64 {
	if m.v[k] <= 0 {
		return 1
	}
	return max(min(1, 1/(2*m.scale[k]), math.Sqrt(math.Log(max(float64(experts), math.E*math.E))/m.v[k])), least)
}

// gradient returns a subgradient of the pinball loss at f; 0 at its kink.
func gradient(p, y, f float64) float64 {
	switch {
	case y > f:
		return -p
	case y < f:
		return 1 - p
	}
	return 0
}

// awake reports whether a forecast z = ln(wait + 60 s) counts. NaN, infinite and impossibly large values count as
// missing.
func awake(z float64) bool { return math.Abs(z) < 1e100 }
