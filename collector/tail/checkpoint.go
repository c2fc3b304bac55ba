package tail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

const (
	checkpointVersion = 1
	// headMax and tailMax are the maximum numbers of bytes that are hashed to recognize a file. headMax includes more
	// than a common header (SGE's has four short lines), and both are small enough to be read at every start.
	headMax = 1024
	tailMax = 256
	// keepDone is the number of finished predecessors that are remembered individually.
	keepDone = 64
)

// ErrCheckpoint is wrapped by New's error for an unusable checkpoint.
var ErrCheckpoint = errors.New("unusable checkpoint")

// checkpoint is the whole position of a tailer.
type checkpoint struct {
	Version int  `json:"version"`
	Dir     bool `json:"dir,omitempty"`
	// Low is a name. In a directory, all files whose names are not after Low are finished.
	Low string `json:"low,omitempty"`
	// Since is an instant (Unix nanoseconds). Predecessors that are not in Files and were not modified after it are
	// finished.
	Since int64 `json:"since,omitempty"`
	// Behind lists exceptions to Low and Since: files that could not be read when later ones were finished. They are
	// listed by name, or by modification time for rotated files.
	Behind []string       `json:"behind,omitempty"`
	Files  []filePosition `json:"files"`
}

// filePosition is the position in one file, with the data that identify the file later.
type filePosition struct {
	Path    string `json:"path"`
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Offset  int64  `json:"offset"`
	Line    int64  `json:"line"` // number of lines before Offset
	HeadLen int    `json:"head_len"`
	Head    string `json:"head,omitempty"` // hash of [0, HeadLen)
	TailLen int    `json:"tail_len"`
	Tail    string `json:"tail,omitempty"`  // hash of [Offset-TailLen, Offset)
	Size    int64  `json:"size,omitempty"`  // size on disk when last read or finished
	Mtime   int64  `json:"mtime,omitempty"` // Unix nanoseconds, when last read or finished
	Done    bool   `json:"done,omitempty"`
	Copy    bool   `json:"copy,omitempty"` // the file is a copy of another one and is not read
}

func (m *filePosition) id() id { return id{m.Dev, m.Ino} }

func hash(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:8])
}

func decodeCheckpoint(source string, data []byte) (*checkpoint, error) {
	var c checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("tail: source %q: %w: %w", source, ErrCheckpoint, err)
	}
	if c.Version != checkpointVersion {
		return nil, fmt.Errorf("tail: source %q: %w: version %d, this program knows %d",
			source, ErrCheckpoint, c.Version, checkpointVersion)
	}
	for i, m := range c.Files {
		if m.Offset < 0 || m.HeadLen < 0 || m.TailLen < 0 || m.HeadLen > headMax || m.TailLen > tailMax ||
			int64(m.HeadLen) > m.Offset || int64(m.TailLen) > m.Offset || m.Line < 0 {
			return nil,
				fmt.Errorf("tail: source %q: %w: files[%d] %s: impossible position", source, ErrCheckpoint, i, m.Path)
		}
	}
	return &c, nil
}

// encode returns the current position as a checkpoint. It leaves out unfinished files from which nothing was read,
// because a file that is in no checkpoint is read from its beginning.
func (t *Tailer) encode() ([]byte, error) {
	c := checkpoint{Version: checkpointVersion, Dir: t.dir, Low: t.low, Since: t.since,
		Behind: slices.Sorted(maps.Keys(t.stragglers())), Files: []filePosition{}}
	for _, f := range t.files {
		if f.Done || f.Offset > 0 {
			m := f.filePosition
			m.Head, m.Tail = f.headHash(), f.tailHash()
			if !f.Done && f.seen.ino != 0 {
				m.Size, m.Mtime = f.seen.size, f.seen.mtime
			}
			c.Files = append(c.Files, m)
		}
	}
	data, err := json.Marshal(&c)
	if err != nil {
		return nil, fmt.Errorf("tail: source %q: checkpoint: %w", t.cfg.Source, err)
	}
	return data, nil
}

