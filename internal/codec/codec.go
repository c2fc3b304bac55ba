// Package codec saves and restores the learnt state of the daemon. Each type has one function that describes its fields
// for both directions: it passes pointers to the fields to a Codec, which writes their values or sets them.
//
// Save adds a header at the beginning and a checksum at the end. Load checks both. If Load refuses the bytes, it
// returns an *Error. Equal values give equal bytes in every process. Reading never panics. The size of the input
// limits the memory that reading allocates: counts that exceed the remaining bytes are refused.
package codec

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// Codec writes the values that the given pointers lead to. If Reading is true, it sets them instead. An empty slice is
// read as nil. After an invalid value the Codec is Bad, and all further reads set zeros. The zero Codec writes.
type Codec struct {
	Writer
	Reader
	Reading       bool
	WithoutShared bool  // set by Copy: Hand then assigns values without encoding them
	handed        []any // values that Hand has read from one value and not yet assigned to the other, in order
	kinds         []string
	where         string  // kinds of state, from the outermost, in which the first failure occurred
	stream        *stream // nil if the Writer keeps all bytes
}

// pass reads or writes values of one type.
func pass[T any](s *Codec, all []*T, read func(*Reader) T, write func(*Writer, T)) {
	for _, v := range all {
		if s.Reading {
			*v = read(&s.Reader)
		} else {
			write(&s.Writer, *v)
		}
	}
}

// Real writes or reads numbers that are finite, or NaN for unknown. Reading refuses infinite ones.
func (s *Codec) Real(all ...*float64) { pass(s, all, (*Reader).FiniteOrNaN, (*Writer).Real) }

// Finite writes or reads finite numbers. Reading refuses NaN and infinite ones.
func (s *Codec) Finite(all ...*float64) {
	s.Real(all...)
	for _, v := range all {
		if s.Reading && math.IsNaN(*v) {
			s.Fail()
		}
	}
}

// Between writes or reads numbers from low to high. Reading refuses all others.
func (s *Codec) Between(low, high float64, all ...*float64) {
	s.Real(all...)
	for _, v := range all {
		if s.Reading && !s.Bad && !(*v >= low && *v <= high) { // Check would allocate its arguments every time
			s.Failf("%v is not between %v and %v", *v, low, high)
		}
	}
}

// Any writes or reads numbers that may be infinite, or NaN.
func (s *Codec) Any(all ...*float64) { pass(s, all, (*Reader).Real, (*Writer).Real) }

// Check marks the input as invalid unless ok is true. It has no effect when writing.
func (s *Codec) Check(ok bool, format string, args ...any) {
	if s.Reading && !ok && !s.Bad {
		s.Failf(format, args...)
	}
}

// Uint writes or reads unsigned numbers.
func (s *Codec) Uint(all ...*uint64) { pass(s, all, (*Reader).Uint, (*Writer).Uint) }

// Int writes or reads numbers from 0 to 2^53. Reading refuses larger ones.
func (s *Codec) Int(all ...*int) { pass(s, all, (*Reader).number, (*Writer).number) }

// Signed writes or reads numbers that may be negative.
func (s *Codec) Signed(all ...*int64) { pass(s, all, (*Reader).Signed, (*Writer).Signed) }

// Hash writes or reads numbers of 64 random bits, such as hash values, as eight bytes. Uint would need nine or ten.
func (s *Codec) Hash(all ...*uint64) { pass(s, all, (*Reader).Hash, (*Writer).Hash) }

// Number writes or reads numbers of any type of integers. Reading refuses a number that the type cannot hold.
func Number[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](s *Codec, all ...*T) {
	for _, v := range all {
		wide := int64(*v)
		if s.Signed(&wide); s.Reading {
			if *v = T(wide); int64(*v) != wide { // Check would allocate its arguments every time
				s.Failf("%d does not fit", wide)
			}
		}
	}
}

// Flag writes or reads booleans.
func (s *Codec) Flag(all ...*bool) { pass(s, all, (*Reader).Flag, (*Writer).Flag) }

// Text writes or reads strings.
func (s *Codec) Text(all ...*string) { pass(s, all, (*Reader).text, (*Writer).Text) }

// Time writes or reads instants, to the nanosecond and in UTC.
func (s *Codec) Time(all ...*time.Time) {
	for _, v := range all {
		seconds, nanos := v.Unix(), v.Nanosecond()
		s.Signed(&seconds)
		if s.Int(&nanos); s.Reading {
			s.Check(nanos < 1e9, "%d nanoseconds", nanos)
			if *v = (time.Time{}); !s.Bad {
				*v = time.Unix(seconds, int64(nanos)).UTC()
			}
		}
	}
}

// Blob writes or reads bytes.
func (s *Codec) Blob(v *[]byte) {
	if s.Reading {
		*v = append([]byte(nil), s.Reader.Bytes()...)
	} else {
		s.Writer.Blob(*v)
	}
}

// Reals writes or reads a slice of finite numbers or NaN.
func (s *Codec) Reals(v *[]float64) {
	if s.Reading {
		*v = s.Reader.reals()
	} else {
		s.Writer.reals(*v)
	}
}

