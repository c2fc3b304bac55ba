package boost

import "sync/atomic"

// Similar evaluates a bank on rows that have many values in common, such as requests to one queue at one instant. Its
// results are bit-identical to those of the bank. After a few rows it leaves out the nodes that divide by values which
// all rows have in common: most walks through a tree then end after one step. A Similar is safe for concurrent use. It
// costs memory only if it has evaluated enough rows.
type Similar struct {
	bank  *Bank
	rows  atomic.Int64 // rows that the short trees were not valid for
	short atomic.Pointer[shortBank]
}

// NewSimilar returns a Similar for rows of a bank.
func NewSimilar(b *Bank) *Similar { return &Similar{bank: b} }

// leastSimilar is the number of rows after which trees are shortened. This costs as much time as some 14 further rows
// save, so a group of rows costs at most twice of what it would cost if their number were known.
const leastSimilar = 16

// Predict is Bank.Predict.
func (s *Similar) Predict(row, out []float64, ranks []uint16) []uint16 {
	b := s.bank
	ranks = b.ranks(row, ranks[:0])
	if short := s.short.Load(); short != nil {
		if short.fits(ranks) {
			short.predict(out, ranks)
			return ranks
		}
		b.learnVarying(short, ranks)
	}
	b.predict(out, ranks)
	// If a row does not fit, more of its features vary than were known. Each shortening takes twice as many rows as the
	// one before, so that rows which never fit cost little.
	if n := s.rows.Add(1); n >= leastSimilar && n&(n-1) == 0 {
		s.short.Store(b.shorten(ranks))
	}
	return ranks
}

// learnVarying marks the features whose ranks differ from those that short trees assume. The mark is for all rows of
// the bank: what varies between similar rows is about the same in all groups of them.
func (b *Bank) learnVarying(short *shortBank, ranks []uint16) {
	for i, f := range short.common {
		if short.ranks[2*i] != ranks[2*f] || short.ranks[2*i+1] != ranks[2*f+1] {
			b.varying[f].Store(true)
		}
	}
}

// shortBank has the trees of a bank without the nodes that divide by common features.
type shortBank struct {
	common []uint16 // the common features
	ranks  []uint16 // two ranks of each of them
	nodes  []rankNode
	models []shortModel
}

// shortModel has the short trees of one model. Their nodes are those of the shortBank.
type shortModel struct {
	base  float64
	trees forest
}

// shorten returns the trees of the bank for all rows that have the given ranks in the features not known to vary.
func (b *Bank) shorten(ranks []uint16) *shortBank {
	s := &shortBank{models: make([]shortModel, len(b.models))}
	known := make([]bool, len(b.varying))
	for f := range b.varying {
		if known[f] = !b.varying[f].Load(); known[f] {
			s.common = append(s.common, uint16(f)) //nolint:gosec // NewBank bounds it
			s.ranks = append(s.ranks, ranks[2*f], ranks[2*f+1])
		}
	}
	size := int(b.shortSize.Load())
	c := shortener{ranks: ranks, known: known, short: make([]rankNode, 0, size), leaves: make([]float64, 0, size)}
	for i, m := range b.models {
		c.nodes, c.values = b.nodes[i], m.trees.values
		trees := &s.models[i].trees
		s.models[i].base, trees.steps = m.Base, make([]int32, len(m.trees.steps))
		trees.roots = make([]int32, len(m.trees.roots))
		for k, root := range m.trees.roots {
			trees.roots[k] = c.grow(1)
			last := &trees.steps[k/abreast]
			*last = max(*last, c.put(trees.roots[k], root))
		}
	}
	s.nodes = c.short
	for i := range s.models {
		s.models[i].trees.values = c.leaves
	}
	b.shortSize.Store(int64(len(c.short) + len(c.short)/8)) // the next ones have a few nodes more or less
	return s
}

// shortener shortens the trees of a bank, model by model.
type shortener struct {
	ranks  []uint16
	known  []bool     // by feature: whether all rows have the given ranks
	nodes  []rankNode // of the model
	values []float64  // of its leaves, by node
	short  []rankNode // nodes of the short trees of all models
	leaves []float64  // values of their leaves, by node
}

// grow appends n empty nodes and returns the index of the first.
func (c *shortener) grow(n int) int32 {
	at := len(c.short)
	c.short = append(c.short, make([]rankNode, n)...)
	c.leaves = append(c.leaves, make([]float64, n)...)
	return int32(at) //nolint:gosec // no more nodes than in the bank
}

// put writes the short form of a node and of all nodes below it. It returns the number of steps to the deepest leaf.
func (c *shortener) put(at, i int32) int32 {
	n := &c.nodes[i]
	for n.next != i && c.known[n.split>>1] {
		i = n.step(c.ranks)
		n = &c.nodes[i]
	}
	if n.next == i {
		c.short[at], c.leaves[at] = rankNode{next: at, rank: mostCuts}, c.values[i]
		return 0
	}
	left := c.grow(2)
	c.short[at] = rankNode{next: left, split: n.split, rank: n.rank}
	return 1 + max(c.put(left, n.next), c.put(left+1, n.next+1))
}

// fits reports whether a row has the ranks in all common features.
func (s *shortBank) fits(ranks []uint16) bool {
	for i, f := range s.common {
		if s.ranks[2*i] != ranks[2*f] || s.ranks[2*i+1] != ranks[2*f+1] {
			return false
		}
	}
	return true
}

// predict writes the quantile of each model into out.
func (s *shortBank) predict(out []float64, ranks []uint16) {
	for i := range s.models {
		m := &s.models[i]
		out[i] = m.trees.sumByRank(m.base, s.nodes, ranks)
	}
}
