package hypergamma

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// SizeFit is the size model of a log (paper, section 4, Table 1), with measures of its fit.
type SizeFit struct {
	// Params has p1, l, m, h and p. Its PowerOfTwo is the paper's p2: the share of powers of two among the parallel
	// jobs.
	Params SizeParams `json:"params"`
	// Rounded is the PowerOfTwo with which the model's jobs have this share. It is smaller than p2, because some jobs
	// that are not rounded also have a power of two. Generated sizes have the log's share if Rounded is used in place
	// of p2.
	Rounded float64 `json:"rounded"`
	N       int     `json:"n"`        // number of jobs
	Jobs    int     `json:"parallel"` // number of parallel jobs
	// KS is the distance between the sizes of the parallel jobs and the model's sizes, which are rounded to powers of
	// two or whole processors.
	KS float64 `json:"ks"`
}

// MinParallel is the minimum number of parallel jobs for the fit of the two-stage uniform law.
const MinParallel = 20

type sizeCount struct {
	procs int
	n     float64
}

func countSizes(procs []int) ([]sizeCount, error) {
	seen := map[int]float64{}
	for i, p := range procs {
		if p < 1 || p > 1<<30 {
			return nil, fmt.Errorf("hypergamma: job %d has %d processors: %w (1 to 2^30 expected)", i, p, ErrValue)
		}
		seen[p]++
	}
	out := make([]sizeCount, 0, len(seen))
	for p, n := range seen {
		out = append(out, sizeCount{p, n})
	}
	slices.SortFunc(out, func(a, b sizeCount) int { return cmp.Compare(a.procs, b.procs) })
	return out, nil
}

// FitSizes fits the size model to the numbers of processors of jobs. The machine has at most machine processors; 0
// means as many as the largest job.
//
// p1 and p2 are shares. The paper does not say how it found l, m, h and p. Here h is log2 of the machine, as in its
// Table 1. l, m and p minimize [SizeFit].KS. l is at most 0.5 below the log2 of the smallest parallel size, so that
// rounding can give that size. If there are fewer than [MinParallel] parallel jobs, or all have the same size, the fit
// is the reduced model for small machines, which has one uniform part. The error wraps [ErrTooFew] or [ErrValue].
func FitSizes(procs []int, machine int) (SizeFit, error) {
	if len(procs) < MinParallel {
		return SizeFit{},
			fmt.Errorf("hypergamma: fit of %d sizes: %w (at least %d needed)", len(procs), ErrTooFew, MinParallel)
	}
	counts, err := countSizes(procs)
	if err != nil {
		return SizeFit{}, err
	}
	return fitSizeCounts(counts, float64(len(procs)), machine), nil
}

// fitSizeCounts fits the law of sizes to counted sizes, of which there is at least one. n is the sum of the counts.
func fitSizeCounts(counts []sizeCount, n float64, machine int) SizeFit {
	machine = max(machine, counts[len(counts)-1].procs)
	f := SizeFit{N: int(math.Round(n))}
	f.Params = SizeParams{High: math.Log2(float64(machine)), Prob: 0}
	if counts[0].procs == 1 {
		f.Params.Serial = counts[0].n / n
		counts = counts[1:]
	}
	if len(counts) == 0 {
		f.Params.Serial = 1
		return f
	}
	powers, parallel := 0.0, 0.0
	for _, c := range counts {
		parallel += c.n
		if c.procs&(c.procs-1) == 0 {
			powers += c.n
		}
	}
	f.Jobs = int(math.Round(parallel))
	f.Params.PowerOfTwo = powers / parallel
	least := math.Log2(float64(counts[0].procs))
	f.Params.Low = max(least-.2, math.Log2(1.5))
	f.Params.Medium = f.Params.Low
	edges := sizeEdges(counts, parallel, f.Params.High)
	if f.Jobs >= MinParallel && len(counts) > 1 {
		f.Params = fitStages(f.Params, least, thin(edges, 512))
	}
	f.KS = f.Params.distance(edges)
	f.Rounded = f.Params.roundedFor(f.Params.PowerOfTwo)
	return f
}

// stages returns the two-stage uniform cdf of log2 size (paper, section 3.1).
func (s SizeParams) stages(x float64) float64 {
	switch {
	case x >= s.High:
		return 1
	case x <= s.Low:
		return 0
	case x < s.Medium:
		return s.Prob * (x - s.Low) / (s.Medium - s.Low)
	}
	return s.Prob + (1-s.Prob)*(x-s.Medium)/(s.High-s.Medium)
}

// CDF returns the share of jobs with at most procs processors among the jobs that [SizeParams.Rand] draws.
func (s SizeParams) CDF(procs int) float64 {
	if procs < 1 {
		return 0
	}
	return s.Serial + (1-s.Serial)*s.parallelCDF(procs)
}

