package boost

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version are the kind and version of the saved state.
const kind, version = "boost", 3

// fields reads or writes the saved state.
func (m *Model) fields(c *codec.Codec) {
	c.Any(&m.Level, &m.Base)
	codec.List(c, &m.gain, func(gain *float64) { c.Any(gain) })
	trees, values := m.trees.trees(), []float64(nil)
	codec.List(c, &trees, func(t *tree) { t.fields(c, len(m.gain), &values) })
	if c.Reading { // a model in use is read through views, which need the decoded trees
		n := len(values)
		m.Features, m.trees = len(m.gain), forest{nodes: make([]node, 0, n), values: make([]float64, 0, n)}
		for i := range trees {
			if c.Bad {
				return
			}
			m.trees.add(&trees[i])
		}
	}
}

// These are the kinds of nodes.
const (
	leafNode = iota
	splitNode
	splitMissingLeft // a missing value goes left
	nodeKinds
)

// fields reads or writes a tree. It refuses a decoded tree if a walk through it could fail. Children must come after
// their parent, so that no walk runs in a cycle. It appends the values of the leaves to those of other trees.
func (t *tree) fields(c *codec.Codec, features int, values *[]float64) {
	i, from := 0, len(*values)
	codec.List(c, &t.nodes, func(n *node) {
		if !c.Reading {
			n.fields(c, &t.leafValues[i])
			i++
			return
		}
		*n = leafAt(int32(i)) //nolint:gosec // what is read has not so many
		var value float64
		n.fields(c, &value)
		*values = append(*values, value)
		i++
	})
	if c.Reading {
		t.leafValues = (*values)[from:]
	}
	c.Check(len(t.nodes) > 0, "a tree without nodes")
	for i := range t.nodes {
		n := &t.nodes[i]
		c.Check(n.leaf() || n.feature() < features && int(n.next) > i && int(n.next) < len(t.nodes)-1,
			"node %d of %d leads nowhere", i, len(t.nodes))
	}
}

func (n *node) fields(c *codec.Codec, value *float64) {
	kind := leafNode
	switch {
	case n.leaf():
	case n.missingLeft():
		kind = splitMissingLeft
	default:
		kind = splitNode
	}
	if c.Int(&kind); c.Reading {
		c.Check(kind < nodeKinds, "a node of kind %d", kind)
	}
	if kind == leafNode {
		c.Any(value)
		return
	}
	feature := n.feature()
	c.Int(&feature)
	codec.Number(c, &n.next)
	if c.Finite(&n.threshold); c.Reading {
		// Twice the feature, plus one, must fit into a uint32.
		c.Check(feature <= math.MaxInt32/2, "feature %d", feature)
		*n = inner(feature, kind == splitMissingLeft, n.threshold, n.next)
	}
}

// Code reads or writes the model as a part of other saved state.
func (m *Model) Code(c *codec.Codec) { c.Part(kind, version, m.fields) }

// MarshalBinary saves the model. Equal models give equal bytes.
func (m *Model) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary restores a model that MarshalBinary saved. A model that it accepts predicts without failing. An
// error is a *codec.Error and leaves the model unchanged.
func (m *Model) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Model).fields)
}
