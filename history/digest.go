package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"
)

// digestVersion is the first part of the bytes that Digest hashes. It must change when the encoding changes.
const digestVersion = "waitcast-history-1"

// Digest is the SHA-256 hash of events in the order of History.Each. It depends on the content of the events, but not
// on their files and lines.
type Digest struct {
	sum    hash.Hash
	buffer []byte
}

// NewDigest returns the digest of an empty history.
func NewDigest() *Digest {
	d := &Digest{sum: sha256.New()}
	d.sum.Write([]byte(digestVersion))
	return d
}

// Add adds the next event.
func (d *Digest) Add(ev *Event) {
	d.buffer = appendContent(d.buffer[:0], ev)
	var length [binary.MaxVarintLen64]byte
	d.sum.Write(binary.AppendUvarint(length[:0], uint64(len(d.buffer))))
	d.sum.Write(d.buffer)
}

// String returns the hash of the added events in hexadecimal.
func (d *Digest) String() string { return hex.EncodeToString(d.sum.Sum(nil)) }

// repeats finds events whose content equals the content of an earlier event at the same instant.
type repeats struct {
	at     time.Time
	buffer []byte
	first  []byte              // the first event of the instant
	more   map[string]struct{} // the other events of the instant
}

// again reports whether an event with the same content was passed before. The events must be passed in order of time.
func (r *repeats) again(ev *Event) bool {
	if !ev.Time.Equal(r.at) || len(r.first) == 0 {
		r.at, r.first = ev.Time, appendContent(r.first[:0], ev)
		clear(r.more)
		return false
	}
	r.buffer = appendContent(r.buffer[:0], ev)
	if bytes.Equal(r.buffer, r.first) {
		return true
	}
	if _, ok := r.more[string(r.buffer)]; ok {
		return true
	}
	if r.more == nil {
		r.more = map[string]struct{}{}
	}
	r.more[string(r.buffer)] = struct{}{}
	return false
}
