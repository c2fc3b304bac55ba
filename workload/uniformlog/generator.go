package uniformlog

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Class is a class of jobs of a [Generator]. Downey fits his law for each queue, with sequential jobs as a class of
// their own (1996, sec. 4).
type Class struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"` // share of the jobs; the sum of all weights is arbitrary
	Model  Model   `json:"model"`
	// Stages, if not nil, replace Model and Limit.
	Stages *Stages `json:"stages,omitempty"`
	// Limit is the time limit in seconds; longer lifetimes end at the limit. 0 means no limit; the law ends at its
	// TMax anyway.
	Limit float64 `json:"limit,omitempty"`
}

// Generator draws the classes and lifetimes of jobs. Sizes and arrivals are not part of Downey's model, and come from
// elsewhere. Only one goroutine may use a Generator.
type Generator struct {
	classes []Class
	upTo    []float64 // cumulative sums of the weights
	rng     *rand.Rand
}

// NewGenerator returns a generator that uses rng. Weights must be at least 0, and their sum must be positive. Models
// must be valid, and limits at least 0.
func NewGenerator(rng *rand.Rand, classes ...Class) (*Generator, error) {
	g := &Generator{classes: slices.Clone(classes), rng: rng}
	sum := 0.0
	for i, c := range classes {
		switch {
		case !(c.Weight >= 0) || math.IsInf(c.Weight, 1):
			return nil, fmt.Errorf("uniformlog: class %d (%q): weight %v: must be at least 0 and finite", i,
				c.Name, c.Weight)
		case c.Stages != nil:
			if err := c.Stages.validate(); err != nil {
				return nil, fmt.Errorf("uniformlog: class %d (%q): %w", i, c.Name, err)
			}
		case !c.Model.Valid():
			return nil, fmt.Errorf("uniformlog: class %d (%q): b0 %v and b1 %v are no distribution: b1 must be above 0",
				i, c.Name, c.Model.B0, c.Model.B1)
		case !(c.Limit >= 0):
			return nil, fmt.Errorf("uniformlog: class %d (%q): limit %v s: must be at least 0", i, c.Name, c.Limit)
		}
		sum += c.Weight
		g.upTo = append(g.upTo, sum)
	}
	if !(sum > 0) {
		return nil, errors.New("uniformlog: no class with a weight above 0 to draw from")
	}
	return g, nil
}

// Next draws a job: the index of its class and its lifetime in seconds.
func (g *Generator) Next() (class int, lifetimeSeconds float64) {
	u := g.rng.Float64() * g.upTo[len(g.upTo)-1]
	// Take the first class whose cumulative sum is above u. So classes with weight 0 are never drawn.
	class = min(slices.IndexFunc(g.upTo, func(s float64) bool { return s > u }), len(g.classes)-1)
	c := &g.classes[max(class, 0)]
	if c.Stages != nil {
		return max(class, 0), c.Stages.Rand(g.rng)
	}
	t := c.Model.Rand(g.rng)
	if c.Limit > 0 {
		t = min(t, c.Limit)
	}
	return max(class, 0), t
}

// Midpoint returns the model for another empirical cdf: the i-th smallest of n lifetimes has the value (i - 1/2)/n,
// the middle of its step. [Window.Fit] uses i/n, the top of the step. The line is therefore half a step lower.
func (f Fit) Midpoint() Model {
	if f.N == 0 {
		return f.Model
	}
	return Model{B0: f.B0 - .5/float64(f.N), B1: f.B1}
}
