package uniformlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// codecVersion is the first byte of an encoded window. Version 1 goes on with maxCount, maxAge (ns), the limit of
// Expire (microseconds since 1970) and the number of jobs, then every job's start (the first as it is, then
// differences) and quantized ln lifetime, in the order of starts; all as varints of encoding/binary.
const codecVersion = 1

// ErrCorrupt is returned by [Window.UnmarshalBinary] for bytes that no window was encoded to.
var ErrCorrupt = errors.New("corrupt window")

// MarshalBinary encodes the window with its limits, that of Expire included. Windows of the same limits and jobs have
// the same bytes, whatever the order in which the jobs came.
func (w *Window) MarshalBinary() ([]byte, error) {
	w.settle()
	slices.SortFunc(w.heap, windowJob.compare) // a sorted slice is a heap
	b := make([]byte, 0, 32+8*len(w.heap))
	b = append(b, codecVersion)
	b = binary.AppendUvarint(b, uint64(w.maxCount))
	b = binary.AppendUvarint(b, uint64(w.maxAge))
	b = binary.AppendVarint(b, w.cut)
	b = binary.AppendUvarint(b, uint64(len(w.heap)))
	var start int64
	for i, j := range w.heap {
		if i == 0 {
			b = binary.AppendVarint(b, j.start)
		} else {
			b = binary.AppendUvarint(b, uint64(j.start)-uint64(start))
		}
		start = j.start
		b = binary.AppendUvarint(b, uint64(j.value))
	}
	return b, nil
}

// UnmarshalBinary replaces the window, its limits included, by the one encoded: every later result is the same, to
// the last bit, as the encoded window would have given. On an error, which wraps [ErrCorrupt], the window stays as it
// was.
func (w *Window) UnmarshalBinary(data []byte) error {
	d := decoder{rest: data}
	if version := d.byte(); d.err == nil && version != codecVersion {
		return fmt.Errorf("uniformlog: window of version %d, want %d: %w", version, codecVersion, ErrCorrupt)
	}
	in := Window{
		maxCount: int(d.uvarint(math.MaxInt)),
		maxAge:   time.Duration(d.uvarint(math.MaxInt64)),
		cut:      d.varint(),
	}
	// A job takes at least two bytes: what cannot be there is not allocated.
	n := int(d.uvarint(uint64(len(d.rest) / 2)))
	if d.err == nil && in.maxCount > 0 && n > in.maxCount {
		d.fail("more jobs than its limit")
	}
	in.heap = d.jobs(n, in.cut)
	if d.err == nil && len(d.rest) > 0 {
		d.fail("bytes after its end")
	}
	if d.err != nil {
		return fmt.Errorf("uniformlog: at byte %d of %d: %w", len(data)-len(d.rest), len(data), d.err)
	}
	in.fillList()
	// Leaves that a Sample holds are not in the new list; its epoch may start again.
	*w = in
	return nil
}

// decoder reads varints until the first error.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, why)
	}
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail("no bytes")
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	switch {
	case d.err != nil:
		return 0
	case n <= 0:
		d.fail("cut off or not a number")
		return 0
	case v > limit:
		d.fail("number out of range")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if d.err != nil {
		return 0
	}
	if n <= 0 {
		d.fail("cut off or not a number")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// jobs reads n jobs in order, none of them started before cut.
func (d *decoder) jobs(n int, cut int64) []windowJob {
	jobs := make([]windowJob, 0, n)
	last := windowJob{start: cut}
	for i := 0; i < n && d.err == nil; i++ {
		var j windowJob
		if i == 0 {
			j.start = d.varint()
		} else {
			j.start = int64(uint64(last.start) + d.uvarint(math.MaxUint64))
		}
		j.value = int32(d.uvarint(maxValue))
		if d.err == nil && j.before(last) {
			d.fail("jobs not in order")
		}
		jobs = append(jobs, j)
		last = j
	}
	return jobs
}
