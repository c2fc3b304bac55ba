package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/waitcast/waitcast/collector/tail"
)

// importLineBytes is the longest line of an imported log, as of one that is followed.
const importLineBytes = tail.DefaultMaxLine

// importWindow bounds the memory that a zstd log may ask for: that of `zstd --long` is 128 MiB.
const importWindow = 128 << 20

// countingReader reads until a context ends, and counts the bytes.
type countingReader struct {
	ctx   context.Context
	from  io.Reader
	bytes *atomic.Int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// decompressed returns the text of a log. Its first bytes decide whether it is gzip (RFC 1952), zstd (RFC 8878) or
// plain. closeText releases the memory of the decoder.
func decompressed(from io.Reader) (text io.Reader, closeText func(), err error) {
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
		return z, func() { _ = z.Close() }, nil // it holds nothing
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(importWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return z, z.Close, nil
	}
	return buffered, func() {}, nil
}

// longLineError is the error of a line that was too long to be read.
type longLineError struct{ limit int }

// Error implements error.
func (e *longLineError) Error() string { return fmt.Sprintf("longer than %d bytes", e.limit) }

// lines reads lines of bounded length.
type lines struct {
	from   *bufio.Reader
	limit  int
	long   []byte // a line that does not fit the reader's buffer
	number int64  // of the newest line, from 1
}

func newLines(from io.Reader, limit int) *lines {
	return &lines{from: bufio.NewReaderSize(from, 64<<10), limit: limit}
}

// next returns the next line without its line end; it is valid until the next call. After the last it returns io.EOF. A
// line that is too long is cut and comes with a *longLineError.
func (l *lines) next() ([]byte, error) {
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
	line = bytes.TrimSuffix(line, []byte("\n"))
	l.long = append(l.long, line[:min(len(line), l.limit+1-len(l.long))]...)
	switch {
	case len(l.long) > l.limit:
		return l.long[:l.limit], &longLineError{l.limit}
	case err != nil && len(l.long) == 0:
		return nil, io.EOF
	}
	return l.long, nil
}
