package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// Save writes, in this order: the magic bytes, the kind of state as a text, the version as a number, the fields, and a
// checksum (CRC-32C, 4 bytes, little-endian) of everything before the checksum.
const (
	magic        = "wcs1"
	checksumSize = 4
)

// These are the reasons why saved state is refused. Each *Error wraps one of them.
var (
	// ErrDamaged is the reason for bytes that no program has saved in this form: they were cut off or changed, or are
	// something else.
	ErrDamaged = errors.New("damaged")
	// ErrVersion is the reason for state that another version of this program saved.
	ErrVersion = errors.New("of another version of this program")
	// ErrConfig is the reason for state that was saved under another configuration.
	ErrConfig = errors.New("saved under another configuration")
)

// Error means that saved state cannot be used. It wraps ErrDamaged, ErrVersion or ErrConfig.
type Error struct {
	// Kind is the kind of the state that could not be read. The kinds of its parts follow after slashes, as in
	// "engine/blend".
	Kind string
	// At is the offset of the error in the saved bytes. Size is their number.
	At, Size int
	// Reason is ErrDamaged, ErrVersion or ErrConfig.
	Reason error
	// Detail describes the error further. It may be empty.
	Detail string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("saved state %q is %s (byte %d of %d)", e.Kind, e.Reason, e.At, e.Size)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

// Save encodes a value: the header with its kind and version, its fields, and the checksum. fields passes a pointer
// to each field to the Codec. size is the expected length in bytes, so that the buffer need not grow; 0 means
// unknown. Save returns an *Error if fields called Fail, Failf, Refuse or Differs.
func Save(kind string, version uint64, size int, fields func(*Codec)) ([]byte, error) {
	c := &Codec{Writer: make(Writer, 0, size+size/8+64)}
	c.Writer = append(c.Writer, magic...)
	c.Part(kind, version, fields)
	if err := c.problem(len(c.Writer)); err != nil {
		return nil, err
	}
	return seal(c.Writer), nil
}

// Load reads the output of Save for the same kind and version. fields passes the same pointers as in Save, and the
// Codec sets the values. The error is an *Error. Some values may already be set when an error is found, so load into a
// new value and discard it after an error, as Restore does.
func Load(kind string, version uint64, data []byte, fields func(*Codec)) error {
	if err := checkEnvelope(kind, data); err != nil {
		return err
	}
	end := len(data) - checksumSize
	c := &Codec{Reader: Reader{Rest: data[len(magic):end:end]}, Reading: true}
	c.Part(kind, version, fields)
	if !c.Bad && len(c.Rest) > 0 {
		c.Failf("%d bytes too many", len(c.Rest))
		c.where = kind
	}
	return c.problem(end)
}

// Open returns the kind and the version of an output of Save, and a Reader of its fields. It is for tools that examine
// saved state. The error is an *Error.
func Open(data []byte) (kind string, version uint64, fields Reader, err error) {
	if err := checkEnvelope("", data); err != nil {
		return "", 0, Reader{}, err
	}
	r := Reader{Rest: data[len(magic) : len(data)-checksumSize]}
	kind, version = r.text(), r.Uint()
	if r.Bad {
		return "", 0, Reader{}, &Error{Size: len(data), Reason: ErrDamaged, Detail: "its header is cut off"}
	}
	return kind, version, r, nil
}

// Restore reads an output of Save into a value, as Load does, but after an error the value is unchanged. fields gets a
// copy of the value, and must not change data that pointers, maps and slices of this copy lead to.
func Restore[T any](v *T, kind string, version uint64, data []byte, fields func(*T, *Codec)) error {
	fresh := *v
	if err := Load(kind, version, data, func(c *Codec) { fields(&fresh, c) }); err != nil {
		return err
	}
	*v = fresh
	return nil
}

// Part writes or reads a value that is a part of another value, with a kind and a version of its own. Reading refuses
// another kind or version.
func (s *Codec) Part(kind string, version uint64, fields func(*Codec)) {
	s.kinds = append(s.kinds, kind)
	name, number := kind, version
	s.Text(&name)
	switch s.Uint(&number); {
	case s.Bad:
	case name != kind:
		s.Failf("it holds %.40q", name)
	case number != version:
		s.refuse(ErrVersion, fmt.Sprintf("version %d, this program reads version %d", number, version))
	default:
		fields(s)
	}
	if s.Bad && s.where == "" {
		s.where = strings.Join(s.kinds, "/")
	}
	s.kinds = s.kinds[:len(s.kinds)-1]
}

// Copy copies the fields of one value to another in memory. It sets WithoutShared, so that from and to leave out the
// fields that the copies share. The error is an *Error.
func Copy(from, to func(*Codec)) error {
	out := &Codec{WithoutShared: true}
	if from(out); out.Bad {
		return out.problem(len(out.Writer))
	}
	in := &Codec{Reader: Reader{Rest: out.Writer}, Reading: true, WithoutShared: true, handed: out.handed}
	if to(in); !in.Bad && len(in.Rest)+len(in.handed) > 0 {
		in.Failf("%d bytes and %d values too many", len(in.Rest), len(in.handed))
	}
	return in.problem(len(out.Writer))
}

// Hand reports whether Copy is running. If so, it assigns the value directly, which is faster than writing and
// reading its fields. The copy then shares the data that the value points to, so the reader must clone data that may
// change. When state is saved or loaded, Hand does nothing.
func Hand[T any](s *Codec, v *T) bool {
	switch {
	case !s.WithoutShared:
		return false
	case !s.Reading:
		s.handed = append(s.handed, *v)
	case !s.Bad:
		given, ok := any(nil), false
		if len(s.handed) > 0 {
			given, s.handed = s.handed[0], s.handed[1:]
		}
		if *v, ok = given.(T); !ok {
			s.Failf("%T was not handed over", *v)
		}
	}
	return true
}

// problem returns the error of a Codec that is Bad, or nil. end is the offset of the end of the input, from which the
// position is computed.
func (s *Codec) problem(end int) error {
	if !s.Bad {
		return nil
	}
	reason := s.reason
	if reason == nil {
		reason = ErrDamaged
	}
	at := end - s.left
	if !s.Reading {
		at = end
	}
	return &Error{Kind: s.where, At: at, Size: end + checksumSize, Reason: reason, Detail: s.detail}
}

func seal(w []byte) []byte { return binary.LittleEndian.AppendUint32(w, checksum(w)) }

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// checkEnvelope verifies the magic and the checksum.
func checkEnvelope(kind string, data []byte) error {
	fail := func(reason error, at int, detail string) error {
		return &Error{Kind: kind, At: at, Size: len(data), Reason: reason, Detail: detail}
	}
	end := len(data) - checksumSize
	if end < len(magic) {
		return fail(ErrDamaged, len(data), "it is cut off")
	}
	sum := binary.LittleEndian.Uint32(data[end:])
	if !bytes.HasPrefix(data, []byte(magic)) {
		if checksum(slices.Concat([]byte(magic), data[len(magic):end])) == sum {
			return fail(ErrDamaged, 0, "its first bytes differ")
		}
		return fail(ErrVersion, 0, "it begins otherwise than what this program saves")
	}
	if checksum(data[:end]) != sum {
		return fail(ErrDamaged, end, "its checksum differs")
	}
	return nil
}
