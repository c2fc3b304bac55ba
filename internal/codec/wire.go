package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Writer appends values. Integers are varints. Reals are varints of their bits in reverse byte order, which are short
// for whole numbers.
type Writer []byte

// Uint appends an unsigned number.
func (w *Writer) Uint(v uint64) { *w = binary.AppendUvarint(*w, v) }

// Signed appends a number that may be negative.
func (w *Writer) Signed(v int64) { *w = binary.AppendVarint(*w, v) }

// Real appends a number.
func (w *Writer) Real(v float64) { w.Uint(bits.ReverseBytes64(math.Float64bits(v))) }

func (w *Writer) number(v int) { w.Uint(uint64(v)) } //nolint:gosec // a negative one is refused where it is read

func (w *Writer) reals(all []float64) {
	w.Uint(uint64(len(all)))
	for _, v := range all {
		w.Real(v)
	}
}

func (w *Writer) singles(all []float32) {
	w.Uint(uint64(len(all)))
	for _, v := range all {
		w.Uint(uint64(bits.ReverseBytes32(math.Float32bits(v))))
	}
}

// Flag appends a boolean.
func (w *Writer) Flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	*w = append(*w, b)
}

// Text appends the length of a text, and then the text.
func (w *Writer) Text(s string) {
	w.Uint(uint64(len(s)))
	*w = append(*w, s...)
}

// Blob appends the length of bytes, and then the bytes.
func (w *Writer) Blob(b []byte) {
	w.Uint(uint64(len(b)))
	*w = append(*w, b...)
}

// Hash appends all eight bytes of a number.
func (w *Writer) Hash(v uint64) { *w = binary.BigEndian.AppendUint64(*w, v) }

// Single appends the four bytes of a number of single precision.
func (w *Writer) Single(v float32) { *w = binary.BigEndian.AppendUint32(*w, math.Float32bits(v)) }

// Name writes the number of a name. If the name is not in known, it also writes the name, and adds it to known.
func (w *Writer) Name(known map[string]uint64, s string) {
	i, ok := known[s]
	if !ok {
		i = uint64(len(known))
		known[s] = i
	}
	w.Uint(i)
	if !ok {
		w.Text(s)
	}
}

// Reader reads the output of a Writer. After an invalid value it is Bad and returns zeros.
type Reader struct {
	Rest   []byte
	Bad    bool
	left   int // number of unread bytes at the first failure
	reason error
	detail string
}

// Fail marks the input as invalid. All values that are read afterwards are zero.
func (d *Reader) Fail() { d.refuse(ErrDamaged, "") }

// Failf marks the input as invalid, with a reason.
func (d *Reader) Failf(format string, args ...any) {
	d.refuse(ErrDamaged, fmt.Sprintf(format, args...))
}

// Refuse marks the input as invalid because of an error.
func (d *Reader) Refuse(err error) {
	if err != nil {
		d.refuse(ErrDamaged, err.Error())
	}
}

// Differs marks the input as saved under another configuration, and describes the difference.
func (d *Reader) Differs(format string, args ...any) {
	d.refuse(ErrConfig, fmt.Sprintf(format, args...))
}

func (d *Reader) refuse(reason error, detail string) {
	if !d.Bad {
		d.Bad, d.left, d.reason, d.detail = true, len(d.Rest), reason, detail
	}
	d.Rest = nil
}

// Uint reads an unsigned number.
func (d *Reader) Uint() uint64 {
	v, n := binary.Uvarint(d.Rest)
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// Count reads the length of a list whose elements need at least one byte each.
func (d *Reader) Count() int {
	n := d.Uint()
	if n > uint64(len(d.Rest)) {
		d.Fail()
		return 0
	}
	return int(n)
}

// number reads an integer from 0 to 2^53.
func (d *Reader) number() int {
	n := d.Uint()
	if n > 1<<53 {
		d.Fail()
		return 0
	}
	return int(n)
}

// Real reads any number.
func (d *Reader) Real() float64 { return math.Float64frombits(bits.ReverseBytes64(d.Uint())) }

// FiniteOrNaN reads a real that is finite or NaN.
func (d *Reader) FiniteOrNaN() float64 {
	v := d.Real()
	if math.IsInf(v, 0) {
		d.Fail()
		return 0
	}
	return v
}

func (d *Reader) reals() []float64 {
	n := d.Count()
	if n == 0 {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = d.FiniteOrNaN()
	}
	return out
}

func (d *Reader) singles() []float32 {
	n := d.Count()
	if n == 0 {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		v := d.Uint()
		if v > math.MaxUint32 {
			d.Fail()
			return nil
		}
		out[i] = math.Float32frombits(bits.ReverseBytes32(uint32(v)))
	}
	return out
}

// Hash reads a number of eight bytes.
func (d *Reader) Hash() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Signed reads a number that may be negative. The sign is in the last bit.
func (d *Reader) Signed() int64 {
	v := d.Uint()
	return int64(v>>1) ^ -int64(v&1) //nolint:gosec // takes back binary.AppendVarint
}

// Single reads a number of single precision.
func (d *Reader) Single() float32 {
	if b := d.take(4); b != nil {
		return math.Float32frombits(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Byte reads one byte.
func (d *Reader) Byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

// take reads n bytes. It returns nil if there are fewer.
func (d *Reader) take(n int) []byte {
	if len(d.Rest) < n {
		d.Fail()
		return nil
	}
	b := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return b
}

// Flag reads a boolean.
func (d *Reader) Flag() bool {
	b := d.Byte()
	if b > 1 {
		d.Fail()
	}
	return b == 1
}

// Bytes reads a length, and then as many bytes. The result shares memory with the input.
func (d *Reader) Bytes() []byte {
	n := d.Count()
	b := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return b
}

func (d *Reader) text() string { return string(d.Bytes()) }

// Name reads a name that Writer.Name wrote. known has the names that were read before; a new name is appended to it.
func (d *Reader) Name(known *[]string) string {
	i := d.Uint()
	if i == uint64(len(*known)) {
		*known = append(*known, d.text())
	}
	if i >= uint64(len(*known)) {
		d.Fail()
		return ""
	}
	return (*known)[i]
}