// headHash and tailHash compute hashes only when these are needed: once per batch, and not again while the bytes are
// unchanged.
func (f *file) headHash() string {
	if f.Head == "" {
		f.Head = hash(f.head)
	}
	return f.Head
}

func (f *file) tailHash() string {
	if f.Tail == "" {
		f.Tail = hash(f.tail)
	}
	return f.Tail
}

// verify reports whether the content of src matches f's position, and loads the hashed bytes. An error means that src
// could not be read.
func (f *file) verify(src source) (bool, error) {
	if f.Offset == 0 {
		f.head, f.tail = []byte{}, make([]byte, 0, tailMax)
		return true, nil
	}
	head, err := readFull(src, 0, f.HeadLen)
	if err != nil || len(head) < f.HeadLen || hash(head) != f.headHash() {
		return false, err
	}
	tail, err := f.tailIn(src)
	if err != nil || tail == nil {
		return false, err
	}
	f.head, f.tail = head, tail
	return true, nil
}

// tailIn returns the bytes before f's offset in src, nil if src is shorter or has different bytes.
func (f *file) tailIn(src source) ([]byte, error) {
	n := max(f.TailLen, 1) // at least one byte, to check that the offset is within the file
	b, err := readFull(src, f.Offset-int64(n), n)
	if err != nil || len(b) < n {
		return nil, err
	}
	if b = append(make([]byte, 0, tailMax), b[n-f.TailLen:]...); hash(b) != f.tailHash() {
		return nil, nil
	}
	return b, nil
}

// readFull reads n bytes at off, fewer only at the end of src.
func readFull(src io.ReaderAt, off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	m, err := src.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:m], err
}

// advance moves the position over b, the bytes right after it.
func (f *file) advance(b []byte, lines int) {
	if len(b) == 0 {
		return
	}
	if !f.frozen() {
		f.head = append(f.head, b[:min(len(b), headMax-len(f.head))]...)
		f.HeadLen, f.Head = len(f.head), ""
	}
	if len(b) >= tailMax {
		f.tail = append(f.tail[:0], b[len(b)-tailMax:]...)
	} else {
		drop := max(0, len(f.tail)+len(b)-tailMax)
		f.tail = append(f.tail[:copy(f.tail, f.tail[drop:])], b...)
	}
	f.TailLen, f.Tail = len(f.tail), ""
	f.Offset += int64(len(b))
	f.Line += int64(lines)
}

// frozen reports whether the head cannot grow any more, because it is complete or because bytes follow it that could
// not be hashed.
func (f *file) frozen() bool { return f.HeadLen >= headMax || int64(f.HeadLen) < f.Offset }

// tailAt reads the bytes before off, which identify a position there. For a line with NULs it returns nothing, because
// the bytes of such a line may still change.
func (f *file) tailAt(off int64, holed bool) ([]byte, error) {
	if holed {
		return nil, nil
	}
	n := min(tailMax, off-f.Offset)
	return readFull(f.src, off-n, int(n))
}

// jump moves the position over one skipped line to off. tail has the bytes before off.
func (f *file) jump(off int64, tail []byte) {
	f.tail = append(f.tail[:0], tail...)
	f.long = 0
	f.Offset, f.TailLen, f.Tail = off, len(f.tail), ""
	f.Line++
}

// hasPrefix reports whether the head of f is known and begins with b.
func (f *file) hasPrefix(b []byte) bool { return bytes.HasPrefix(f.head, b) }

// fileHead is the head of a file that is compared with many known ones, or the error of reading it.
type fileHead struct {
	head []byte
	sums map[int]string // hashes of its beginnings, by length
	err  error
}

// matches reports whether the file begins like f.
func (p *fileHead) matches(f *file) bool {
	if len(p.head) < f.HeadLen {
		return false
	}
	if len(f.head) == f.HeadLen {
		return bytes.Equal(p.head[:f.HeadLen], f.head)
	}
	sum, ok := p.sums[f.HeadLen]
	if !ok {
		if p.sums == nil {
			p.sums = make(map[int]string)
		}
		sum = hash(p.head[:f.HeadLen])
		p.sums[f.HeadLen] = sum
	}
	return sum == f.headHash()
}
