package boost

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

// Bank evaluates several models of the same features on the same rows in half of the time, with bit-identical results.
// It replaces the values of a row by their ranks among the thresholds of all models, once for all models. The nodes of
// the trees then take half of the memory, and a step through a tree compares small integers. A Bank is immutable.
type Bank struct {
	models []*Model
	cuts   [][]float64 // by feature: the thresholds of all models, rising
	nodes  [][]rankNode
	// varying marks the features that are known to vary between similar rows, see Similar. It changes no result.
	varying   []atomic.Bool
	shortSize atomic.Int64 // about the number of nodes of shortened trees, see Similar
}

// rankNode is a node with the rank of its threshold. The right child of an inner node comes directly after the left
// one. A leaf is its own child.
type rankNode struct {
	next  int32
	split uint16 // twice the feature; one more if a missing value goes right
	rank  uint16 // values with at most this rank go left; mostCuts in a leaf
}

// mostCuts is the maximum number of thresholds of a feature, so that the ranks of its values fit into a rankNode.
const mostCuts = math.MaxUint16

// NewBank returns a bank of models, nil if there are none. The error names features that are too many, that differ
// between models, or that have too many thresholds. Models trained on the same Data have few thresholds.
func NewBank(models ...*Model) (*Bank, error) {
	if len(models) == 0 {
		return nil, nil
	}
	features := models[0].Features
	b := &Bank{models: models, cuts: make([][]float64, features), varying: make([]atomic.Bool, features)}
	for _, m := range models {
		if m.Features != features || features > mostCuts/2 {
			return nil, fmt.Errorf("boost: models of %d and %d features: want the same, at most %d", features,
				m.Features, mostCuts/2)
		}
		for i := range m.trees.nodes {
			if n := &m.trees.nodes[i]; !n.leaf() {
				b.cuts[n.feature()] = append(b.cuts[n.feature()], n.threshold)
			}
		}
	}
	for f, all := range b.cuts {
		slices.Sort(all)
		all = slices.Compact(all)
		if b.cuts[f] = slices.Clone(all); len(all) >= mostCuts {
			return nil, fmt.Errorf("boost: feature %d has %d thresholds: want less than %d", f, len(all), mostCuts)
		}
	}
	for _, m := range models {
		b.nodes = append(b.nodes, b.rank(m.trees.nodes))
	}
	return b, nil
}

// rank returns nodes with the ranks of their thresholds.
func (b *Bank) rank(nodes []node) []rankNode {
	out := make([]rankNode, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if out[i] = (rankNode{next: n.next, rank: mostCuts}); !n.leaf() {
			at, _ := slices.BinarySearch(b.cuts[n.feature()], n.threshold)
			out[i].split, out[i].rank = uint16(n.split), uint16(at) //nolint:gosec // NewBank bounds both
		}
	}
	return out
}

// Predict writes the quantile of each model for a row of features, NaN for a missing one, into out. ranks is scratch
// memory, which it returns for the next call.
func (b *Bank) Predict(row, out []float64, ranks []uint16) []uint16 {
	ranks = b.ranks(row, ranks[:0])
	b.predict(out, ranks)
	return ranks
}

// predict is Predict for a row of ranks.
func (b *Bank) predict(out []float64, ranks []uint16) {
	for i, m := range b.models {
		out[i] = m.trees.sumByRank(m.Base, b.nodes[i], ranks)
	}
}

// ranks appends, twice, the number of thresholds that each value exceeds. A missing value exceeds none in the first
// copy, and all in the second.
func (b *Bank) ranks(row []float64, ranks []uint16) []uint16 {
	for f, cuts := range b.cuts {
		v, from, n := row[f], 0, len(cuts)
		if v != v {
			ranks = append(ranks, 0, uint16(n)) //nolint:gosec // NewBank bounds it
			continue
		}
		v = min(v, math.MaxFloat64)
		for n > 0 { // a binary search without a branch that depends on the data
			half := n / 2
			from += (n - half) * one(cuts[from+half] < v)
			n = half
		}
		ranks = append(ranks, uint16(from), uint16(from)) //nolint:gosec // NewBank bounds it
	}
	return ranks
}

// step returns the next node for a row, like node.step.
func (n *rankNode) step(ranks []uint16) int32 {
	return n.next + int32(one(ranks[n.split] > n.rank)) //nolint:gosec // 0 or 1
}

// sumByRank is forest.sum for a row of ranks. Its nodes are smaller than those of forest.sum, so it walks two groups
// of trees at once.
func (f *forest) sumByRank(sum float64, nodes []rankNode, r []uint16) float64 {
	v, roots, steps := f.values, f.roots, f.steps
	for ; len(roots) >= 2*abreast; roots, steps = roots[2*abreast:], steps[2:] {
		i, j, k, l, m, n, o, p := roots[0], roots[1], roots[2], roots[3], roots[4], roots[5], roots[6], roots[7]
		for range max(steps[0], steps[1]) {
			i, j, k, l = nodes[i].step(r), nodes[j].step(r), nodes[k].step(r), nodes[l].step(r)
			m, n, o, p = nodes[m].step(r), nodes[n].step(r), nodes[o].step(r), nodes[p].step(r)
		}
		sum = sum + v[i] + v[j] + v[k] + v[l] + v[m] + v[n] + v[o] + v[p]
	}
	for i, at := range roots {
		for range steps[i/abreast] {
			at = nodes[at].step(r)
		}
		sum += v[at]
	}
	return sum
}