// parallelCDF returns the cdf of the parallel jobs, that is, of the jobs that are not made serial by p1.
func (s SizeParams) parallelCDF(procs int) float64 {
	plain := s.stages(math.Log2(float64(procs) + .5))
	exponent := math.Floor(math.Log2(float64(procs)))
	rounded := s.stages(exponent + .5)
	if exponent >= math.Floor(s.High) {
		rounded = 1
	}
	return (1-s.PowerOfTwo)*plain + s.PowerOfTwo*rounded
}

// sizeEdge has, for one size, the log2 of the edges at which the model's cdf is computed, with and without rounding
// to a power of two. They are computed once, so that a search does not compute logarithms again and again.
type sizeEdge struct {
	plain, rounded         float64 // edges of the size itself
	plainBelow, roundBelow float64 // edges of the size minus 1
	upTo, below            float64 // the log's cdf at the size, and at the size minus 1
}

func sizeEdges(counts []sizeCount, parallel, high float64) []sizeEdge {
	rounded := func(procs int) float64 {
		exponent := math.Floor(math.Log2(float64(procs)))
		if exponent >= math.Floor(high) {
			return math.Inf(1)
		}
		return exponent + .5
	}
	out := make([]sizeEdge, len(counts))
	below := 0.0
	for i, c := range counts {
		out[i] = sizeEdge{
			plain: math.Log2(float64(c.procs) + .5), rounded: rounded(c.procs), below: below / parallel,
			plainBelow: math.Log2(float64(c.procs) - .5), roundBelow: rounded(c.procs - 1),
		}
		below += c.n
		out[i].upTo = below / parallel
	}
	return out
}

// thin returns at most the given number of edges, to limit the time of a search. If there are more, it keeps edges at
// even distances, with the first and the last.
func thin(edges []sizeEdge, most int) []sizeEdge {
	if len(edges) <= most {
		return edges
	}
	out := make([]sizeEdge, most)
	for i := range out {
		out[i] = edges[i*(len(edges)-1)/(most-1)]
	}
	return out
}

// distance returns the KS distance between the model and the sizes of parallel jobs.
func (s SizeParams) distance(edges []sizeEdge) (d float64) {
	for i := range edges {
		e := &edges[i]
		at := (1-s.PowerOfTwo)*s.stages(e.plain) + s.PowerOfTwo*s.stages(e.rounded)
		below := (1-s.PowerOfTwo)*s.stages(e.plainBelow) + s.PowerOfTwo*s.stages(e.roundBelow)
		d = max(d, math.Abs(at-e.upTo), math.Abs(below-e.below))
	}
	return d
}

// roundedFor returns the PowerOfTwo for which the given share of the model's parallel jobs are powers of two.
func (s SizeParams) roundedFor(share float64) float64 {
	byChance := 0.0
	for e := 1.0; e <= math.Floor(s.High); e++ {
		p := math.Exp2(e)
		byChance += s.stages(math.Log2(p+.5)) - s.stages(math.Log2(p-.5))
	}
	if byChance >= 1 {
		return share
	}
	return min(max((share-byChance)/(1-byChance), 0), 1)
}

// fitStages searches for the l, m and p with the smallest KS distance.
func fitStages(s SizeParams, least float64, edges []sizeEdge) SizeParams {
	return searchStages(s, least, func(c SizeParams) (SizeParams, float64) { return c, c.distance(edges) })
}

// searchStages searches for the l, m and p with the smallest loss. It first searches on a grid, and then changes each
// of them by smaller and smaller steps. loss may change the other parameters.
func searchStages(s SizeParams, least float64, loss func(SizeParams) (SizeParams, float64)) SizeParams {
	lowest := max(least-.5, math.Log2(1.5))
	best, bestD := s, math.Inf(1)
	try := func(low, medium, prob float64) bool {
		c := s
		c.Low = min(max(low, lowest), least)
		c.Medium = min(max(medium, c.Low+.01), s.High-.01)
		c.Prob = min(max(prob, 0), 1)
		if !(c.Low <= c.Medium && c.Medium <= c.High) {
			return false
		}
		if c, d := loss(c); d < bestD {
			best, bestD = c, d
			return true
		}
		return false
	}
	const grid = 20
	for i := 1; i < grid; i++ {
		for j := 1; j < grid; j++ {
			for _, low := range []float64{lowest, (lowest + least) / 2, least} {
				try(low, least+float64(i)/grid*(s.High-least), float64(j)/grid)
			}
		}
	}
	const rounds = 500 // a few dozen rounds usually suffice
	size := 1. / grid
	for round := 0; round < rounds && size > 1e-5; round++ {
		b, better := best, false
		for _, sign := range []float64{-1, 1} {
			d := sign * size
			better = try(b.Low+d, b.Medium, b.Prob) || better
			better = try(b.Low, b.Medium+4*d, b.Prob) || better
			better = try(b.Low, b.Medium, b.Prob+d) || better
			better = try(b.Low, b.Medium+4*d, b.Prob+d) || better
			better = try(b.Low, b.Medium-4*d, b.Prob+d) || better
		}
		if !better {
			size /= 2
		}
	}
	return best
}
