package markov

import "math"

// row holds weights by one exponent.
type row [states]float64

// table holds weights by two exponents. A row is nil until something in it is counted: a queue has few states, and
// there are many queues.
type table [states]*row

// add adds to a weight.
func (t *table) add(i, j uint8, weight float64) {
	if t[i] == nil {
		t[i] = new(row)
	}
	t[i][j] += weight
}

// at returns a row to be read.
func (t *table) at(i int) *row {
	if t[i] == nil {
		return new(row)
	}
	return t[i]
}

// A chainCount is what is counted for one of the two chains.
type chainCount struct {
	next  table  // n_ij: pairs by their two states (Song et al. 2004, eq. 5)
	moves table  // the same over the pairs in which both chains change state, for cor1 (eq. 10, 11)
	exact row    // jobs whose value is the power of two itself, for eq. 6
	max   uint64 // the largest value ever counted
}

// counts holds weights rather than numbers: each job, and the pairs that are counted before the next job, weighs
// growth times as much as the job before, and all are scaled down together when they get large. Without forgetting
// they are whole numbers, exact up to 2^53.
type counts struct {
	forget float64
	weight float64 // of the job counted last
	jobs   uint64  // counted in all, without forgetting
	pairs  uint64

	procs, runtime chainCount
	joint          table // jobs by processors and runtime; its margins are n_i (eq. 4)
	// cross is, over the pairs in which both chains change, the sum of Δn Δr taken apart: Δn Δr of a pair from (n1,
	// r1) to (n2, r2) is n1 r1 + n2 r2 - n1 r2 - n2 r1 for any numbers given to the states, which are ranks among
	// states that are not all known yet.
	cross table
}

// rescale is where weights are brought back to 1, by a power of two so that nothing is rounded.
const rescale = 1 << 62

func newCounts(forget float64) counts { return counts{forget: forget, weight: 1} }

func (c *counts) countJob(v value) {
	if c.forget > 0 {
		c.weight /= 1 - c.forget
		// A large factor may pass the limit several times over in one step.
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

// each calls f with every row of weights, always in the same order. f may put a row where none is yet.
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
