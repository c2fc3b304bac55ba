package fairshare

import (
	"cmp"
	"math"
	"slices"
)

// Calculator computes the factors of a tree. It reuses its memory between calls. It is not safe for concurrent use.
type Calculator struct {
	tree     *Tree
	sorted   [][]int32 // children by node, in the order of the previous call
	level    []float64 // by node
	effect   []float64 // effective usage, by node
	factors  []float64 // by owner, including None
	rank     int
	untied   int // rank of the next user if there were no ties
	rootUsed float64
}

// NewCalculator returns a calculator of a tree's factors.
func NewCalculator(t *Tree) *Calculator {
	c := &Calculator{tree: t, level: make([]float64, len(t.nodes)), effect: make([]float64, len(t.nodes)),
		factors: make([]float64, len(t.users)+1), sorted: make([][]int32, len(t.nodes))}
	for i := range t.nodes {
		c.sorted[i] = slices.Clone(t.nodes[i].children)
	}
	return c
}

// Factors returns the factors of all owners, from 0 to 1, indexed by owner. The factor of None is 0. The slice is valid
// until the next call.
func (c *Calculator) Factors(u *Usage) []float64 {
	if c.tree.algorithm == fairTree {
		c.rank = len(c.tree.users)
		c.untied = c.rank
		c.rankBelow(root, u.values, false)
		return c.factors
	}
	c.rootUsed = u.values[root]
	c.effect[root] = 1
	for i := range c.tree.nodes[1:] {
		c.effect[i+1] = c.effectiveUsage(int32(i+1), u.values) //nolint:gosec // one of the nodes
	}
	for i, n := range c.tree.users {
		of := n
		if c.tree.nodes[n].asParent {
			of = c.tree.nodes[n].above
		}
		c.factors[i+1] = 0
		if norm := c.tree.nodes[of].norm; norm > 0 {
			c.factors[i+1] = math.Exp2(-c.effect[of] / norm / c.tree.damp)
		}
	}
	return c.factors
}

// rankBelow sets the factors of the users below an account by the Fair Tree algorithm: the rank divided by the number
// of users. Siblings are ordered by their share divided by their usage, the highest first, and the first user has the
// highest rank. At equal values users come before accounts. All users below one account come before those below the
// next. Equal users get equal ranks. If an account equals the one before it (tied), its first user gets the rank of the
// user before. By Slurm's page the users of both accounts are merged and sorted, but the program does not do that.
func (c *Calculator) rankBelow(account int32, used []float64, tied bool) {
	t, all := c.tree, c.sorted[account]
	for _, n := range all {
		c.level[n] = t.levelOf(n, used)
	}
	if !slices.IsSortedFunc(all, c.before) { // usually the order of the previous call still holds
		slices.SortFunc(all, c.before)
	}
	last := math.NaN()
	for i, n := range all {
		tied = i == 0 && tied || c.level[n] == last
		switch of := &t.nodes[n]; {
		case !of.user:
			c.rankBelow(n, used, tied)
		default:
			if !tied {
				c.rank = c.untied
			}
			c.factors[of.owner] = float64(c.rank) / float64(len(t.users))
			c.untied--
		}
		last = c.level[n]
	}
}

// before orders two siblings: the one with the higher level comes first, and at equal levels users come before
// accounts.
func (c *Calculator) before(a, b int32) int {
	if c.level[a] != c.level[b] {
		return -cmp.Compare(c.level[a], c.level[b])
	}
	if x, y := c.tree.nodes[a].user, c.tree.nodes[b].user; x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

// parentLevel is the level of an account that is treated as its parent (asParent). No user is ranked below such an
// account, because its children count as children of the parent.
const parentLevel = 4294967294

// levelOf returns the level fairshare value of a node: its part of the shares of all siblings, divided by its part of
// their usage. A higher value means that more of the node's share is left. It is +Inf if the node or all siblings have
// no usage, and 0 if the node has no shares. A node that is treated as its parent (asParent) has a fixed level: +Inf
// for a user, parentLevel for an account.
func (t *Tree) levelOf(n int32, used []float64) float64 {
	switch of := &t.nodes[n]; {
	case of.asParent && of.user:
		return math.Inf(1)
	case of.asParent:
		return parentLevel
	case of.norm == 0:
		return 0
	case used[n] == 0 || used[of.above] == 0:
		return math.Inf(1)
	default:
		return of.norm / (used[n] / used[of.above])
	}
}

// effectiveUsage returns the usage that counts for a node in algorithms other than the Fair Tree. For a node directly
// below the root it is the node's own part of all usage. For a node that is treated as its parent, it is that of the
// parent. For any other node the classic algorithm adds a part of the siblings' usage according to the node's shares.
func (c *Calculator) effectiveUsage(n int32, used []float64) float64 {
	of := &c.tree.nodes[n]
	own := c.part(n, used)
	switch {
	case of.above == root:
		return own
	case of.asParent:
		return c.effect[of.above]
	case c.tree.algorithm == depthOblivious:
		return c.obliviousUsage(n, own, used)
	case of.level == 0:
		return c.effect[of.above]
	}
	return own + (c.effect[of.above]-own)*float64(of.share)/float64(of.level)
}

// part returns the node's part of all usage.
func (c *Calculator) part(n int32, used []float64) float64 {
	if c.rootUsed == 0 {
		return 0
	}
	return math.Min(1, used[n]/c.rootUsed)
}

// obliviousUsage is effectiveUsage under the depth-oblivious rule. R is the ratio of usage to share. R of a node is R
// of its parent times r^k, where r is the node's ratio among its siblings. k is below 1 if R of the parent and r lie
// on different sides of 1.
func (c *Calculator) obliviousUsage(n int32, own float64, used []float64) float64 {
	of := &c.tree.nodes[n]
	above := &c.tree.nodes[of.above]
	if of.norm == 0 || above.norm == 0 || c.effect[of.above] == 0 || own == 0 {
		return own
	}
	parent := c.effect[of.above] / above.norm
	siblings := 0.
	for _, s := range above.children {
		if !c.tree.nodes[s].asParent {
			siblings += c.part(s, used)
		}
	}
	ratio := own / of.norm / (siblings / above.norm)
	k := 1.
	if math.Log(parent)*math.Log(ratio) < 0 {
		k = 1 / (1 + math.Pow(5*math.Log(parent), 2))
	}
	return parent * math.Pow(ratio, k) * of.norm
}
