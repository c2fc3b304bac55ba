package engine

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// writer writes what is saved: integers as varints; reals as varints of their bits in the other order, which are short for whole numbers.
type writer []byte

func (w *writer) uint(all ...uint64) {
	for _, v := range all {
		*w = binary.AppendUvarint(*w, v)
	}
}

func (w *writer) real(all ...float64) {
	for _, v := range all {
		*w = binary.AppendUvarint(*w, bits.ReverseBytes64(math.Float64bits(v)))
	}
}

func (w *writer) reals(all []float64) {
	w.uint(uint64(len(all)))
	w.real(all...)
}

func (w *writer) singles(all []float32) {
	w.uint(uint64(len(all)))
	for _, v := range all {
		*w = binary.AppendUvarint(*w, uint64(bits.ReverseBytes32(math.Float32bits(v))))
	}
}

func (w *writer) flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	*w = append(*w, b)
}

func (w *writer) text(all ...string) {
	for _, s := range all {
		w.uint(uint64(len(s)))
		*w = append(*w, s...)
	}
}

func (w *writer) blob(b []byte) {
	w.uint(uint64(len(b)))
	*w = append(*w, b...)
}

// name writes a name by its number, and itself where it is new.
func (w *writer) name(known map[string]uint64, s string) {
	i, ok := known[s]
	if !ok {
		i = uint64(len(known))
		known[s] = i
	}
	w.uint(i)
	if !ok {
		w.text(s)
	}
}

// reader reads what a writer wrote. After something that cannot be it is bad, and gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (d *reader) fail() { d.bad, d.rest = true, nil }

func (d *reader) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the length of a list whose elements take at least a byte each.
func (d *reader) count() int {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

// within reads a number from 0 to most.
func (d *reader) within(most int) int {
	n := d.uint()
	if n > uint64(most) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *reader) real() float64 { return math.Float64frombits(bits.ReverseBytes64(d.uint())) }

// maybe reads a real that is finite or NaN.
func (d *reader) maybe() float64 {
	v := d.real()
	if math.IsInf(v, 0) {
		d.fail()
		return 0
	}
	return v
}

func (d *reader) reals() []float64 {
	out := make([]float64, d.count())
	for i := range out {
		out[i] = d.maybe()
	}
	return out
}

func (d *reader) singles() []float32 {
	out := make([]float32, d.count())
	for i := range out {
		v := d.uint()
		if v > math.MaxUint32 {
			d.fail()
		}
		out[i] = math.Float32frombits(bits.ReverseBytes32(uint32(v)))
	}
	return out
}

func (d *reader) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *reader) flag() bool {
	b := d.byte()
	if b > 1 {
		d.fail()
	}
	return b == 1
}

func (d *reader) bytes() []byte {
	n := d.count()
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *reader) text() string { return string(d.bytes()) }

func (d *reader) name(known *[]string) string {
	i := d.uint()
	if i == uint64(len(*known)) {
		*known = append(*known, d.text())
	}
	if i >= uint64(len(*known)) {
		d.fail()
		return ""
	}
	return (*known)[i]
}
