package history

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/job"
)

// ErrSorting means that temporary files cannot be written or read.
var ErrSorting = errors.New("sorting on disk")

// spillWindow is the size in bytes of the zstd window for temporary files. While the files are merged, each file
// needs several times that memory.
const spillWindow = 128 << 10

// sorter sorts events by their times, see compare. It stores encoded events. Events that do not fit in memory
// are written to temporary files.
type sorter struct {
	dir   string
	limit int     // maximum number of events in memory
	bytes []byte  // the encodings of the events in memory
	keys  []place // the places of the events in bytes, with sort keys
	// added is the number of all events, including those on disk. newest is the latest time among them.
	added  int64
	newest time.Time
	runs   []*os.File
}

// place is the place of an event in memory, with its sort key.
type place struct {
	seconds    int64
	order      uint64
	start, end int // offsets in sorter.bytes
	nanos      int32
	kind       job.Kind
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.seconds, q.seconds), cmp.Compare(p.nanos, q.nanos), cmp.Compare(p.order, q.order),
		cmp.Compare(p.kind, q.kind))
}

// compare compares two events by their times, and those of one instant by their records. Of one record, an implied
// submission comes first, then an implied start, then the record's own event.
func compare(a, b *Event) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.order, b.order), cmp.Compare(a.Kind, b.Kind))
}

// add adds an event.
func (s *sorter) add(ev *Event) error {
	s.added++
	if ev.Time.After(s.newest) {
		s.newest = ev.Time
	}
	start := len(s.bytes)
	s.bytes = appendEvent(s.bytes, ev)
	s.keys = append(s.keys, place{
		seconds: ev.Time.Unix(), nanos: int32(ev.Time.Nanosecond()), //nolint:gosec // from 0 to 999,999,999
		kind: ev.Kind, order: ev.order, start: start, end: len(s.bytes),
	})
	if len(s.keys) < s.limit {
		return nil
	}
	return s.spill()
}

// spill writes the events in memory to a new temporary file, in order.
func (s *sorter) spill() (err error) {
	file, err := os.CreateTemp(s.dir, "waitcast-history-*")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSorting, err)
	}
	s.runs = append(s.runs, file)
	_ = os.Remove(file.Name()) // the open file stays readable; if the system refuses to remove it now, close removes it
	z, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(spillWindow))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSorting, err)
	}
	out := bufio.NewWriter(z)
	var length [binary.MaxVarintLen64]byte
	for next := s.inMemory(); ; {
		b, err := next()
		if err != nil {
			break
		}
		_, _ = out.Write(binary.AppendUvarint(length[:0], uint64(len(b)))) // a later Flush returns the error
		_, _ = out.Write(b)
	}
	if err := errors.Join(out.Flush(), z.Close()); err != nil {
		return fmt.Errorf("%w: %w; set TMPDIR to a folder with more room", ErrSorting, err)
	}
	s.keys, s.bytes = s.keys[:0], s.bytes[:0]
	return nil
}

// inMemory sorts the events in memory. The function next returns them one by one, encoded. After the last it returns
// io.EOF.
func (s *sorter) inMemory() (next func() ([]byte, error)) {
	slices.SortFunc(s.keys, place.compare)
	at := 0
	return func() ([]byte, error) {
		if at == len(s.keys) {
			return nil, io.EOF
		}
		p := s.keys[at]
		at++
		return s.bytes[p.start:p.end], nil
	}
}

// each calls do with all events in order. The event is valid only until do returns.
func (s *sorter) each(do func(*Event) error) error {
	merge := runHeap{&run{next: s.inMemory()}}
	for _, file := range s.runs {
		run, closeRun, err := openRun(file)
		if err != nil {
			return err
		}
		defer closeRun()
		merge = append(merge, run)
	}
	names := newDecoder(errSpill) // one table of texts for all runs
	for i := 0; i < len(merge); {
		merge[i].decode = names
		more, err := merge[i].advance()
		switch {
		case err != nil:
			return err
		case more:
			i++
		default:
			merge = slices.Delete(merge, i, i+1)
		}
	}
	heap.Init(&merge)
	for len(merge) > 0 {
		if err := do(&merge[0].event); err != nil {
			return err
		}
		more, err := merge[0].advance()
		switch {
		case err != nil:
			return err
		case more:
			heap.Fix(&merge, 0)
		default:
			heap.Pop(&merge)
		}
	}
	return nil
}

// close removes the temporary files.
func (s *sorter) close() error {
	var errs []error
	for _, file := range s.runs {
		errs = append(errs, file.Close())
		if err := os.Remove(file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	s.runs, s.keys, s.bytes = nil, nil, nil
	return errors.Join(errs...)
}

// run is a sorted sequence of events, from a temporary file or from memory.
type run struct {
	next   func() ([]byte, error) // returns io.EOF after the last event
	decode *decoder
	event  Event
}

// openRun opens the sorted events of a temporary file.
func openRun(file *os.File) (_ *run, closeRun func(), err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSorting, err)
	}
	z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSorting, err)
	}
	in := bufio.NewReader(z)
	var buffer []byte
	return &run{next: func() ([]byte, error) {
		n, err := binary.ReadUvarint(in)
		switch {
		case err != nil:
			return nil, err
		case n > 1<<30:
			return nil, errSpill
		}
		buffer = slices.Grow(buffer[:0], int(n))[:n]
		if _, err := io.ReadFull(in, buffer); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		return buffer, nil
	}}, z.Close, nil
}

// advance reads the next event. It returns false after the last.
func (r *run) advance() (bool, error) {
	b, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err == nil:
		r.event, err = r.decode.event(b)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrSorting, err)
	}
	return true, nil
}

// runHeap is a heap of runs; the run with the earliest event is at the top.
type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return compare(&h[i].event, &h[j].event) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
