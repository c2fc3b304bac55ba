package history

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"

	"github.com/waitcast/waitcast/job"
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

// repeats finds events whose content equals the content of an earlier event at the same instant. An event that a job
// can have several times in one second (such as a requeue) is a repetition only if another file has it as often.
type repeats struct {
	at     time.Time
	buffer []byte
	seen   map[string]*occurrences // the events of the instant
}

// occurrences counts the occurrences of a content: those that were passed, and those in the newest file.
type occurrences struct{ passed, file, inFile int }

// again reports whether an event is a repetition. The events must be passed in order of time, and those of one instant
// file by file.
func (r *repeats) again(ev *Event) bool {
	if !ev.Time.Equal(r.at) || r.seen == nil {
		if r.at = ev.Time; len(r.seen) > 1000 || r.seen == nil { // to clear a large map takes long
			r.seen = map[string]*occurrences{}
		}
		clear(r.seen)
	}
	r.buffer = appendContent(r.buffer[:0], ev)
	o := r.seen[string(r.buffer)]
	if o == nil {
		r.seen[string(r.buffer)] = &occurrences{passed: 1, file: ev.File, inFile: 1}
		return false
	}
	if o.file != ev.File {
		o.file, o.inFile = ev.File, 0
	}
	o.inFile++
	switch ev.Kind {
	case job.Submit, job.End, job.Cancel:
		return true
	}
	if o.inFile <= o.passed {
		return true
	}
	o.passed++
	return false
}
