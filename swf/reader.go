package swf

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the maximum length of a line in bytes, including its end.
const MaxLine = 1 << 16

// Reader reads a workload file record by record.
type Reader struct {
	in      *bufio.Reader
	header  Header
	name    string
	line    int64  // number of the newest line
	held    []byte // a record line that ReadHeader has read; Next returns it first
	onBad   func(*LineError)
	bad     []*LineError
	limit   int
	nBad    int64
	collect bool
}

// Option changes a setting of a Reader.
type Option func(*Reader)

// Name sets the name of the file in errors.
func Name(name string) Option { return func(r *Reader) { r.name = name } }

// OnBadLine makes Next skip bad lines and call f for each. f may keep its argument.
func OnBadLine(f func(*LineError)) Option { return func(r *Reader) { r.onBad = f } }

// CollectBadLines makes Next skip bad lines. The first limit of them are kept for [Reader.BadLines].
func CollectBadLines(limit int) Option {
	return func(r *Reader) { r.collect, r.limit = true, limit }
}

// NewReader returns a Reader of the text in.
func NewReader(in io.Reader, options ...Option) *Reader {
	r := &Reader{in: bufio.NewReaderSize(in, MaxLine)}
	for _, o := range options {
		o(r)
	}
	return r
}

// Header returns the part of the header that has been read. Call [Reader.ReadHeader] first to get all lines before
// the first record. Later header lines are added when Next reads them.
func (r *Reader) Header() *Header { return &r.header }

// Line returns the number of the newest line, counted from 1.
func (r *Reader) Line() int64 { return r.line }

// BadLines returns the collected bad lines, and the number of all bad lines.
func (r *Reader) BadLines() ([]*LineError, int64) { return r.bad, r.nBad }

// ReadHeader reads the lines before the first record. It returns the same errors as Next, except that an empty file
// is no error.
func (r *Reader) ReadHeader() error {
	for r.held == nil {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.held = line // valid until the next read from in
	}
	return nil
}

// Next reads the next record into rec. It returns io.EOF after the last record. For a line that cannot be used it
// returns a *LineError, and Next may be called again for the next line. With [OnBadLine] or [CollectBadLines] such
// lines are skipped instead. Any other error comes from the underlying reader. Blank lines are ignored. A last line
// without a line end is read like all others. An invalid header line never stops Next; it is a bad line only for
// these two options.
func (r *Reader) Next(rec *Record) error {
	for {
		line, err := r.held, error(nil)
		r.held = nil
		if line == nil {
			if line, err = r.next(); err != nil {
				return err
			}
		}
		if err = ParseRecord(line, rec); err == nil {
			return nil
		}
		if err = r.refuse(err); err != nil {
			return err
		}
	}
}

// next returns the next line that may be a record. It stores the header lines before it.
func (r *Reader) next() ([]byte, error) {
	for {
		line, err := r.readLine()
		switch {
		case errors.Is(err, ErrLineTooLong):
			err = r.refuse(err)
		case err != nil:
			return nil, err
		case line[0] >= '0' && line[0] <= '9':
			return line, nil
		case isHeader(line):
			if bad := r.header.ParseLine(line); bad != nil {
				// Passed to the option, if there is one; no reason to stop, because the line is kept in the header.
				_ = r.refuse(bad)
			}
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// byteOrderMark is that of UTF-8, which some programs put in front of a file.
const byteOrderMark = "\xef\xbb\xbf"

// readLine returns the next line. The line is never empty, and is valid until the next call.
func (r *Reader) readLine() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if r.line == 0 && bytes.HasPrefix(line, []byte(byteOrderMark)) && len(line) > len(byteOrderMark) {
		line = line[len(byteOrderMark):]
	}
	if err == nil || err == io.EOF && len(line) > 0 {
		r.line++
		return line, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.in.ReadSlice('\n')
	}
	r.line++
	if err != nil && err != io.EOF {
		return nil, err
	}
	return nil, ErrLineTooLong
}

// refuse counts a bad line. If an option asks for bad lines, refuse passes the line to it; otherwise it returns the
// line as the error of Next.
func (r *Reader) refuse(err error) error {
	r.nBad++
	bad := &LineError{Name: r.name, Line: r.line, Err: err}
	if r.collect && len(r.bad) < r.limit {
		r.bad = append(r.bad, bad)
	}
	if r.onBad != nil {
		r.onBad(bad)
	}
	if r.onBad != nil || r.collect {
		return nil
	}
	return bad
}
