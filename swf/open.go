package swf

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
)

// File is a Reader of a file on disk.
type File struct {
	*Reader
	file *os.File
	zip  *gzip.Reader
}

// Open opens a workload file, plain or compressed with gzip. The first bytes of the file decide, not its name. Errors
// of bad lines have the path, unless an option sets another name.
func Open(path string, options ...Option) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open workload: %w", err)
	}
	in := bufio.NewReaderSize(file, MaxLine)
	f := &File{file: file}
	var text io.Reader = in
	if head, _ := in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b { // RFC 1952, section 2.3.1
		if f.zip, err = gzip.NewReader(in); err != nil {
			_ = file.Close() // nothing was written, so only the first error matters
			return nil, fmt.Errorf("open workload %s: %w", path, err)
		}
		text = f.zip
	}
	f.Reader = NewReader(text, append([]Option{Name(path)}, options...)...)
	return f, nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.zip != nil {
		if err := f.zip.Close(); err != nil {
			_ = f.file.Close()
			return fmt.Errorf("close workload: %w", err)
		}
	}
	return f.file.Close()
}
