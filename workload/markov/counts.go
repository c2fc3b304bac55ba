package markov

import "math"

// row has weights by the exponent of a state (a power of two).
type row [states]float64

// table has weights by two exponents. A row is nil until a weight is added to it. This saves memory, because there
// are many queues, and a queue has few states.
type table [states]*row

// add adds weight to the entry of the exponents i and j.
func (t *table) add(i, j uint8, weight float64) {
	if t[i] == nil {
		t[i] = new(row)
	}
	t[i][j] += weight
}

// at returns row i for reading. The row must not be changed.
func (t *table) at(i int) *row {
	if t[i] == nil {
		return new(row)
	}
	return t[i]
}

// A chainCount has the counts of one of the two chains.
type chainCount struct {
	next  table  // n_ij: pairs of consecutive jobs by their two states (Song et al. 2004, eq. 5)
	moves table  // like next, for pairs in which both chains change state, for cor1 (eq. 10, 11)
	exact row    // jobs whose value is exactly the power of two (eq. 6)
	max   uint64 // the largest counted value
}

// counts has weights instead of numbers, because of forgetting. Each job, and the pairs counted before the next job,
// have 1/(1 - forget) times the weight of the job before. All weights are scaled down together when they become large.
// Without forgetting they are integers, which are exact up to 2^53.
type counts struct {
	forget float64
	weight float64 // weight of the job that was counted last
	jobs   uint64  // total number of counted jobs, including forgotten ones
	pairs  uint64

	procs, runtime chainCount
	joint          table // jobs by processors and runtime; its marginal sums are the n_i (eq. 4)
	// cross has the sum of Δn Δr over the pairs in which both chains change. Its form does not depend on the numbers
	// of the states. These numbers are ranks among the occurring states, which are not all known yet. For a pair from
	// (n1, r1) to (n2, r2), Δn Δr = n1 r1 + n2 r2 - n1 r2 - n2 r1 for any numbers.
	cross table
}

// rescale is the weight from which on all weights are scaled down to about 1. It is a power of two, so that the
// scaling causes no rounding.
const rescale = 1 << 62

func newCounts(forget float64) counts { return counts{forget: forget, weight: 1} }

func (c *counts) countJob(v value) {
	if c.forget > 0 {
		c.weight /= 1 - c.forget
		// If forget is near 1, a weight may pass the limit several times in one step.
		for c.weight >= rescale {
			c.scaleDown()
		}
	}
	p := v.point()
	c.jobs++
	c.joint.add(p.procs, p.runtime, c.weight)
	c.procs.countValue(v.procs, p.procs, c.weight)
	c.runtime.countValue(v.runtime, p.runtime, c.weight)
}

func (c *chainCount) countValue(v uint64, exponent uint8, weight float64) {
	if v == 1<<exponent {
		c.exact[exponent] += weight
	}
	c.max = max(c.max, v)
}

func (c *counts) countPair(a, b point) {
	w := c.weight
	c.pairs++
	c.procs.next.add(a.procs, b.procs, w)
	c.runtime.next.add(a.runtime, b.runtime, w)
	if a.procs == b.procs || a.runtime == b.runtime {
		return
	}
	c.procs.moves.add(a.procs, b.procs, w)
	c.runtime.moves.add(a.runtime, b.runtime, w)
	c.cross.add(a.procs, a.runtime, w)
	c.cross.add(b.procs, b.runtime, w)
	c.cross.add(a.procs, b.runtime, -w)
	c.cross.add(b.procs, a.runtime, -w)
}

// each calls f with every row of weights, always in the same order. f may allocate a row that is nil.
func (c *counts) each(f func(r **row)) {
	for _, t := range []*table{
		&c.joint, &c.cross, &c.procs.next, &c.procs.moves, &c.runtime.next, &c.runtime.moves,
	} {
		for i := range t {
			f(&t[i])
		}
	}
	for _, exact := range []*row{&c.procs.exact, &c.runtime.exact} {
		f(&exact)
	}
}

func (c *counts) scaleDown() {
	c.weight = math.Ldexp(c.weight, -62)
	c.each(func(r **row) {
		if *r == nil {
			return
		}
		for i := range *r {
			(*r)[i] = math.Ldexp((*r)[i], -62)
		}
	})
}
