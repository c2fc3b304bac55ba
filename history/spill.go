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

	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/job"
)

// sorter sorts events by the order in which they happened. What does not fit in memory it keeps in temporary files.
type sorter struct {
	dir    string
	limit  int // events in memory
	events []Event
	runs   []*os.File
	buffer []byte
}

// phase is the place of an event among those of one instant: ends come first, then submissions, then starts and what
// else happens; a job that ends at the instant of its own start, or leaves at that of its submission, does so last.
func phase(ev *job.Event) int {
	switch ev.Kind {
	case job.Submit:
		return 1
	case job.End:
		if ev.Times.Start.Before(ev.Time) {
			return 0
		}
		return 3
	case job.Cancel:
		if ev.Times.Submit.Before(ev.Time) {
			return 0
		}
		return 3
	case job.Requeue:
		return 0
	}
	return 2
}

// compare orders events.
func compare(a, b *Event) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(phase(&a.Event), phase(&b.Event)), cmp.Compare(a.order, b.order))
}

// add takes an event.
func (s *sorter) add(ev Event) error {
	s.events = append(s.events, ev)
	if len(s.events) < s.limit {
		return nil
	}
	return s.spill()
}

// spill writes the events in memory to a file of their own, in order.
func (s *sorter) spill() (err error) {
	file, err := os.CreateTemp(s.dir, "waitcast-history-*")
	if err != nil {
		return fmt.Errorf("sorting on disk: %w", err)
	}
	s.runs = append(s.runs, file)
	_ = os.Remove(file.Name()) // where the system allows it nothing is left behind, whatever happens; else close does
	s.sort()
	z, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("sorting on disk: %w", err)
	}
	out := bufio.NewWriter(z)
	var length [binary.MaxVarintLen64]byte
	for i := range s.events {
		s.buffer = appendEvent(s.buffer[:0], &s.events[i])
		n := binary.PutUvarint(length[:], uint64(len(s.buffer)))
		_, _ = out.Write(length[:n]) // Flush returns the error
		_, _ = out.Write(s.buffer)
	}
	if err := errors.Join(out.Flush(), z.Close()); err != nil {
		return fmt.Errorf("sorting on disk: %w; set TMPDIR to a folder with more room", err)
	}
	clear(s.events)
	s.events = s.events[:0]
	return nil
}

func (s *sorter) sort() {
	slices.SortFunc(s.events, func(a, b Event) int { return compare(&a, &b) })
}

// each calls do with all events in order.
func (s *sorter) each(do func(*Event) error) error {
	s.sort()
	merge := runHeap{}
	for _, file := range s.runs {
		run, err := openRun(file)
		if err != nil {
			return err
		}
		defer run.z.Close()
		if more, err := run.advance(); err != nil {
			return err
		} else if more {
			merge = append(merge, run)
		}
	}
	heap.Init(&merge)
	next := 0
	for next < len(s.events) || len(merge) > 0 {
		if len(merge) == 0 || next < len(s.events) && compare(&s.events[next], &merge[0].event) < 0 {
			if err := do(&s.events[next]); err != nil {
				return err
			}
			next++
			continue
		}
		ev := merge[0].event
		more, err := merge[0].advance()
		switch {
		case err != nil:
			return err
		case more:
			heap.Fix(&merge, 0)
		default:
			heap.Pop(&merge)
		}
		if err := do(&ev); err != nil {
			return err
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
	s.runs, s.events = nil, nil
	return errors.Join(errs...)
}

// run reads the events of a temporary file.
type run struct {
	z      *zstd.Decoder
	in     *bufio.Reader
	decode decoder
	buffer []byte
	event  Event
}

func openRun(file *os.File) (*run, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("sorting on disk: %w", err)
	}
	z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("sorting on disk: %w", err)
	}
	return &run{z: z, in: bufio.NewReader(z)}, nil
}

// advance reads the next event; false after the last.
func (r *run) advance() (bool, error) {
	n, err := binary.ReadUvarint(r.in)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sorting on disk: %w", err)
	case n > 1<<30:
		return false, errSpill
	}
	r.buffer = slices.Grow(r.buffer[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.buffer); err != nil {
		return false, fmt.Errorf("sorting on disk: %w", err)
	}
	r.event, err = r.decode.event(r.buffer)
	return err == nil, err
}

// runHeap has the run with the earliest event on top.
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
