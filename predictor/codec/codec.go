// Package codec is internal/codec under the name that the engine knows.
package codec

import "github.com/waitcast/waitcast/internal/codec"

// Codec is that of internal/codec.
type Codec = codec.Codec

// Writer is that of internal/codec.
type Writer = codec.Writer

// Reader is that of internal/codec.
type Reader = codec.Reader

// Savable is that of internal/codec.
type Savable = codec.Savable

// List passes a slice, element by element.
func List[T any](s *Codec, v *[]T, each func(*T)) { codec.List(s, v, each) }

// Map passes a map in the order of its keys.
func Map[T any](s *Codec, v *map[string]T, each func(*T)) { codec.Map(s, v, each) }
