// Package linear learns quantiles online as linear functions of features. It is a plain model that is useful after a
// few dozen outcomes, until stronger models are trained.
//
// For each level p the pinball loss of target - (b + w.x) (R. Koenker and G. Bassett, "Regression quantiles",
// Econometrica 46, 1978) is lowered by stochastic subgradient steps. Each coefficient has its own rate, eta / sqrt(sum
// of squared gradients) (J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", JMLR 12, 2011, fig. 1). The
// regret against the best fixed coefficients is O(max|w| sum_i sqrt(sum_t g_ti^2)), so O(sqrt T) after T outcomes
// (theorem 5 there).
//
// Features are standardized by their running mean and deviation (as S. Ross, P. Mineiro and J. Langford, "Normalized
// online learning", UAI 2013, advise for features of unknown scale) and cut at 4 deviations. A missing feature (NaN)
// counts as its mean, and there is a coefficient for its being missing. The served quantiles use the running mean of
// the coefficients (B. Polyak and A. Juditsky, "Acceleration of stochastic approximation by averaging", SIAM J.
// Control Optim. 30, 1992). The window of the mean grows to Config.Window outcomes.
package linear

import (
	"fmt"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// Config configures a Model. The zero value of a field means its default.
type Config struct {
	// Levels are the quantile levels, rising within (0, 1); there is no default.
	Levels []float64
	// Features is the number of features.
	Features int
	// Rate is eta, in units of the target, 0.3 by default.
	Rate float64
	// Window is the number of outcomes over which coefficients are averaged, 500 by default. Memory is the number of
	// outcomes over which the sums of squared gradients and the features' moments extend, 20,000 by default.
	Window, Memory float64
}

func (c *Config) fill() error {
	last := 0.0
	for _, p := range c.Levels {
		if !(p > last && p < 1) {
			return fmt.Errorf("linear: levels %v: give rising numbers between 0 and 1", c.Levels)
		}
		last = p
	}
	if len(c.Levels) == 0 || c.Features < 0 {
		return fmt.Errorf("linear: %d levels, %d features: give at least one level, and no negative number of features",
			len(c.Levels), c.Features)
	}
	for _, d := range []struct {
		v *float64
		d float64
	}{{&c.Rate, .3}, {&c.Window, 500}, {&c.Memory, 20000}} {
		if *d.v == 0 {
			*d.v = d.d
		}
		if !(*d.v > 0) || math.IsInf(*d.v, 1) {
			return fmt.Errorf("linear: rate %g, window %g, memory %g: give positive numbers", c.Rate,
				c.Window, c.Memory)
		}
	}
	c.Levels = slices.Clone(c.Levels)
	return nil
}

// cut is the maximum absolute value of standardized features, in standard deviations. Larger values are replaced by
// it.
const cut = 4

// Model is a set of linear quantiles. It keeps scratch memory between calls and is not safe for concurrent use.
type Model struct {
	s state
	x []float64 // scratch: the constant 1, the standardized features, then indicators of missing features
}

// state is the saved state.
type state struct {
	Config   Config
	N        float64   // number of outcomes learnt
	Seen     []float64 // by feature: the discounted number of values, their mean and variance
	Mean     []float64
	Var      []float64
	Low, Top float64   // smallest and largest target
	W        []float64 // coefficients by level; within a level: constant, features, indicators of missing features
	G        []float64 // sums of squared gradients
	A        []float64 // averaged coefficients
}

// New returns a new Model.
func New(cfg Config) (*Model, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	m := &Model{}
	f := cfg.Features
	n := (1 + 2*f) * len(cfg.Levels)
	m.s = state{Config: cfg,
		Seen: make([]float64, f), Mean: make([]float64, f), Var: make([]float64, f),
		W: make([]float64, n), G: make([]float64, n), A: make([]float64, n)}
	m.x = make([]float64, 1+2*f)
	return m, nil
}

// N returns the number of outcomes learnt.
func (m *Model) N() int { return int(m.s.N) }

// Predict writes the quantiles of the target for the features x into out. They rise, and lie within the range of the
// targets so far. Predict returns false, with out unchanged, before the first outcome or if x or out has a wrong
// length. NaN and infinite features count as missing.
func (m *Model) Predict(x, out []float64) bool {
	if m.s.N == 0 || len(x) != m.s.Config.Features || len(out) != len(m.s.Config.Levels) {
		return false
	}
	m.standardize(x)
	for l := range out {
		out[l] = min(max(dot(m.row(m.s.A, l), m.x), m.s.Low), m.s.Top)
	}
	slices.Sort(out)
	return true
}

// Learn learns from the target y of the features x. Values that are not finite, and slices of a wrong length, are
// ignored.
func (m *Model) Learn(x []float64, y float64) {
	if len(x) != m.s.Config.Features || !finite(y) || math.Abs(y) > 1e100 {
		return
	}
	s := &m.s
	if s.N == 0 {
		s.Low, s.Top = y, y
		for l := range s.Config.Levels {
			m.row(s.W, l)[0], m.row(s.A, l)[0] = y, y
		}
	}
	s.N++
	s.Low, s.Top = min(s.Low, y), max(s.Top, y)
	m.moments(x)
	m.standardize(x)
	keep := 1 - 1/s.Config.Memory
	pace := 1 / min(s.N, s.Config.Window)
	for l, p := range s.Config.Levels {
		w, g, a := m.row(s.W, l), m.row(s.G, l), m.row(s.A, l)
		slope := 0.0
		switch f := dot(w, m.x); {
		case y > f:
			slope = -p
		case y < f:
			slope = 1 - p
		}
		for i, v := range m.x {
			d := slope * v
			if square := d * d; square > 0 { // a smaller d has a square of 0, which would make the step infinite
				g[i] = g[i]*keep + square
				w[i] -= s.Config.Rate * d / math.Sqrt(g[i])
			}
			a[i] += pace * (w[i] - a[i])
		}
	}
}

// Hasten makes the steps longer by a factor, at least 1, at the next outcome. It divides the sums of squared
// gradients by the square of the factor. They grow again with further outcomes, and the steps become shorter as they
// did at first. Learned coefficients are kept. Invalid factors are ignored.
func (m *Model) Hasten(factor float64) {
	if !(factor >= 1) || math.IsInf(factor, 1) {
		return
	}
	for i, g := range m.s.G {
		m.s.G[i] = max(g/(factor*factor), min(g, least))
	}
}

// least is the minimum to which Hasten lowers a sum of squared gradients. A sum that is smaller already, such as 0 for
// a coefficient whose gradient was always 0, stays as it is.
const least = 1e-100

func (m *Model) row(v []float64, l int) []float64 {
	n := len(m.x)
	return v[l*n : (l+1)*n]
}

// moments updates the running means and variances of the features (B. Welford, Technometrics 4, 1962). Values older
// than about Config.Memory outcomes fade.
func (m *Model) moments(x []float64) {
	s := &m.s
	for i, v := range x {
		if !usable(v) {
			continue
		}
		s.Seen[i] = min(s.Seen[i]+1, s.Config.Memory)
		d := v - s.Mean[i]
		s.Mean[i] += d / s.Seen[i]
		s.Var[i] += (d*(v-s.Mean[i]) - s.Var[i]) / s.Seen[i]
	}
}

// standardize fills m.x from the features.
func (m *Model) standardize(x []float64) {
	m.x[0] = 1
	for i, v := range x {
		z, missing := 0.0, 0.0
		switch sd := math.Sqrt(m.s.Var[i]); {
		case !usable(v):
			missing = 1
		case sd > 0:
			z = min(max((v-m.s.Mean[i])/sd, -cut), cut)
		}
		m.x[1+i], m.x[1+len(x)+i] = z, missing
	}
}

func dot(w, x []float64) float64 {
	f := 0.0
	for i, v := range x {
		f += w[i] * v
	}
	return f
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// usable reports whether a feature counts. A value counts as missing if it or its square is not finite.
func usable(v float64) bool { return math.Abs(v) < 1e100 }

// Clone returns an independent copy.
func (m *Model) Clone() *Model {
	c := &Model{s: m.s, x: slices.Clone(m.x)}
	for _, v := range c.s.values() {
		*v = slices.Clone(*v)
	}
	return c
}

// kind and version identify the format of the saved state.
const kind, version = "linear", 2

// values returns pointers to the slices, in the order in which they are saved. The first featureValues of them are by
// feature, the others by coefficient.
func (s *state) values() []*[]float64 {
	return []*[]float64{&s.Seen, &s.Mean, &s.Var, &s.W, &s.G, &s.A}
}

const featureValues = 3

// fields reads or writes all saved state.
func (m *Model) fields(c *codec.Codec) {
	s := &m.s
	c.Reals(&s.Config.Levels)
	c.Int(&s.Config.Features)
	c.Finite(&s.Config.Rate, &s.Config.Window, &s.Config.Memory, &s.N, &s.Low, &s.Top)
	if c.Reading {
		c.Refuse(s.Config.fill())
	}
	features := s.Config.Features
	coefficients := (1 + 2*features) * len(s.Config.Levels)
	for i, v := range s.values() {
		n := features
		if i >= featureValues {
			n = coefficients
		}
		c.Reals(v)
		c.Check(len(*v) == n, "%d values where %d belong", len(*v), n)
		c.Check(!slices.ContainsFunc(*v, math.IsNaN), "a value is no number")
	}
	if c.Reading && !c.Bad {
		m.x = make([]float64, 1+2*features)
	}
}

// Code reads or writes the model as a part of other saved state.
func (m *Model) Code(c *codec.Codec) { c.Part(kind, version, m.fields) }

// MarshalBinary saves the state. Equal histories give equal bytes, in every process.
func (m *Model) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary restores a state that MarshalBinary saved. An error is a *codec.Error and leaves the Model
// unchanged.
func (m *Model) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Model).fields)
}
