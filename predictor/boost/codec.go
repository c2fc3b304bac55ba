package boost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// codecVersion is written into every saved model.
const codecVersion = 1

// MarshalBinary saves the model: the same model gives the same bytes.
func (m *Model) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, codecVersion)
	out = appendFloat(out, m.Level)
	out = binary.AppendUvarint(out, uint64(m.Features))
	out = appendFloat(out, m.Base)
	for _, g := range m.gain {
		out = appendFloat(out, g)
	}
	out = binary.AppendUvarint(out, uint64(len(m.trees)))
	for _, t := range m.trees {
		out = binary.AppendUvarint(out, uint64(len(t.nodes)))
		for _, n := range t.nodes {
			if n.feature < 0 {
				out = append(out, 0)
				out = appendFloat(out, n.value)
				continue
			}
			side := byte(1)
			if n.missingLeft {
				side = 2
			}
			out = append(out, side)
			out = binary.AppendUvarint(out, uint64(n.feature))
			out = binary.AppendUvarint(out, uint64(n.left))
			out = binary.AppendUvarint(out, uint64(n.right))
			out = appendFloat(out, n.threshold)
		}
	}
	return out, nil
}

func appendFloat(out []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
}

// ErrCorrupt reports that bytes are not a saved model.
var ErrCorrupt = errors.New("boost: not a saved model")

// UnmarshalBinary restores a model saved by MarshalBinary. A model that it accepts predicts without failing, even if
// the bytes were damaged.
func (m *Model) UnmarshalBinary(data []byte) error {
	d := decoder{rest: data}
	if v := d.uvarint(); !d.bad && v != codecVersion {
		return fmt.Errorf("boost: saved model is version %d, this program reads %d", v, codecVersion)
	}
	fresh := Model{Level: d.float()}
	fresh.Features = d.count(8)
	fresh.Base = d.float()
	fresh.gain = make([]float64, fresh.Features)
	for i := range fresh.gain {
		fresh.gain[i] = d.float()
	}
	fresh.trees = make([]tree, d.count(1))
	for i := range fresh.trees {
		fresh.trees[i] = d.tree(fresh.Features)
	}
	if d.bad || len(d.rest) > 0 {
		return ErrCorrupt
	}
	*m = fresh
	return nil
}

type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) tree(features int) tree {
	t := tree{nodes: make([]node, d.count(9))}
	d.bad = d.bad || len(t.nodes) == 0
	for i := range t.nodes {
		kind := d.byte()
		if kind == 0 {
			t.nodes[i] = node{feature: -1, value: d.float()}
			continue
		}
		feature, left, right := d.uvarint(), d.uvarint(), d.uvarint()
		n := uint64(len(t.nodes))
		// children come after their parent, so that no walk goes round in a circle
		if kind > 2 || feature >= uint64(features) || left <= uint64(i) || left >= n ||
			right <= uint64(i) || right >= n {
			d.bad = true
			return t
		}
		t.nodes[i] = node{
			feature: int32(feature), left: int32(left), right: int32(right), missingLeft: kind == 2,
			threshold: d.float(),
		}
	}
	return t
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the length of a list whose elements take at least so many bytes each.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.rest)/size) || n > math.MaxInt32 {
		d.bad, d.rest = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) float() float64 {
	if len(d.rest) < 8 {
		d.bad, d.rest = true, nil
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.rest))
	d.rest = d.rest[8:]
	return v
}