// Array writes or reads the numbers of an array, finite or NaN. Its length is not saved, because the type defines it.
func (s *Codec) Array(all []float64) {
	for i := range all {
		s.Real(&all[i])
	}
}

// Sparse writes or reads an array whose elements are mostly 0, as the indexes and values of the other elements, which
// are finite or NaN. The length is not saved. Before reading, all elements of the array must be zero.
func (s *Codec) Sparse(all []float64) {
	var used []int
	for i, v := range all {
		if !s.Reading && v != 0 {
			used = append(used, i)
		}
	}
	before := -1
	List(s, &used, func(i *int) {
		if s.Int(i); *i <= before || *i >= len(all) {
			s.Failf("number %d of %d after number %d", *i, len(all), before)
			return
		}
		before = *i
		s.Real(&all[*i])
		s.Check(all[*i] != 0, "number %d is 0", *i)
	})
}

// Singles writes or reads a slice of single-precision numbers.
func (s *Codec) Singles(v *[]float32) {
	if s.Reading {
		*v = s.Reader.singles()
	} else {
		s.Writer.singles(*v)
	}
}

// Single writes or reads single-precision numbers, which may be infinite or NaN.
func (s *Codec) Single(all ...*float32) { pass(s, all, (*Reader).Single, (*Writer).Single) }

// mostAtOnce is the number of elements for which memory is allocated before they are read. More memory is allocated
// as they are read. So a damaged length cannot allocate much.
const mostAtOnce = 256

// List writes or reads a slice. each writes or reads one element, and must write at least one byte.
func List[T any](s *Codec, v *[]T, each func(*T)) {
	n := len(*v)
	if s.Reading {
		if n, *v = s.Count(), nil; n > 0 {
			*v = make([]T, 0, min(n, mostAtOnce))
		}
	} else {
		s.Writer.Uint(uint64(n))
	}
	for i := range n {
		if s.Bad {
			return
		}
		if s.Reading {
			var fresh T
			*v = append(*v, fresh)
		}
		each(&(*v)[i])
		s.putFull()
	}
}

// Optional writes or reads a pointer to a value; nil means that the value is missing. each writes or reads the value.
func Optional[T any](s *Codec, v **T, each func(*T)) {
	there := *v != nil
	if s.Flag(&there); s.Reading {
		if *v = nil; there {
			*v = new(T)
		}
	}
	if there {
		each(*v)
	}
}

// Map writes or reads a map whose keys are texts. See MapOf.
func Map[T any](s *Codec, v *map[string]T, each func(*T)) {
	MapOf(s, v, cmp.Compare[string], func(key *string) { s.Text(key) }, each)
}

// MapOf writes or reads the entries of a map in the order of their keys, so that the bytes depend only on the content.
// key writes or reads a key, and each a value. Reading creates a new map, and refuses keys that are out of order or
// repeated. Writing does not change the map, because other goroutines may read it: each gets a copy of a value.
func MapOf[K comparable, T any](s *Codec, v *map[K]T, compare func(a, b K) int, key func(*K), each func(*T)) {
	if s.Reading {
		*v = map[K]T{}
		readMap(s, *v, compare, key, each)
		return
	}
	keys := slices.SortedFunc(maps.Keys(*v), compare)
	List(s, &keys, func(k *K) {
		key(k)
		value := (*v)[*k]
		each(&value)
	})
}

func readMap[K comparable, T any](s *Codec, v map[K]T, compare func(a, b K) int, key func(*K), each func(*T)) {
	var keys []K
	List(s, &keys, func(k *K) {
		key(k)
		n := len(keys) // *k is the last element of keys
		s.Check(n < 2 || compare(keys[n-2], *k) < 0, "keys of a map are not in order")
		var value T
		each(&value)
		v[*k] = value
	})
}

// JSON writes or reads a value as JSON text. It is for types that have a JSON form anyway.
func (s *Codec) JSON(v any) {
	if s.Reading {
		if text := s.Reader.Bytes(); !s.Bad {
			s.Refuse(json.Unmarshal(text, v))
		}
		return
	}
	text, err := json.Marshal(v)
	s.Refuse(err)
	s.Pieces([][]byte{text})
}

// Pieces writes the given pieces of bytes, one after the other, in the form in which Blob writes bytes. It is only for
// writing.
func (s *Codec) Pieces(all [][]byte) {
	n := 0
	for _, piece := range all {
		n += len(piece)
	}
	s.Writer.Uint(uint64(n))
	if s.stream == nil {
		s.Writer = slices.Grow(s.Writer, n+checksumSize) // or the checksum would copy everything
	}
	for _, piece := range all {
		if s.stream != nil && len(piece) >= streamBytes {
			s.putAll()
			s.putDirectly(piece)
			continue
		}
		s.Writer = append(s.Writer, piece...)
		s.putFull()
	}
}

// Savable is a value that can encode and restore itself.
type Savable interface {
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}
