// Package pack encodes the lists of a ledger's row as bytes. Decoding gives the same bits, also for NaN and
// infinities.
package pack

import (
	"encoding/binary"
	"math"

	"github.com/waitcast/waitcast/modelstore"
)

// Floats returns the bits of the numbers in v, little-endian. It returns nil for an empty list.
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

// UnpackFloats decodes the result of Floats. It ignores bytes at the end that are too few for a number.
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

// Peers encodes the answers of other methods, nil if there are none. An answer is encoded as the length of the method's
// name (4 bytes, little-endian), the name, and the quantiles.
func Peers(peers []modelstore.Peer) []byte {
	var b []byte
	for _, p := range peers {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Method)))
		b = append(b, p.Method...)
		b = append(b, Floats(p.Quantiles)...)
	}
	return b
}

// UnpackPeers decodes the result of Peers for a row with the given number of levels. It stops at bytes that are no
// answer.
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
