package uniformlog

import (
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// kind and version identify the format of the saved state.
const kind, version = "uniformlog", 2

// fields reads or writes the window with its limits, including the limit set by Expire. Windows with the same limits
// and jobs give equal bytes, whatever the order of the jobs.
func (w *Window) fields(c *codec.Codec) {
	if c.Reading { // no Sample shares leaves with the new list, so its epoch may start at 0
		*w = Window{}
	} else {
		w.addPending()
		slices.SortFunc(w.heap, windowJob.compare) // a sorted slice is also a heap
	}
	codec.Number(c, &w.maxCount)
	codec.Number(c, &w.maxAge)
	c.Signed(&w.cut)
	c.Check(w.maxCount >= 0 && w.maxAge >= 0, "a limit of %d jobs or %v", w.maxCount, w.maxAge)
	last, before := windowJob{start: w.cut}, int64(0)
	codec.List(c, &w.heap, func(j *windowJob) {
		since := j.start - before // may overflow; the addition when reading undoes that
		if c.Signed(&since); c.Reading {
			j.start = before + since
		}
		codec.Number(c, &j.value)
		c.Check(j.value >= 0 && j.value <= maxValue && !j.before(last), "a job out of order or range")
		before, last = j.start, *j
	})
	c.Check(w.maxCount == 0 || len(w.heap) <= w.maxCount, "%d jobs, more than its limit", len(w.heap))
	if c.Reading && !c.Bad {
		w.fillList()
	}
}

// Code reads or writes the window as a part of other saved state.
func (w *Window) Code(c *codec.Codec) { c.Part(kind, version, w.fields) }

// MarshalBinary encodes the window. Windows with the same limits and jobs give equal bytes, whatever the order of the
// jobs.
func (w *Window) MarshalBinary() ([]byte, error) {
	return codec.Save(kind, version, 32+8*len(w.heap), w.fields)
}

// UnmarshalBinary replaces the window and its limits by the encoded ones. Every later result is the same as that of
// the encoded window, to the last bit. The error is a *codec.Error; after an error the window is unchanged.
func (w *Window) UnmarshalBinary(data []byte) error {
	return codec.Restore(w, kind, version, data, (*Window).fields)
}
