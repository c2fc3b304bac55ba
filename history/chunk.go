package history

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is the error of a chunk that is not what EncodeChunk returned.
var ErrDamaged = errors.New("a chunk of stored history is damaged")

const (
	// chunkVersion is the first byte of a chunk.
	chunkVersion = 1
	// maxChunk bounds the memory that a chunk may ask for when it is decoded.
	maxChunk = 256 << 20
)

// EncodeChunk returns events as bytes that a store keeps, compressed by zstd. The positions of the events in their
// files are not kept. Events that are close to each other in time take the least room: about 10 bytes each.
//
// The bytes hold the events column by column. A column of numbers is varints, in that of the times each the difference
// from the one before. A column of texts is a number for each event, 0 for a new text, else 1 more than the place of
// the text among those of the column, and then the new texts.
func EncodeChunk(events []Event) ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(events)))
	rows := make([][numbers]int64, len(events))
	inferred := make([]byte, len(events))
	for i := range events {
		rows[i] = numbersOf(&events[i])
		if events[i].inferred {
			inferred[i] = 1
		}
	}
	b = append(b, inferred...)
	for column := range numbers {
		before := int64(0)
		for i := range rows {
			n := rows[i][column]
			b = binary.AppendVarint(b, n-before)
			if column == numInstants {
				before = n
			}
		}
	}
	for column := range texts {
		b = appendTexts(b, events, column)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("chunk of history: %w", err)
	}
	return z.EncodeAll(b, []byte{chunkVersion}), z.Close()
}

// appendTexts adds a column of texts.
func appendTexts(b []byte, events []Event, column int) []byte {
	places := map[string]uint64{}
	var added []string
	for i := range events {
		s := *textsOf(&events[i])[column]
		place := places[s]
		b = binary.AppendUvarint(b, place)
		if place == 0 {
			added = append(added, s)
			places[s] = uint64(len(added))
		}
	}
	for _, s := range added {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// DecodeChunk calls do with the events of a chunk, in their order; each is valid until do returns. Errors are
// ErrDamaged, that of a chunk of a newer program, and what do returns.
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
	case chunk[0] != chunkVersion:
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
	d.b = b
	count := d.length()
	if count > uint64(len(d.b)) { // each event takes at least one byte
		return nil, ErrDamaged
	}
	events := make([]Event, count)
	for i := range events {
		events[i].File = Stored
		events[i].inferred = d.byte() != 0
	}
	d.readNumbers(events)
	for column := range texts {
		d.readTexts(events, column)
	}
	if len(d.b) > 0 {
		d.fail()
	}
	return events, d.err
}

// readNumbers reads the columns of numbers.
func (d *decoder) readNumbers(events []Event) {
	rows := make([][numbers]int64, len(events))
	for column := range numbers {
		before := int64(0)
		for i := range rows {
			n := d.number() + before
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
		place := d.length()
		switch {
		case place > added:
			d.fail()
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
	if d.err != nil {
		return
	}
	for i := range events {
		*textsOf(&events[i])[column] = known[places[i]-1]
	}
}
