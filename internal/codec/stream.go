package codec

import (
	"encoding/binary"
	"hash/crc32"
)

// streamBytes is the minimum number of encoded bytes that a stream passes on at a time, except at the end.
const streamBytes = 256 << 10

// stream passes encoded bytes on.
type stream struct {
	put  func([]byte) error
	err  error  // the first error of put
	sum  uint32 // the checksum of the bytes so far
	size int    // the number of the bytes so far
}

// SaveTo encodes a value as Save does, and passes the same bytes to put, piece by piece. So the encoded value, which
// may be large, is never in memory as a whole. put must not keep a piece. SaveTo returns the number of bytes. The error
// is that of put, or an *Error as from Save.
func SaveTo(put func([]byte) error, kind string, version uint64, fields func(*Codec)) (int, error) {
	c := &Codec{Writer: make(Writer, 0, streamBytes+streamBytes/8), stream: &stream{put: put}}
	c.Writer = append(c.Writer, magic...)
	c.Part(kind, version, fields)
	c.putAll()
	switch s := c.stream; {
	case s.err != nil:
		return 0, s.err
	case c.Bad:
		return 0, c.problem(s.size)
	}
	sum := binary.LittleEndian.AppendUint32(nil, c.stream.sum)
	return c.stream.size + len(sum), put(sum)
}

// putFull passes the encoded bytes on if there are many.
func (s *Codec) putFull() {
	if s.stream != nil && len(s.Writer) >= streamBytes {
		s.putAll()
	}
}

// putAll passes the encoded bytes on. After an error it drops them.
func (s *Codec) putAll() {
	s.putDirectly(s.Writer)
	s.Writer = s.Writer[:0]
}

// putDirectly passes bytes on, after everything that was put before.
func (s *Codec) putDirectly(data []byte) {
	to := s.stream
	to.sum = crc32.Update(to.sum, crc32.MakeTable(crc32.Castagnoli), data)
	to.size += len(data)
	if to.err == nil {
		if to.err = to.put(data); to.err != nil {
			s.Refuse(to.err)
		}
	}
}
