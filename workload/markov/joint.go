package markov

import "math"

// association has the transitions of the processors' chain for each state of the runtime. Joint sizes are drawn from
// them. Each transition is that of the chain, multiplied by a weight of the pair of states.
type association struct {
	chains *Chains
	joint  [][]float64   // the log's share of each pair, by processors and runtime
	weight [][]float64   // weight of each pair, by processors and runtime
	next   [][][]float64 // transitions by runtime, processors before and processors after
	share  [][]float64   // long-run share of each pair among drawn jobs
}

// The weights are corrected until the sum of the differences between the shares of drawn pairs and the log's is at
// most closeEnough, but at most mostCorrections times.
const (
	closeEnough     = 1e-3
	mostCorrections = 500
)

// newAssociated returns one walk of the processors' chain for each state of the runtime.
//
// At first the weight of a pair is the pair's share in the log, divided by the product of the shares of both states.
// If sizes stay the same for long, frequent pairs would then be drawn too often, because each step counts the
// association again. Therefore the weights are corrected by the difference between the log's shares and the shares of
// drawn jobs, which are computed from the transitions.
func newAssociated(c *Chains) []walk {
	a := newAssociation(c)
	for range mostCorrections {
		a.transitions()
		if a.step(); a.correct() < closeEnough {
			break
		}
	}
	a.transitions()
	out := make([]walk, len(a.next))
	for n, transitions := range a.next {
		counts := make([]float64, len(a.joint))
		for k := range counts {
			counts[k] = a.joint[k][n]
		}
		out[n] = newWalk(&Chain{Counts: counts, Transitions: transitions})
	}
	return out
}

func newAssociation(c *Chains) *association {
	sizes, runtimes := len(c.Procs.States), len(c.Runtime.States)
	a := &association{chains: c, joint: table2(sizes, runtimes), weight: table2(sizes, runtimes),
		share: table2(sizes, runtimes)}
	ofSize, ofRuntime, total := make([]float64, sizes), make([]float64, runtimes), 0.0
	for k, row := range c.joint {
		for n, w := range row {
			ofSize[k], ofRuntime[n], total = ofSize[k]+w, ofRuntime[n]+w, total+w
		}
	}
	for k, row := range c.joint {
		for n, w := range row {
			a.joint[k][n] = w / total
			a.share[k][n] = w / total
			if w > 0 {
				a.weight[k][n] = w * total / (ofSize[k] * ofRuntime[n])
			}
		}
	}
	for range runtimes {
		a.next = append(a.next, table2(sizes, sizes))
	}
	return a
}

// transitions computes a.next from the weights and the transitions of the processors' chain.
func (a *association) transitions() {
	for n, rows := range a.next {
		for j, row := range rows {
			sum := 0.0
			for k, p := range a.chains.Procs.Transitions[j] {
				row[k] = p * a.weight[k][n]
				sum += row[k]
			}
			if sum == 0 { // no next size was observed with this runtime
				for k := range row {
					row[k] = a.joint[k][n]
					sum += row[k]
				}
			}
			for k := range row {
				row[k] /= sum
			}
		}
	}
}

// step computes from the transitions how the shares of pairs change within the next three drawn jobs.
func (a *association) step() {
	const jobs = 3
	sizes, runtimes := len(a.joint), len(a.next)
	for range jobs {
		after := table2(sizes, runtimes) // by processors before the step and runtime after it
		for j, row := range a.share {
			for m, share := range row {
				for n, p := range a.chains.Runtime.Transitions[m] {
					after[j][n] += share * p
				}
			}
		}
		a.share = table2(sizes, runtimes)
		for j, row := range after {
			for n, share := range row {
				for k, p := range a.next[n][j] {
					a.share[k][n] += share * p
				}
			}
		}
	}
}

// correct moves the logarithms of the weights half of the way to the values at which the shares of drawn pairs equal
// the log's, separately for each runtime. It returns the sum of the differences of all shares.
func (a *association) correct() (off float64) {
	const most = 1e6 // maximum factor of a correction, for pairs that are almost never drawn
	for n := range a.next {
		drawn, wanted := 0.0, 0.0
		for k := range a.joint {
			drawn, wanted = drawn+a.share[k][n], wanted+a.joint[k][n]
		}
		if !(drawn > 0 && wanted > 0) {
			continue
		}
		for k, row := range a.joint {
			share, want := a.share[k][n]/drawn, row[n]/wanted
			off += drawn * math.Abs(share-want)
			if share > 0 && want > 0 {
				a.weight[k][n] = min(a.weight[k][n]*math.Sqrt(want/share), most)
			}
		}
	}
	return off
}

// table2 returns a table of zeros, allocated in one piece.
func table2(rows, columns int) [][]float64 {
	all, out := make([]float64, rows*columns), make([][]float64, rows)
	for i := range out {
		out[i] = all[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return out
}
