package boost

import (
	"math"
	"slices"
)

// forest has the trees of a model in contiguous slices.
type forest struct {
	nodes  []node    // nodes of all trees; those of a tree are contiguous, parents before their children
	values []float64 // by node: values of the leaves
	roots  []int32   // index of each tree's root
	steps  []int32   // by group of abreast trees: number of steps from the root to the deepest leaf of the group
}

// abreast is the number of trees that are walked at once. Each step of a walk depends on the previous step, so the
// processor works on the other trees meanwhile.
const abreast = 4

// node is an inner node of a tree or a leaf.
type node struct {
	threshold float64 // values up to the threshold go left; NaN in a leaf
	next      int32   // index of the left child, which the right one follows; a leaf has its own index
	split     uint32  // in an inner node: twice its feature, and one more if a missing value goes right
}

// leafAt returns a leaf with the given index.
func leafAt(place int32) node { return node{threshold: math.NaN(), next: place} }

// inner returns an inner node. left is the index of its left child.
func inner(feature int, missingLeft bool, threshold float64, left int32) node {
	threshold = min(max(threshold, -math.MaxFloat64), math.MaxFloat64)
	return node{threshold, left, uint32(2*feature + one(!missingLeft))} //nolint:gosec // small
}

func (n *node) leaf() bool        { return n.threshold != n.threshold }
func (n *node) feature() int      { return int(n.split >> 1) }
func (n *node) missingLeft() bool { return n.split&1 == 0 }

// Row is a row of features for prediction. Each value is stored twice. A missing value is less than all others in the
// first copy, and greater in the second.
type Row []float64

// NewRow returns a row from feature values, with NaN for missing ones.
func NewRow(values []float64) Row {
	r := make(Row, 0, 2*len(values))
	for _, v := range values {
		if v != v {
			r = append(r, math.Inf(-1), math.Inf(1))
			continue
		}
		v = math.Min(v, math.MaxFloat64)
		r = append(r, v, v)
	}
	return r
}

// step returns the next node for a row. A leaf returns itself. There is no branch that depends on the data: the
// processor would mispredict half of them, which would dominate the cost.
func (n *node) step(row Row) int32 {
	return n.next + int32(one(row[n.split] > n.threshold)) //nolint:gosec // 0 or 1
}

// tree is one separate tree. Its nodes are counted from 0. leafValues are the values of its leaves, by node.
type tree struct {
	nodes      []node
	leafValues []float64
}

// plant starts a tree with a leaf as its root.
func (t *tree) plant() {
	t.nodes, t.leafValues = append(t.nodes[:0], leafAt(0)), append(t.leafValues[:0], 0)
}

// split replaces a leaf by an inner node with two leaves, and returns the index of the left one.
func (t *tree) split(at int32, feature int, missingLeft bool, threshold float64) int32 {
	left := int32(len(t.nodes)) //nolint:gosec // a tree has some dozens
	t.nodes[at] = inner(feature, missingLeft, threshold, left)
	t.nodes, t.leafValues = append(t.nodes, leafAt(left), leafAt(left+1)), append(t.leafValues, 0, 0)
	return left
}

// add appends the nodes and leaf values of a tree to those of the other trees.
func (f *forest) add(t *tree) {
	if len(f.roots)%abreast == 0 {
		f.steps = append(f.steps, 0)
	}
	base := int32(len(f.nodes)) //nolint:gosec // a model has some thousands
	f.roots = append(f.roots, base)
	var room [128]int32 // enough unless the parameters are unusual
	depth := append(room[:0], make([]int32, len(t.nodes))...)
	for i, n := range t.nodes {
		if !n.leaf() {
			depth[n.next], depth[n.next+1] = depth[i]+1, depth[i]+1
		}
		last := &f.steps[len(f.steps)-1]
		*last = max(*last, depth[i])
		n.next += base
		f.nodes = append(f.nodes, n)
	}
	f.values = append(f.values, t.leafValues...)
}

// grow reserves memory for the given number of further trees of average size.
func (f *forest) grow(trees int) {
	n := min(trees, mostAhead) * len(f.nodes) / max(1, len(f.roots))
	f.nodes, f.values = slices.Grow(f.nodes, n), slices.Grow(f.values, n)
}

// mostAhead is the maximum number of trees for which memory is reserved.
const mostAhead = 500

// trees returns each tree by itself, with its nodes counted from 0.
func (f *forest) trees() []tree {
	nodes, out := slices.Clone(f.nodes), make([]tree, len(f.roots))
	for i, from := range f.roots {
		to := len(nodes)
		if i+1 < len(f.roots) {
			to = int(f.roots[i+1])
		}
		out[i] = tree{nodes[from:to], f.values[from:to]}
		for k := range out[i].nodes {
			out[i].nodes[k].next -= from
		}
	}
	return out
}

// sum adds up the leaf values of a row over all trees, in their order.
func (f *forest) sum(sum float64, row Row) float64 {
	nodes, values, roots := f.nodes, f.values, f.roots
	for _, steps := range f.steps {
		if len(roots) < abreast {
			break
		}
		a, b, c, d := roots[0], roots[1], roots[2], roots[3]
		for range steps {
			a, b, c, d = nodes[a].step(row), nodes[b].step(row), nodes[c].step(row), nodes[d].step(row)
		}
		sum = sum + values[a] + values[b] + values[c] + values[d]
		roots = roots[abreast:]
	}
	for _, at := range roots {
		for range f.steps[len(f.steps)-1] {
			at = nodes[at].step(row)
		}
		sum += values[at]
	}
	return sum
}
