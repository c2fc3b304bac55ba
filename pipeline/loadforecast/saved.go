package loadforecast

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"github.com/waitcast/waitcast/predictor/outlook"
)

// Saved is the saved state of a learner.
type Saved struct {
	// Seq is the number of the newest event that it includes.
	Seq int64
	// Data is opaque and compressed.
	Data []byte
}

const (
	// maxSaved bounds the size of the unpacked state, in bytes.
	maxSaved = 1 << 30
	// savedVersion is the version of the saved state.
	savedVersion = 1
)

// savedLoad is the saved state of a model, in gob and gzip. It has up to some 35 MB.
type savedLoad struct {
	Version    int
	Names      map[uint64]uint64
	Forecaster []byte
}

func (m *model) marshal() ([]byte, error) {
	f, err := m.forecaster.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	err = errors.Join(gob.NewEncoder(packer).Encode(savedLoad{savedVersion, m.names, f}), packer.Close())
	if err != nil {
		return nil, fmt.Errorf("saving the load: %w", err)
	}
	return out.Bytes(), nil
}

// unmarshal restores the saved state. On error the model is unchanged.
func (m *model) unmarshal(data []byte) error {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	var in savedLoad
	if err := gob.NewDecoder(io.LimitReader(unpacked, maxSaved)).Decode(&in); err != nil {
		return err
	}
	if in.Version != savedVersion {
		return fmt.Errorf("it has version %d instead of %d", in.Version, savedVersion)
	}
	f, err := outlook.Load(m.options, in.Forecaster)
	if err != nil {
		return err
	}
	m.forecaster, m.names = f, map[uint64]uint64{}
	for id, name := range in.Names {
		if f.Knows(name) {
			m.names[id] = name
		}
	}
	return nil
}
