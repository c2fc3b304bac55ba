package training

import (
	"math"
	"slices"
)

// blockRows is the number of rows of a block.
const blockRows = 1024

// Rows is a list of rows of features, all with the same number of features. Full blocks of rows are kept by column.
// There a feature with few values takes a byte for each row, and a constant feature takes nothing. A row is returned
// with exactly the same bits. The zero value is an empty list.
type Rows struct {
	blocks []*block
	tail   [][]float32 // the newest rows, fewer than a block
	skip   int         // the number of rows of the first block that were dropped
}

// block holds rows by column. It is immutable.
type block []column

// column is one feature of a block's rows. of has, for each row, the index of its value in values. If of is nil,
// values has one value per row, or a single value for all rows.
type column struct {
	values []float32
	of     []uint8
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.blocks)*blockRows - r.skip + len(r.tail) }

// Append adds a row at the end. The caller must not change the row afterwards.
func (r *Rows) Append(row []float32) {
	if r.tail = append(r.tail, row); len(r.tail) < blockRows {
		return
	}
	b := make(block, len(row))
	var packer packer
	for f := range b {
		b[f] = packer.pack(r.tail, f)
	}
	r.blocks, r.tail = append(r.blocks, &b), nil
}

// Drop removes the first n rows.
func (r *Rows) Drop(n int) {
	n += r.skip
	whole := min(n/blockRows, len(r.blocks))
	r.blocks, r.skip = slices.Delete(r.blocks, 0, whole), n-whole*blockRows
	if len(r.blocks) == 0 {
		r.tail, r.skip = slices.Delete(r.tail, 0, r.skip), 0
	}
}

// Clone returns a copy of the list. Later changes of one do not affect the other. They share the rows.
func (r *Rows) Clone() Rows { return Rows{slices.Clone(r.blocks), slices.Clone(r.tail), r.skip} }

// Row returns a row. It uses the memory of into if that is large enough.
func (r *Rows) Row(i int, into []float32) []float32 {
	i += r.skip
	if i >= len(r.blocks)*blockRows {
		return append(into[:0], r.tail[i-len(r.blocks)*blockRows]...)
	}
	b := *r.blocks[i/blockRows]
	into = into[:0]
	for f := range b {
		into = append(into, b[f].at(i%blockRows))
	}
	return into
}

// Column writes a feature of the first rows into a slice. The slice's length is the number of rows.
func (r *Rows) Column(f int, into []float64) {
	n := 0
	for k, b := range r.blocks {
		c, from := &(*b)[f], 0
		if k == 0 {
			from = r.skip
		}
		for i := from; i < blockRows && n < len(into); i++ {
			into[n] = float64(c.at(i))
			n++
		}
	}
	for i := 0; n < len(into); i++ {
		into[n] = float64(r.tail[i][f])
		n++
	}
}

// features returns the number of features of a list that is not empty.
func (r *Rows) features() int {
	if len(r.blocks) > 0 {
		return len(*r.blocks[0])
	}
	return len(r.tail[0])
}

func (c *column) at(row int) float32 {
	switch {
	case c.of != nil:
		return c.values[c.of[row]]
	case len(c.values) == 1:
		return c.values[0]
	}
	return c.values[row]
}

// packer makes columns. It reuses its memory.
type packer struct {
	places map[uint32]uint8
	of     []uint8
	values []float32
}

// pack returns the column of a feature in the rows of a block. Two values are equal if all their bits are.
func (p *packer) pack(rows [][]float32, f int) column {
	if p.places == nil {
		p.places = map[uint32]uint8{}
	}
	clear(p.places)
	p.of, p.values = p.of[:0], p.values[:0]
	for _, row := range rows {
		bits := math.Float32bits(row[f])
		place, known := p.places[bits]
		if !known {
			if len(p.values) > math.MaxUint8 {
				return column{values: whole(rows, f)}
			}
			place = uint8(len(p.values))
			p.places[bits] = place
			p.values = append(p.values, row[f])
		}
		p.of = append(p.of, place)
	}
	values := slices.Clip(slices.Clone(p.values))
	if len(values) == 1 {
		return column{values: values}
	}
	return column{values: values, of: slices.Clip(slices.Clone(p.of))}
}

// whole returns the values of a feature, one per row.
func whole(rows [][]float32, f int) []float32 {
	out := make([]float32, len(rows))
	for i, row := range rows {
		out[i] = row[f]
	}
	return out
}
