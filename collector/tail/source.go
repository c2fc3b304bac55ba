package tail

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const gzipSuffix = ".gz"

func isGzip(path string) bool { return strings.HasSuffix(path, gzipSuffix) }

// source is an open log file, plain or compressed. ReadAt fills p as far as the content goes, and returns io.EOF if
// that is less than p.
type source interface {
	io.ReaderAt
	io.Closer
	Stat() (status, error)
}

// status has the attributes of a file that the tailer uses. Size is the size on disk.
type status struct {
	dev, ino uint64
	size     int64
	mtime    int64 // Unix nanoseconds
	mode     fs.FileMode
}

// unchanged reports whether the attributes that every write changes are equal.
func (s status) unchanged(o status) bool { return s.size == o.size && s.mtime == o.mtime }

// id distinguishes two files as long as neither of them is deleted.
type id struct{ dev, ino uint64 }

func (s status) id() id { return id{s.dev, s.ino} }

func statPath(path string) (status, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return status{}, err
	}
	return statusOf(fi)
}

func (t *Tailer) stat(path string) (status, error) {
	t.access("status")
	return statPath(path)
}

// openSource opens path only if it is still the file `want`.
func (t *Tailer) openSource(path string, want id) (source, error) {
	t.work.opens++
	t.access("open")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errMoved, err)
	}
	if err != nil {
		return nil, err
	}
	p := &plainSource{f, t.access}
	st, err := p.Stat()
	if err == nil && st.id() != want {
		err = fmt.Errorf("%s: %w", path, errMoved)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if isGzip(path) {
		return &gzipSource{plainSource: p}, nil
	}
	return p, nil
}

// errMoved means that the name now belongs to another file or to none, so that the files must be listed again.
var errMoved = errors.New("renamed meanwhile")

type plainSource struct {
	*os.File
	access func(string)
}

// ReadAt implements io.ReaderAt.
func (p *plainSource) ReadAt(b []byte, off int64) (int, error) {
	p.access("read")
	return p.File.ReadAt(b, off)
}

func (p *plainSource) Stat() (status, error) {
	p.access("status")
	fi, err := p.File.Stat()
	if err != nil {
		return status{}, err
	}
	return statusOf(fi)
}

// gzipSource reads a compressed file at offsets of the decompressed content. Reading forwards is one pass over the
// file. Going back within the bytes in last costs nothing. Going back further starts again from the beginning.
type gzipSource struct {
	*plainSource
	z    *gzip.Reader
	pos  int64  // decompressed bytes taken from z
	last []byte // the bytes just before pos
}

func (g *gzipSource) rewind() error {
	if _, err := g.Seek(0, io.SeekStart); err != nil {
		return err
	}
	g.pos, g.last = 0, g.last[:0]
	if g.z != nil {
		return g.z.Reset(g.File)
	}
	z, err := gzip.NewReader(g.File)
	if err == nil {
		g.z = z
	}
	return err
}

// ReadAt implements io.ReaderAt. It is not safe for concurrent use.
func (g *gzipSource) ReadAt(p []byte, off int64) (int, error) {
	if g.z == nil || off < g.pos-int64(len(g.last)) {
		if err := g.rewind(); err != nil {
			return 0, err
		}
	}
	n := 0
	if off > g.pos {
		skipped, err := io.CopyN(io.Discard, g.z, off-g.pos)
		g.pos, g.last = g.pos+skipped, g.last[:0]
		if err != nil {
			return 0, err
		}
	} else {
		n = copy(p, g.last[int64(len(g.last))-(g.pos-off):])
	}
	if n == len(p) {
		return n, nil
	}
	var err error
	for n < len(p) && err == nil {
		var m int
		m, err = g.z.Read(p[n:])
		n, g.pos = n+m, g.pos+int64(m)
	}
	g.last = append(g.last[:0], p[:n]...)
	if n == len(p) && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// sectionOf returns a reader of src from its beginning.
func sectionOf(src source) io.Reader { return io.NewSectionReader(src, 0, 1<<62) }
