package hypergamma

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Job is one generated job.
type Job struct {
	Submit  float64 // seconds since the start, which is at midnight; never before the previous job's
	Procs   int     // processors, at least 1
	Runtime float64 // seconds, at least 1, because the logarithm is not negative
	Class   int     // index of its parameter set in the call of New
}

// Rand draws a number of processors (paper, Figure 2). If the size becomes a power of two, it becomes the nearest one
// in log2, halves up, but at most 2^High. So no job is larger than the machine. The paper and the program have no such
// limit.
func (s SizeParams) Rand(rng *rand.Rand) int {
	if rng.Float64() < s.Serial {
		return 1
	}
	from, to := s.Low, s.Medium
	if rng.Float64() >= s.Prob {
		from, to = s.Medium, s.High
	}
	x := from + (to-from)*rng.Float64()
	if rng.Float64() < s.PowerOfTwo {
		x = min(math.Floor(x+.5), math.Floor(s.High))
	}
	return max(1, int(math.Round(math.Exp2(x))))
}

// Law returns the law of ln runtime of a job with the given number of processors, without the cap. The paper's
// section 6.3 states that p = 0 leaves only the first Gamma law. By the paper's own definition of p it leaves the
// second law, and so it does here.
func (r RuntimeParams) Law(procs int) Law {
	p := min(max(r.PA*float64(procs)+r.PB, 0), 1)
	return Law{First: r.First, Second: r.Second, P: p}
}

// Rand draws a runtime in seconds for a job of the given number of processors.
func (r RuntimeParams) Rand(rng *rand.Rand, procs int) float64 {
	if len(r.Groups) > 0 {
		return r.Groups[r.at(procs)].rand(rng)
	}
	law := r.Law(procs)
	for {
		if x := law.Rand(rng); x <= r.MaxLog {
			return math.Exp(x)
		}
	}
}

// Generator draws jobs from one or more sets of parameters. Each set is a stream of its own. The streams are merged
// in order of submission. Only one goroutine at a time may use a Generator.
type Generator struct {
	rng     *rand.Rand
	sets    []Params
	streams []*Arrivals
	next    []float64 // time of the next submission of each stream
}

// New returns a Generator that starts at midnight. The same seed of rng gives the same jobs.
func New(rng *rand.Rand, sets ...Params) (*Generator, error) {
	if len(sets) == 0 {
		return nil, errors.New("workload generator: no parameter set given")
	}
	g := &Generator{rng: rng, sets: sets}
	for i, p := range sets {
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("workload generator: parameter set %d: %w", i, err)
		}
		a := NewArrivals(p.Arrival)
		g.streams = append(g.streams, a)
		g.next = append(g.next, a.Next(rng))
	}
	return g, nil
}

// Next returns the next job. Of two jobs with equal submit times, the job of the first set comes first.
func (g *Generator) Next() Job {
	class := 0
	for i, t := range g.next {
		if t < g.next[class] {
			class = i
		}
	}
	p := &g.sets[class]
	j := Job{Submit: g.next[class], Procs: p.Size.Rand(g.rng), Class: class}
	j.Runtime = p.Runtime.Rand(g.rng, j.Procs)
	g.next[class] = g.streams[class].Next(g.rng)
	return j
}
