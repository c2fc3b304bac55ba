package loadforecast

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// Saved is the saved state of a learner.
type Saved struct {
	// Seq is the number of the newest event that the state includes.
	Seq int64
	// Data is opaque and compressed.
	Data []byte
}

// maxSaved is the maximum size of a forecaster that is unpacked from saved state, in bytes. Real ones have up to about
// 35 MB.
const maxSaved = 1 << 30

// kind and version are the kind and version of the saved state of a learner.
const kind, version = "loadforecast", 2

func (m *model) marshal() ([]byte, error) {
	plain, err := m.forecaster.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("saving the load: %w", err)
	}
	var packed bytes.Buffer
	packer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = packer.Write(plain)
	if err := errors.Join(err, packer.Close()); err != nil {
		return nil, fmt.Errorf("saving the load: %w", err)
	}
	state := savedModel{names: m.names, packed: packed.Bytes()}
	return codec.Save(kind, version, len(state.packed), state.fields)
}

// savedModel is the form in which a model is saved.
type savedModel struct {
	names      map[uint64]uint64
	packed     []byte // the compressed forecaster
	forecaster []byte // the forecaster, decompressed
}

func (s *savedModel) fields(c *codec.Codec) {
	key := func(id *uint64) { c.Uint(id) }
	codec.MapOf(c, &s.names, cmp.Compare[uint64], key, func(name *uint64) { c.Uint(name) })
	if c.Blob(&s.packed); c.Reading && !c.Bad {
		var err error
		s.forecaster, err = unpack(s.packed)
		c.Refuse(err)
	}
}

func unpack(packed []byte) ([]byte, error) {
	unpacker, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(unpacker, maxSaved))
}

// unmarshal returns the model that is saved in data. The error is a *codec.Error, or reports an invalid option.
func unmarshal(o outlook.Options, data []byte) (*model, error) {
	var in savedModel
	if err := codec.Load(kind, version, data, in.fields); err != nil {
		return nil, err
	}
	f, err := outlook.Load(o, in.forecaster)
	if err != nil {
		return nil, err
	}
	m := &model{options: o, forecaster: f, names: map[uint64]uint64{}}
	for id, name := range in.names {
		if f.Knows(name) {
			m.names[id] = name
		}
	}
	return m, nil
}
