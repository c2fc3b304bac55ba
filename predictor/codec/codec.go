// Package codec writes and reads the state of the models that forecast. One function per type describes its fields once
// for both directions: it passes pointers to a Codec, which writes the values or fills them in.
package codec

import (
	"maps"
	"math"
	"slices"
)

// Codec writes the values behind the pointers that it gets, or reads into them where Reading is set. After a value that
// cannot be valid it is Bad and gives zeros. The zero value writes.
type Codec struct {
	Writer
	Reader
	Reading       bool
	WithoutShared bool // leaves out the parts that a copy shares with its original
}

// Real passes finite numbers, or NaN for an unknown one.
func (s *Codec) Real(all ...*float64) {
	for _, v := range all {
		if s.Reading {
			*v = s.Reader.FiniteOrNaN()
		} else {
			s.Writer.Real(*v)
		}
	}
}

// Finite passes numbers that must not be NaN.
func (s *Codec) Finite(all ...*float64) {
	s.Real(all...)
	for _, v := range all {
		if s.Reading && math.IsNaN(*v) {
			s.Fail()
		}
	}
}

// Any passes numbers that may be infinite, or NaN.
func (s *Codec) Any(all ...*float64) {
	for _, v := range all {
		if s.Reading {
			*v = s.Reader.Real()
		} else {
			s.Writer.Real(*v)
		}
	}
}

// Uint passes unsigned numbers.
func (s *Codec) Uint(all ...*uint64) {
	for _, v := range all {
		if s.Reading {
			*v = s.Reader.Uint()
		} else {
			s.Writer.Uint(*v)
		}
	}
}

// Int passes numbers from 0 to 2^53.
func (s *Codec) Int(all ...*int) {
	for _, v := range all {
		if s.Reading {
			*v = s.within(1 << 53)
		} else {
			s.Writer.Uint(uint64(*v))
		}
	}
}

// Flag passes a boolean.
func (s *Codec) Flag(v *bool) {
	if s.Reading {
		*v = s.Reader.flag()
	} else {
		s.Writer.flag(*v)
	}
}

// Text passes strings.
func (s *Codec) Text(all ...*string) {
	for _, v := range all {
		if s.Reading {
			*v = s.Reader.text()
		} else {
			s.Writer.text(*v)
		}
	}
}

// Blob passes bytes.
func (s *Codec) Blob(v *[]byte) {
	if s.Reading {
		*v = slices.Clone(s.Reader.Bytes())
	} else {
		s.Writer.Blob(*v)
	}
}

// Reals passes a slice of finite numbers or NaN.
func (s *Codec) Reals(v *[]float64) {
	if s.Reading {
		*v = s.Reader.reals()
	} else {
		s.Writer.reals(*v)
	}
}

// Singles passes a slice of single precision.
func (s *Codec) Singles(v *[]float32) {
	if s.Reading {
		*v = s.Reader.singles()
	} else {
		s.Writer.singles(*v)
	}
}

// List passes a slice, element by element. Each element takes at least a byte when written.
func List[T any](s *Codec, v *[]T, each func(*T)) {
	n := len(*v)
	if s.Reading {
		n = s.Count()
		*v = nil
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
	}
}

// Map passes a map in the order of its keys. Writing does not change the map: views read it meanwhile.
func Map[T any](s *Codec, v *map[string]T, each func(*T)) {
	keys := slices.Sorted(maps.Keys(*v))
	if s.Reading {
		*v = map[string]T{}
	}
	List(s, &keys, func(key *string) {
		s.Text(key)
		value := (*v)[*key]
		each(&value)
		if s.Reading { // views read the map that is saved
			(*v)[*key] = value
		}
	})
}

// Savable is a value with a saved form of its own.
type Savable interface {
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}

// Own passes a value with a saved form of its own, and returns its error.
func (s *Codec) Own(v Savable) error {
	if s.Reading {
		return v.UnmarshalBinary(s.Reader.Bytes())
	}
	b, err := v.MarshalBinary()
	s.Writer.Blob(b)
	return err
}
