package markov

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "markov", 2

// maxWeight is the maximum of a weight that is read. A sum has at most 2^64 jobs, so no sum becomes infinite.
const maxWeight = 1 << 126

// fields reads or writes the model, including the unresolved jobs.
func (m *Model) fields(c *codec.Codec) {
	if c.Reading {
		*m = Model{counts: newCounts(0), sequence: newSequence()}
	}
	c.Between(0, math.Nextafter(1, 0), &m.forget)
	c.Between(math.SmallestNonzeroFloat64, rescale, &m.weight)
	c.Uint(&m.jobs, &m.pairs, &m.procs.max, &m.runtime.max)
	c.Check(m.pairs <= m.jobs, "%d pairs of %d jobs", m.pairs, m.jobs)
	c.Check(m.procs.max < MaxValue && m.runtime.max < MaxValue, "a job of %d processors or %d s", m.procs.max,
		m.runtime.max)
	m.each(func(r **row) { codeRow(c, r) })
	m.checkWeights(c)
	var nodes []node
	for at := m.head; at != none; at = m.nodes[at].next {
		nodes = append(nodes, m.nodes[at])
	}
	codec.List(c, &nodes, func(n *node) { n.fields(c) })
	if c.Reading {
		m.resume(c, nodes)
	}
}

func codeRow(c *codec.Codec, r **row) {
	there := *r != nil && **r != row{}
	if c.Flag(&there); !there {
		return
	}
	if c.Reading && *r == nil {
		*r = new(row)
	}
	c.Sparse((*r)[:])
	for _, w := range *r {
		c.Check(math.Abs(w) <= maxWeight, "a weight of %v", w)
	}
}

// checkWeights refuses negative weights. It skips sums that may be negative, because no probabilities are computed
// from them.
func (m *Model) checkWeights(c *codec.Codec) {
	if !c.Reading {
		return
	}
	for _, t := range []*table{&m.joint, &m.procs.next, &m.procs.moves, &m.runtime.next, &m.runtime.moves} {
		for i := range t {
			checkNotNegative(c, t.at(i))
		}
	}
	checkNotNegative(c, &m.procs.exact)
	checkNotNegative(c, &m.runtime.exact)
}

func checkNotNegative(c *codec.Codec, r *row) {
	for _, w := range r {
		c.Check(w >= 0, "a negative weight")
	}
}

func (n *node) fields(c *codec.Codec) {
	c.Flag(&n.ended, &n.joined)
	if !n.ended {
		c.Check(!n.joined, "a pair counted with a job that has not ended")
		c.Text(&n.key)
		return
	}
	codec.Number(c, &n.point.procs, &n.point.runtime)
	c.Check(n.point.procs < states && n.point.runtime < states, "state %+v is out of range", n.point)
}

// resume builds the sequence from nodes that were read. It checks two assumptions of the counting: keys are
// different, and a node with joined set is followed by an ended job.
func (m *Model) resume(c *codec.Codec, nodes []node) {
	joined := false
	for _, n := range nodes {
		c.Check(!joined || n.ended, "a pair counted with a job that has not ended")
		joined = n.joined
		at := m.push(n)
		if n.ended {
			continue
		}
		if _, twice := m.open[n.key]; twice {
			c.Failf("key %q twice", n.key)
		}
		m.open[n.key] = at
	}
	c.Check(!joined, "a pair counted with a job that is missing")
}

// Code reads or writes the model as a part of other saved state.
func (m *Model) Code(c *codec.Codec) { c.Part(kind, version, m.fields) }

// MarshalBinary encodes the model, including the unresolved jobs. Models with the same calls give equal bytes.
func (m *Model) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary replaces the model by the encoded one. Every later result is the same as that of the encoded model,
// to the last bit. The error is a *codec.Error; after an error the model is unchanged.
func (m *Model) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Model).fields)
}
