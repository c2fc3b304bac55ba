package hypergamma

import (
	"cmp"
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "hypergamma", 2

// maxWeight is the maximum of a sum that is read. It prevents later sums from becoming infinite.
const maxWeight = 1e100

// fields reads or writes all counts and sums.
func (l *Live) fields(c *codec.Codec) {
	if c.Reading {
		*l = *newLive(0)
	}
	c.Between(0, math.Nextafter(1, 0), &l.forget)
	c.Between(math.SmallestNonzeroFloat64, rescale, &l.end, &l.submit)
	c.Between(0, 1<<40, &l.longest)
	c.Real(&l.last)
	c.Check(!(math.Abs(l.last) > maxLocal), "a submission at %v", l.last)
	c.Between(0, maxWeight, &l.n, &l.short, &l.gaps.longest)
	for i := range l.slots {
		c.Between(0, maxWeight, &l.slots[i])
	}
	size := func(procs *int) {
		codec.Number(c, procs)
		c.Check(*procs >= 1 && *procs <= 1<<30, "a job of %d processors", *procs)
	}
	codec.MapOf(c, &l.sizes, cmp.Compare[int], size, func(w *float64) {
		c.Between(math.SmallestNonzeroFloat64, maxWeight, w)
	})
	for class := range l.bins {
		codec.Optional(c, &l.bins[class], func(b *[runtimeBins]float64) {
			c.Sparse(b[:])
			for _, w := range b {
				c.Check(w >= 0 && w <= maxWeight, "a weight of %v", w)
			}
		})
	}
	l.gaps.each(func(x *float64) { c.Between(-maxWeight, maxWeight, x) })
}

// Code reads or writes the model as a part of other saved state.
func (l *Live) Code(c *codec.Codec) { c.Part(kind, version, l.fields) }

// MarshalBinary encodes the model. Models with the same calls give equal bytes.
func (l *Live) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, l.fields) }

// UnmarshalBinary replaces the model by the encoded one. Every later result is the same as that of the encoded model,
// to the last bit. The error is a *codec.Error; after an error the model is unchanged.
func (l *Live) UnmarshalBinary(data []byte) error {
	return codec.Restore(l, kind, version, data, (*Live).fields)
}
