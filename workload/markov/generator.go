package markov

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ErrEmpty is returned if jobs should be drawn from chains that have not learnt from any job.
var ErrEmpty = errors.New("markov: no jobs to learn from yet")

// Generator draws jobs from a pair of chains. Only one goroutine may use it.
//
// Each job is a transition in both chains. Then the three rules of Song et al. 2004, sec. 4.2, adjust the new
// processor state, and the chain continues from the adjusted state. The paper leaves three details open. Here the
// adjusted state is rounded to the nearest state (halves away from zero; see [WithRounding]) and limited to the
// existing states. A negative cor0 never adjusts, because its rule needs a probability (see [WithMagnitudeOfCor0]).
// The first job's states are drawn by their counts.
type Generator struct {
	chains  *Chains
	rng     *rand.Rand
	variant variant

	procs, runtime walk
	ratio          float64 // a/b: the number of processor states divided by the number of runtime states
	// associated is for joint sizes. It has one walk of the processors' chain for each state of the runtime.
	associated []walk
}

// A walk has the cumulative sums of a chain's transitions, with those of the chain's counts as the last row, and the
// present state.
type walk struct {
	rows [][]float64
	at   int // present state; -1 before the first job
}

// Rounding is the way in which the processor state that rule 2 or 3 gives becomes a whole number.
type Rounding int

// The paper does not say how it rounds. For KTH the difference of the squashed area is +22 % with Nearest, +16 % with
// Down and +30 % with Up (the paper's Table 4: +15 %).
const (
	Nearest Rounding = iota // halves away from zero
	Down                    // towards smaller jobs
	Up                      // towards larger jobs
)

type variant struct {
	rounding  Rounding
	forgetful bool
	plain     bool
	magnitude bool
	joint     bool
}

// Option selects another interpretation of the paper for a [Generator].
type Option func(*variant)

// WithRounding changes how adjusted states are rounded.
func WithRounding(r Rounding) Option { return func(v *variant) { v.rounding = r } }

// WithoutFeedback makes the processors' chain continue from the state that it drew, not from the adjusted one.
func WithoutFeedback() Option { return func(v *variant) { v.forgetful = true } }

// WithoutRules leaves the chains independent of each other.
func WithoutRules() Option { return func(v *variant) { v.plain = true } }

// WithMagnitudeOfCor0 uses the magnitude of a negative cor0 as the probability of rule 2, as rule 3 uses the
// magnitude of cor1. This is the other interpretation of a rule that needs a probability.
func WithMagnitudeOfCor0() Option { return func(v *variant) { v.magnitude = true } }

// WithJointSizes replaces the paper's three rules. They keep the correlation of the states, but not the pairs of
// states that jobs have. With this option, the next processor state is drawn by its probability in the chain times a
// weight of both states. The weights make pairs as frequent as in the log. So long runtimes occur with large sizes as
// often as in the log, and both chains stay unchanged. The option needs chains of [Model.Chains]. A copy that was
// written and read again does not have the pairs; for it, NewGenerator returns [ErrEmpty].
func WithJointSizes() Option { return func(v *variant) { v.joint = true } }

// NewGenerator returns a generator that uses rng. The chains must not be changed while the generator is in use. It
// returns [ErrEmpty] if they have no states.
func NewGenerator(c *Chains, rng *rand.Rand, options ...Option) (*Generator, error) {
	if len(c.Procs.States) == 0 || len(c.Runtime.States) == 0 {
		return nil, ErrEmpty
	}
	var v variant
	for _, o := range options {
		o(&v)
	}
	g := &Generator{
		variant: v,
		chains:  c,
		rng:     rng,
		procs:   newWalk(&c.Procs),
		runtime: newWalk(&c.Runtime),
		ratio:   float64(len(c.Procs.States)) / float64(len(c.Runtime.States)),
	}
	if v.joint {
		if len(c.joint) == 0 {
			return nil, fmt.Errorf("%w: the chains have no pairs of states", ErrEmpty)
		}
		g.associated = newAssociated(c)
	}
	return g, nil
}

func newWalk(c *Chain) walk {
	w := walk{at: -1}
	for _, row := range append(slices.Clone(c.Transitions), c.Counts) {
		sums := make([]float64, len(row))
		var sum float64
		for i, p := range row {
			sum += p
			sums[i] = sum
		}
		w.rows = append(w.rows, sums)
	}
	return w
}

// draw draws the next state. Without a present state it draws by the counts.
func (w *walk) draw(rng *rand.Rand) int {
	from := w.at
	if from < 0 {
		from = len(w.rows) - 1
	}
	sums := w.rows[from]
	u := rng.Float64() * sums[len(sums)-1]
	// Take the first state whose cumulative sum is above u. So states with probability 0 are never drawn.
	for i, sum := range sums {
		if sum > u {
			return i
		}
	}
	return len(sums) - 1
}

// Next draws the next job: its processors and its runtime in seconds, a whole number.
func (g *Generator) Next() (procs int, runtimeSeconds float64) {
	j, m := g.procs.at, g.runtime.at
	if g.associated != nil {
		n := g.runtime.draw(g.rng)
		w := &g.associated[n]
		w.at = j
		g.procs.at, g.runtime.at = w.draw(g.rng), n
		return int(g.chains.Procs.draw(g.procs.at, g.rng)), float64(g.chains.Runtime.draw(n, g.rng))
	}
	k, n := g.procs.draw(g.rng), g.runtime.draw(g.rng)
	g.procs.at, g.runtime.at = k, n
	if j >= 0 && k != j && !g.variant.plain {
		k = g.adjust(j, k, m, n)
		if !g.variant.forgetful {
			g.procs.at = k
		}
	}
	return int(g.chains.Procs.draw(k, g.rng)), float64(g.chains.Runtime.draw(n, g.rng))
}

// adjust applies rules 2 and 3 to a processor state that changes from j to k, while the runtime state changes from m
// to n. The rules count states from 1.
func (g *Generator) adjust(j, k, m, n int) int {
	probability, to := g.chains.Cor0, float64(n+1)*g.ratio
	if g.variant.magnitude {
		probability = math.Abs(probability)
	}
	if m != n {
		change := float64(n-m) * g.ratio
		if g.chains.Cor1 < 0 {
			change = -change
		}
		probability, to = math.Abs(g.chains.Cor1), float64(j+1)+change
	}
	if g.rng.Float64() >= probability {
		return k
	}
	switch g.variant.rounding {
	case Down:
		to = math.Floor(to)
	case Up:
		to = math.Ceil(to)
	default:
		to = math.Round(to)
	}
	return min(max(int(to)-1, 0), len(g.chains.Procs.States)-1)
}

// draw draws a value in state j. With probability c_j it is exactly the power of two. Otherwise it is any whole number
// from there to below the next power of two, which is l_(j+1) of Song et al. 2004 (eq. 3) even if its state never
// occurred. The value is at most the largest observed value.
func (c *Chain) draw(j int, rng *rand.Rand) int64 {
	low := c.States[j]
	if rng.Float64() < c.Quality[j] {
		return low
	}
	width := min(low, c.Max-low+1)
	return low + rng.Int64N(max(width, 1))
}
