package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// zstdWindow is the maximum window of a zstd log. It limits the memory for decompression. `zstd --long` uses 128 MiB.
const zstdWindow = 128 << 20

// Decompressed returns a reader of the text of a log. The first bytes of the log show whether it is gzip (RFC 1952),
// zstd (RFC 8878) or plain. closeText releases the memory of the decoder.
func Decompressed(from io.Reader) (text io.Reader, closeText func(), err error) {
	buffered := bufio.NewReaderSize(from, 256<<10)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return z, func() { _ = z.Close() }, nil // z has no other resource
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return z, z.Close, nil
	}
	return buffered, func() {}, nil
}

// LongLineError means that a line was too long to be read.
type LongLineError struct{ Limit int }

// Error implements error.
func (e *LongLineError) Error() string { return fmt.Sprintf("longer than %d bytes", e.Limit) }

// Lines reads lines of limited length.
type Lines struct {
	from   *bufio.Reader
	limit  int
	long   []byte // beginning of a line that is longer than the reader's buffer
	number int64
	open   bool
}

// NewLines returns the lines of a text. Lines of more than limit bytes are cut.
func NewLines(from io.Reader, limit int) *Lines {
	return &Lines{from: bufio.NewReaderSize(from, 64<<10), limit: limit}
}

// Number returns the number of the newest line, counted from 1.
func (l *Lines) Number() int64 { return l.number }

// Open reports whether the newest line was the last of the text and had no line end.
func (l *Lines) Open() bool { return l.open }

// Next returns the next line without its line end. The line is valid until the next call. After the last line Next
// returns io.EOF. If a line is too long, Next returns its beginning and a *LongLineError.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.from.ReadSlice('\n')
	l.number++
	if err == nil {
		return line[:len(line)-1], nil
	}
	l.long = l.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long, line[:min(len(line), l.limit+1-len(l.long))]...)
		line, err = l.from.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	l.open = err != nil
	line = bytes.TrimSuffix(line, []byte("\n"))
	l.long = append(l.long, line[:min(len(line), l.limit+1-len(l.long))]...)
	switch {
	case len(l.long) > l.limit:
		return l.long[:l.limit], &LongLineError{l.limit}
	case err != nil && len(l.long) == 0:
		return nil, io.EOF
	}
	return l.long, nil
}
