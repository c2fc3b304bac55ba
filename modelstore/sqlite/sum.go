package sqlite

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

// summer computes the checksum of a row: the CRC-32C (Castagnoli) of its columns, little-endian. An integer has 8
// bytes. A text or blob is preceded by its length. newSummer returns one. A summer must not be used by two goroutines
// at once.
type summer struct {
	table *crc32.Table
	buf   []byte
}

func newSummer() *summer { return &summer{table: crc32.MakeTable(crc32.Castagnoli)} }

func (s *summer) int(v int64) *summer {
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(v))
	return s
}

// maybe adds an integer that may be unknown.
func (s *summer) maybe(v int64, known bool) *summer {
	if !known {
		s.buf = append(s.buf, 0)
		return s
	}
	s.buf = append(s.buf, 1)
	return s.int(v)
}

func (s *summer) float(v float64) *summer { return s.int(int64(math.Float64bits(v))) }

func (s *summer) text(v string) *summer {
	s.int(int64(len(v)))
	s.buf = append(s.buf, v...)
	return s
}

func (s *summer) bytes(v []byte) *summer {
	s.int(int64(len(v)))
	s.buf = append(s.buf, v...)
	return s
}

// sum returns the checksum of the added values, and starts a new one.
func (s *summer) sum() int64 {
	c := crc32.Checksum(s.buf, s.table)
	s.buf = s.buf[:0]
	return int64(c)
}

// sumModel returns the checksum of a piece of a saved model.
func sumModel(s *summer, name string, piece, seq int64, data []byte) int64 {
	return s.text(name).int(piece).int(seq).bytes(data).sum()
}

// nanos returns an instant in the form that the database stores, which is nil for the zero time.
func nanos(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}
