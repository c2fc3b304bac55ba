package modelstore

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// EncodeError means that a part of a snapshot cannot be encoded. It would fail again.
type EncodeError struct {
	Part string
	Err  error
}

func (e *EncodeError) Error() string {
	return fmt.Sprintf("encoding part %s of a snapshot: %v", e.Part, e.Err)
}

// Unwrap returns the reason.
func (e *EncodeError) Unwrap() error { return e.Err }

// Write passes the bytes of all parts to put, in the order of the names of the parts. A part comes in one or more
// pieces; put must not keep a piece that an Encoder made. Write returns the checksum of the snapshot: the SHA-256 of
// its number, its time, and its parts, where each text is preceded by its length. The error is that of put, or an
// *EncodeError.
func (s *Snapshot) Write(put func(part string, piece []byte) error) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(s.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(s.At.UnixNano()))
	for _, name := range s.names() {
		size, write, err := s.encoder(name)()
		if err != nil {
			return sum, &EncodeError{name, err}
		}
		b = binary.BigEndian.AppendUint64(b, uint64(len(name)))
		b = append(b, name...)
		b = binary.BigEndian.AppendUint64(b, uint64(size)) //nolint:gosec // a length
		h.Write(b)
		b = b[:0]
		var failed error
		pieces, passed := 0, 0
		pass := func(piece []byte) error {
			h.Write(piece)
			pieces, passed = pieces+1, passed+len(piece)
			failed = put(name, piece)
			return failed
		}
		if err = write(pass); err == nil && pieces == 0 {
			err = pass(nil) // so that the store has the empty part
		}
		switch {
		case failed != nil:
			return sum, failed
		case err == nil:
			err = checkSize(passed, size)
		}
		if err != nil {
			return sum, &EncodeError{name, err}
		}
	}
	h.Write(b)
	h.Sum(sum[:0])
	return sum, nil
}

// checkSize returns an error if an Encoder has not passed as many bytes as it announced.
func checkSize(passed, announced int) error {
	if passed != announced {
		return fmt.Errorf("it has %d bytes instead of %d", passed, announced)
	}
	return nil
}

// Sum returns the checksum of a snapshot that has no Encoders, see Write.
func (s *Snapshot) Sum() [sha256.Size]byte {
	sum, err := (&Snapshot{Seq: s.Seq, At: s.At, Parts: s.Parts}).Write(func(string, []byte) error { return nil })
	if err != nil { // cannot happen: only Encoders and the function fail
		return [sha256.Size]byte{}
	}
	return sum
}

// Encoded returns the snapshot with all parts in Parts. The error is an *EncodeError.
func (s *Snapshot) Encoded() (*Snapshot, error) {
	if s == nil || len(s.Encoders) == 0 {
		return s, nil
	}
	out := &Snapshot{Seq: s.Seq, At: s.At, Parts: maps.Clone(s.Parts), Damaged: s.Damaged}
	if out.Parts == nil {
		out.Parts = map[string][]byte{}
	}
	for name, encode := range s.Encoders {
		size, write, err := encode()
		if err != nil {
			return nil, &EncodeError{name, err}
		}
		data := make([]byte, 0, size)
		if err := write(func(piece []byte) error { data = append(data, piece...); return nil }); err != nil {
			return nil, &EncodeError{name, err}
		}
		if err := checkSize(len(data), size); err != nil {
			return nil, &EncodeError{name, err}
		}
		out.Parts[name] = data
	}
	return out, nil
}

// names returns the names of all parts, sorted.
func (s *Snapshot) names() []string {
	names := slices.AppendSeq(make([]string, 0, len(s.Parts)+len(s.Encoders)), maps.Keys(s.Parts))
	names = slices.AppendSeq(names, maps.Keys(s.Encoders))
	slices.Sort(names)
	return slices.Compact(names)
}

// encoder returns the encoder of a part.
func (s *Snapshot) encoder(name string) Encoder {
	if encode := s.Encoders[name]; encode != nil {
		return encode
	}
	return Whole(func() ([]byte, error) { return s.Parts[name], nil })
}

// Whole returns an Encoder of a part whose bytes are made at once.
func Whole(marshal func() ([]byte, error)) Encoder {
	return func() (int, func(put func([]byte) error) error, error) {
		data, err := marshal()
		return len(data), func(put func([]byte) error) error { return put(data) }, err
	}
}
