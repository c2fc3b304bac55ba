package markov

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// codecVersion is the first byte of an encoded model. Version 1 goes on with forget, weight (8 bytes each), the
// numbers of jobs and pairs and the largest processors and runtime (varints of encoding/binary); every row of weights
// as the number of those that are not 0, then index (varint) and weight (8 bytes) of each; the number of nodes of the
// sequence, then for each a byte of flags and two bytes of state, or the length of the key (varint) and the key.
const codecVersion = 1

const (
	flagEnded  = 1
	flagJoined = 2
)

// maxWeight bounds the weights that are decoded, so that no sum of them is infinite: 2^64 jobs of the largest weight.
const maxWeight = 1 << 126

// ErrCorrupt is returned by [Model.UnmarshalBinary] for bytes that no model was encoded to.
var ErrCorrupt = errors.New("corrupt model")

// MarshalBinary encodes the model, the unresolved jobs included. The bytes are determined by the calls the model has
// seen.
func (m *Model) MarshalBinary() ([]byte, error) {
	b := []byte{codecVersion}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.forget))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.weight))
	for _, v := range []uint64{m.jobs, m.pairs, m.procs.max, m.runtime.max} {
		b = binary.AppendUvarint(b, v)
	}
	m.each(func(r **row) { b = appendRow(b, *r) })
	var n uint64
	for at := m.head; at != none; at = m.nodes[at].next {
		n++
	}
	b = binary.AppendUvarint(b, n)
	for at := m.head; at != none; at = m.nodes[at].next {
		b = appendNode(b, &m.nodes[at])
	}
	return b, nil
}

func appendRow(b []byte, r *row) []byte {
	if r == nil {
		return binary.AppendUvarint(b, 0)
	}
	var n uint64
	for _, w := range r {
		if w != 0 {
			n++
		}
	}
	b = binary.AppendUvarint(b, n)
	for i, w := range r {
		if w != 0 {
			b = binary.AppendUvarint(b, uint64(i))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w))
		}
	}
	return b
}

func appendNode(b []byte, n *node) []byte {
	if !n.ended {
		b = append(b, 0)
		b = binary.AppendUvarint(b, uint64(len(n.key)))
		return append(b, n.key...)
	}
	flags := byte(flagEnded)
	if n.joined {
		flags |= flagJoined
	}
	return append(b, flags, n.point.procs, n.point.runtime)
}

// UnmarshalBinary replaces the model by the one encoded: every later result is the same, to the last bit, as the
// encoded model would have given. On an error, which wraps [ErrCorrupt], the model stays as it was.
func (m *Model) UnmarshalBinary(data []byte) error {
	d := decoder{rest: data}
	if version := d.byte(); d.err == nil && version != codecVersion {
		return fmt.Errorf("markov: model of version %d, want %d: %w", version, codecVersion, ErrCorrupt)
	}
	in := Model{counts: newCounts(d.float(0, math.Nextafter(1, 0))), sequence: newSequence()}
	in.weight = d.float(math.SmallestNonzeroFloat64, rescale)
	in.jobs = d.uvarint(math.MaxUint64)
	in.pairs = d.uvarint(in.jobs)
	in.procs.max = d.uvarint(MaxValue - 1)
	in.runtime.max = d.uvarint(MaxValue - 1)
	in.each(d.row)
	// The sums that may be negative are not what probabilities are made from.
	for _, t := range []*table{&in.joint, &in.procs.next, &in.procs.moves, &in.runtime.next, &in.runtime.moves} {
		for i := range t {
			d.notNegative(t.at(i))
		}
	}
	d.notNegative(&in.procs.exact)
	d.notNegative(&in.runtime.exact)
	d.sequence(&in.sequence)
	if len(d.rest) > 0 {
		d.fail("bytes after its end")
	}
	if d.err != nil {
		return fmt.Errorf("markov: at byte %d of %d: %w", len(data)-len(d.rest), len(data), d.err)
	}
	*m = in
	return nil
}

// decoder reads until the first error.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, why)
	}
}

// bytes returns the next n bytes, or nil.
func (d *decoder) bytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.rest) {
		d.fail("cut off")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) float(low, high float64) float64 {
	b := d.bytes(8)
	if b == nil {
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if !(f >= low && f <= high) {
		d.fail("number out of range")
		return 0
	}
	return f
}

func (d *decoder) uvarint(limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > limit {
		d.fail("number cut off or out of range")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) row(r **row) {
	n := d.uvarint(states)
	if n > 0 && *r == nil {
		*r = new(row)
	}
	next := uint64(0)
	for ; n > 0 && d.err == nil; n-- {
		i := d.uvarint(states - 1)
		w := d.float(-maxWeight, maxWeight)
		if d.err == nil && (i < next || w == 0) {
			d.fail("weights not in order, or 0")
		}
		(*r)[i] = w
		next = i + 1
	}
}

func (d *decoder) notNegative(r *row) {
	for _, w := range r {
		if w < 0 {
			d.fail("negative weight")
		}
	}
}

// sequence reads the nodes and checks what the counting relies on: keys are distinct, and what is joined is followed
// by an ended job.
func (d *decoder) sequence(s *sequence) {
	joined := false
	for n := d.uvarint(math.MaxInt32); n > 0 && d.err == nil; n-- {
		nd := d.node()
		if joined && !nd.ended {
			d.fail("pair counted with a job that has not ended")
		}
		joined = nd.joined
		at := s.push(nd)
		if nd.ended {
			continue
		}
		if _, ok := s.open[nd.key]; ok {
			d.fail("key twice")
		}
		s.open[nd.key] = at
	}
	if joined {
		d.fail("pair counted with a job that is missing")
	}
}

func (d *decoder) node() node {
	flags := d.byte()
	switch flags {
	case 0:
		n := d.uvarint(math.MaxInt32)
		return node{key: string(d.bytes(int(n)))}
	case flagEnded, flagEnded | flagJoined:
		p := point{d.byte(), d.byte()}
		if p.procs >= states || p.runtime >= states {
			d.fail("state out of range")
		}
		return node{ended: true, joined: flags&flagJoined != 0, point: p}
	default:
		d.fail("unknown flags")
		return node{}
	}
}
