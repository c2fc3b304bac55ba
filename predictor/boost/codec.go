package boost

import "github.com/waitcast/waitcast/internal/codec"

// kind and version are those of the saved state.
const kind, version = "boost", 2

// fields passes all that is saved.
func (m *Model) fields(c *codec.Codec) {
	c.Any(&m.Level, &m.Base)
	codec.List(c, &m.gain, func(gain *float64) { c.Any(gain) })
	codec.List(c, &m.trees, func(t *tree) {
		codec.List(c, &t.nodes, func(n *node) { n.fields(c) })
		c.Check(len(t.nodes) > 0, "a tree without nodes")
		t.check(c, len(m.gain))
	})
	if c.Reading { // views predict by what is saved
		m.Features = len(m.gain)
	}
}

// The kinds of nodes.
const (
	leafNode = iota
	splitNode
	splitMissingLeft // a missing value goes left
	nodeKinds
)

func (n *node) fields(c *codec.Codec) {
	kind := leafNode
	switch {
	case n.feature < 0:
	case n.missingLeft:
		kind = splitMissingLeft
	default:
		kind = splitNode
	}
	if c.Int(&kind); c.Reading {
		c.Check(kind < nodeKinds, "a node of kind %d", kind)
		*n = node{feature: -1, missingLeft: kind == splitMissingLeft}
	}
	if kind == leafNode {
		c.Any(&n.value)
		return
	}
	codec.Number(c, &n.feature, &n.left, &n.right)
	c.Any(&n.threshold)
}

// check refuses nodes that are read if a walk along them would fail: children come after their parent, so that no walk
// goes round in a circle.
func (t *tree) check(c *codec.Codec, features int) {
	if !c.Reading {
		return
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		c.Check(n.feature < 0 || int(n.feature) < features && int(n.left) > i && int(n.left) < len(t.nodes) &&
			int(n.right) > i && int(n.right) < len(t.nodes), "node %d of %d leads nowhere", i, len(t.nodes))
	}
}

// Code passes the model as a part of other saved state.
func (m *Model) Code(c *codec.Codec) { c.Part(kind, version, m.fields) }

// MarshalBinary saves the model: the same model gives the same bytes.
func (m *Model) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary restores a model saved by MarshalBinary. A model that it accepts predicts without failing. The error
// is a *codec.Error; after it the model is as it was.
func (m *Model) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Model).fields)
}
