package markov

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Chains has what a model had learnt at one moment. It is never changed, and several goroutines may use it at once.
type Chains struct {
	Procs   Chain `json:"procs"`
	Runtime Chain `json:"runtime"`
	// Cor0 is the correlation, over the jobs, of the indexes of the processor state and the runtime state (Song et
	// al. 2004, eq. 7). Cor1 is the correlation of the changes of these indexes, over the pairs in which both change
	// (eq. 8-11). Both are in [-1, 1]. They are 0 if one side does not vary.
	Cor0 float64 `json:"cor0"`
	Cor1 float64 `json:"cor1"`
	// Jobs and Pairs are the numbers of jobs and pairs that were learnt from, including forgotten ones.
	Jobs  uint64 `json:"jobs"`
	Pairs uint64 `json:"pairs"`

	// joint has the weights of jobs by processor state and runtime state.
	joint [][]float64
}

// Chain is one Markov chain. Its states are the different powers of two that occurred (Song et al. 2004, eq. 1-3), in
// ascending order. All fields are indexed by the rank of a state, from 0 (the paper's tables count from 1).
type Chain struct {
	// States are the l_j, in processors or seconds. With forgetting, a state stays as long as its weight is above 0
	// as a floating-point number.
	States []int64 `json:"states"`
	// Counts are the n_i (eq. 4), the numbers of jobs in each state. With forgetting they are sums of weights; the
	// latest job has the weight 1.
	Counts []float64 `json:"counts"`
	// Transitions are the p_ij (eq. 5), row by row. The sum of each row is 1. A row is divided by its own sum and not
	// by the paper's n_i, because the last job has no successor yet. If a state has no successor, its row has the
	// shares of all states (Counts divided by their sum), so that the chain can leave the state.
	Transitions [][]float64 `json:"transitions"`
	// Quality are the c_j (eq. 6): the share of the state's jobs whose value is exactly the power of two. Runtimes
	// are compared in whole seconds, rounded down; a runtime below 1 s counts as 1 s.
	Quality []float64 `json:"quality"`
	// Max is the largest counted value, in whole seconds for runtimes. It is never forgotten.
	Max int64 `json:"max"`
}

// Chains returns what has been learnt so far. Before the first end of a job the result has no states.
func (m *Model) Chains() *Chains {
	c := &m.counts
	var n, r [states]float64
	for i := range c.joint {
		for j, w := range c.joint.at(i) {
			n[i] += w
			r[j] += w
		}
	}
	nRank, rRank := ranks(&n), ranks(&r)
	return &Chains{
		Procs:   c.procs.chain(&n, c.weight),
		Runtime: c.runtime.chain(&r, c.weight),
		Cor0:    c.cor0(nRank, rRank),
		Cor1:    c.cor1(nRank, rRank),
		Jobs:    c.jobs,
		Pairs:   c.pairs,
		joint:   c.jointOf(&n, &r),
	}
}

// jointOf returns the weights of all pairs of a processor state and a runtime state that occur, 0 for a pair without
// jobs.
func (c *counts) jointOf(n, r *[states]float64) [][]float64 {
	occur := func(weights *[states]float64) (count int) {
		for _, w := range weights {
			if w > 0 {
				count++
			}
		}
		return count
	}
	rows, columns := occur(n), occur(r)
	// Allocated in one piece, because views are made often.
	out, all := make([][]float64, 0, rows), make([]float64, 0, rows*columns)
	for i, w := range n {
		if !(w > 0) {
			continue
		}
		begin := len(all)
		for j, w := range r {
			if w > 0 {
				all = append(all, c.joint.at(i)[j]/c.weight)
			}
		}
		out = append(out, all[begin:len(all):len(all)])
	}
	return out
}

// ranks returns, for each exponent, the number of smaller exponents that occur.
func ranks(occupancy *[states]float64) (rank [states]float64) {
	next := 0.0
	for i, w := range occupancy {
		rank[i] = next
		if w > 0 {
			next++
		}
	}
	return rank
}

func (c *chainCount) chain(occupancy *[states]float64, weight float64) Chain {
	out := Chain{States: []int64{}, Counts: []float64{}, Transitions: [][]float64{}, Quality: []float64{},
		Max: int64(c.max)}
	var exponents []int
	var total float64
	for i, w := range occupancy {
		if w > 0 {
			exponents = append(exponents, i)
			out.States = append(out.States, 1<<i)
			out.Counts = append(out.Counts, w/weight)
			out.Quality = append(out.Quality, min(c.exact[i]/w, 1))
			total += w
		}
	}
	for _, i := range exponents {
		row := make([]float64, len(exponents))
		var sum float64
		for k, j := range exponents {
			row[k] = c.next.at(i)[j]
			sum += row[k]
		}
		for k, j := range exponents {
			if sum > 0 {
				row[k] /= sum
			} else {
				row[k] = occupancy[j] / total
			}
		}
		out.Transitions = append(out.Transitions, row)
	}
	return out
}

// moments are the weighted sums from which a correlation is computed.
type moments struct{ w, x, y, xx, yy, xy float64 }

func (m moments) correlation() float64 {
	if m.w <= 0 {
		return 0
	}
	vx := m.xx/m.w - (m.x/m.w)*(m.x/m.w)
	vy := m.yy/m.w - (m.y/m.w)*(m.y/m.w)
	// Indexes are integers below 40, so a variance below 1e-12 comes from rounding.
	if vx <= 1e-12 || vy <= 1e-12 {
		return 0
	}
	return max(-1, min(1, (m.xy/m.w-(m.x/m.w)*(m.y/m.w))/math.Sqrt(vx*vy)))
}

// cor0 returns eq. 7 over the state indexes of all jobs.
func (c *counts) cor0(n, r [states]float64) float64 {
	var m moments
	for i := range c.joint {
		for j, w := range c.joint.at(i) {
			m.w += w
			m.x += w * n[i]
			m.y += w * r[j]
			m.xx += w * n[i] * n[i]
			m.yy += w * r[j] * r[j]
			m.xy += w * n[i] * r[j]
		}
	}
	return m.correlation()
}

// cor1 returns the correlation of the changes of eq. 10 and 11.
func (c *counts) cor1(n, r [states]float64) float64 {
	var m moments
	for i := range c.cross {
		cross, procs, runtime := c.cross.at(i), c.procs.moves.at(i), c.runtime.moves.at(i)
		for j := range cross {
			w, dn := procs[j], n[j]-n[i]
			m.w += w
			m.x += w * dn
			m.xx += w * dn * dn
			w, dr := runtime[j], r[j]-r[i]
			m.y += w * dr
			m.yy += w * dr * dr
			m.xy += cross[j] * n[i] * r[j]
		}
	}
	return m.correlation()
}

// Stationary returns the long-run shares of the states. It starts from the shares so far, which matter only if not
// every state leads to every other. It returns nil for an empty chain.
func (c *Chain) Stationary() []float64 {
	n := len(c.States)
	if n == 0 {
		return nil
	}
	// If each step stays in its state with probability 1/2, the stationary shares do not change, and a periodic chain
	// converges. 2^20 steps are computed by repeated squaring.
	lazy := mat.NewDense(n, n, nil)
	for i, row := range c.Transitions {
		for j, p := range row {
			lazy.Set(i, j, p/2)
		}
		lazy.Set(i, i, lazy.At(i, i)+0.5)
	}
	lazy.Pow(lazy, 1<<20)
	var shares mat.VecDense
	shares.MulVec(lazy.T(), mat.NewVecDense(n, c.Counts))
	shares.ScaleVec(1/mat.Sum(&shares), &shares)
	return shares.RawVector().Data
}
