package history

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// ErrDamaged means that a chunk is not a result of EncodeChunk.
var ErrDamaged = errors.New("a chunk of stored history is damaged")

const (
	// chunkVersion is the first byte of a chunk.
	chunkVersion = 3
	// endsFirst is the version of 0.1.0. At an instant, ends with an unknown start come first, and cancellations with
	// an unknown submission.
	endsFirst = 2
	// withoutGroups is the version of older chunks, in which events have no groups.
	withoutGroups = 1
	// maxChunk is the maximum memory in bytes that decoding a chunk may allocate.
	maxChunk = 256 << 20
)

// EncodeChunk encodes events as bytes for a store, compressed with zstd. It leaves out the positions of the events in
// their files. Events that are close to each other in time need the least room: about 10 bytes each.
//
// The bytes have the events column by column. A column of numbers consists of varints. The column of times has the
// differences between consecutive times. A column of texts has a number for each event, followed by the new texts.
// The number is 0 for a new text. For a repeated text it is 1 more than the index of the text among the column's
// texts.
func EncodeChunk(events []Event) ([]byte, error) {
	var w codec.Writer
	w.Uint(uint64(len(events)))
	rows := make([][numbers]int64, len(events))
	for i := range events {
		rows[i] = numbersOf(&events[i])
		w.Flag(events[i].inferred)
	}
	for column := range numbers {
		before := int64(0)
		for i := range rows {
			n := rows[i][column]
			w.Signed(n - before)
			if column == numInstants {
				before = n
			}
		}
	}
	for column := range texts {
		writeTexts(&w, events, column)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("chunk of history: %w", err)
	}
	return z.EncodeAll(w, []byte{chunkVersion}), z.Close()
}

// writeTexts adds a column of texts.
func writeTexts(w *codec.Writer, events []Event, column int) {
	places := map[string]uint64{}
	var added []string
	for i := range events {
		s := *textsOf(&events[i])[column]
		place := places[s]
		w.Uint(place)
		if place == 0 {
			added = append(added, s)
			places[s] = uint64(len(added))
		}
	}
	for _, s := range added {
		w.Text(s)
	}
}

// DecodeChunk calls do with the events of a chunk, in their order. Each event is valid until do returns. DecodeChunk
// returns ErrDamaged, an error for a chunk of a newer program, or the error of do.
func DecodeChunk(chunk []byte, do func(*Event) error) error {
	events, err := decodeChunk(chunk)
	if err != nil {
		return err
	}
	for i := range events {
		if err := do(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

func decodeChunk(chunk []byte) ([]Event, error) {
	switch {
	case len(chunk) == 0:
		return nil, ErrDamaged
	case chunk[0] < withoutGroups || chunk[0] > chunkVersion:
		return nil, fmt.Errorf("%w, or of version %d; this program knows only %d: run the newer program", ErrDamaged,
			chunk[0], chunkVersion)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunk))
	if err != nil {
		return nil, fmt.Errorf("chunk of history: %w", err)
	}
	defer z.Close()
	b, err := z.DecodeAll(chunk[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	d := newDecoder(ErrDamaged)
	d.Rest = b
	events := make([]Event, d.Count())
	for i := range events {
		events[i].File = Stored
		events[i].inferred = d.Flag()
	}
	d.readNumbers(events)
	columns := texts
	if chunk[0] == withoutGroups { // groups are the last column
		columns--
	}
	for column := range columns {
		d.readTexts(events, column)
	}
	if chunk[0] <= endsFirst {
		events = endsLast(events)
	}
	for i := range events {
		events[i].EachText(job.Stored)
	}
	return events, d.end()
}

// endsLast moves, within each instant, ends and cancellations behind the submission and start of the same job, unless
// the record shows that its attempt began earlier.
func endsLast(events []Event) []Event {
	out := make([]Event, 0, len(events))
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Time.Equal(events[0].Time) {
			n++
		}
		begins := map[string]bool{}
		for i := range events[:n] {
			if k := events[i].Kind; n > 1 && (k == job.Submit || k == job.Start) {
				begins[events[i].ID] = true
			}
		}
		var last []Event
		for _, ev := range events[:n] {
			unknownStart := ev.Kind == job.End && ev.Times.Start.IsZero()
			unknownSubmit := ev.Kind == job.Cancel && ev.Times.Submit.IsZero()
			if begins[ev.ID] && (unknownStart || unknownSubmit) {
				last = append(last, ev)
			} else {
				out = append(out, ev)
			}
		}
		out, events = append(out, last...), events[n:]
	}
	return out
}

// readNumbers reads the columns of numbers.
func (d *decoder) readNumbers(events []Event) {
	rows := make([][numbers]int64, len(events))
	for column := range numbers {
		before := int64(0)
		for i := range rows {
			n := d.Signed() + before
			rows[i][column] = n
			if column == numInstants {
				before = n
			}
		}
	}
	for i := range events {
		setNumbers(&events[i], &rows[i])
	}
}

// readTexts reads a column of texts.
func (d *decoder) readTexts(events []Event, column int) {
	places := make([]uint64, len(events))
	added := uint64(0)
	for i := range places {
		place := d.Uint()
		switch {
		case place > added:
			d.Fail()
			return
		case place == 0:
			added++
			place = added
		}
		places[i] = place
	}
	known := make([]string, added)
	for i := range known {
		known[i] = d.text()
	}
	if d.Bad {
		return
	}
	for i := range events {
		*textsOf(&events[i])[column] = known[places[i]-1]
	}
}
