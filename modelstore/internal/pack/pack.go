// Package pack turns the lists of a ledger's row into bytes that come back bit by bit, NaN and infinities included.
package pack

import (
	"encoding/binary"
	"math"

	"github.com/waitcast/waitcast/modelstore"
)

// Floats returns the bits of v, little-endian; nil for none.
func Floats(v []float64) []byte {
	if len(v) == 0 {
		return nil
	}
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// UnpackFloats undoes Floats; bytes at the end that do not fill a number are ignored.
func UnpackFloats(b []byte) []float64 {
	if len(b) < 8 {
		return nil
	}
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

// Peers returns the bytes of other methods' answers, nil for none: for each its name's length (4 bytes, little-endian),
// its name, and its quantiles.
func Peers(peers []modelstore.Peer) []byte {
	var b []byte
	for _, p := range peers {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Method)))
		b = append(b, p.Method...)
		b = append(b, Floats(p.Quantiles)...)
	}
	return b
}

// UnpackPeers undoes Peers for a row of so many levels; it stops where the bytes are no answer.
func UnpackPeers(b []byte, levels int) []modelstore.Peer {
	var peers []modelstore.Peer
	for len(b) >= 4 {
		n := uint64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n+uint64(8*levels) > uint64(len(b)) {
			return peers
		}
		peers = append(peers,
			modelstore.Peer{Method: string(b[:n]), Quantiles: UnpackFloats(b[n : n+uint64(8*levels)])})
		b = b[n+uint64(8*levels):]
	}
	return peers
}
