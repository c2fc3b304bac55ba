package swf

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the length in bytes of the longest line a Reader accepts, its end included.
const MaxLine = 1 << 16

// Reader reads a workload file record by record.
type Reader struct {
	in      *bufio.Reader
	header  Header
	name    string
	line    int64  // number of the line last read
	held    []byte // a record line that ReadHeader met: it is next
	onBad   func(*LineError)
	bad     []*LineError
	limit   int
	nBad    int64
	collect bool
}

// Option sets how a Reader works.
type Option func(*Reader)

// Name sets the file name that errors carry.
func Name(name string) Option { return func(r *Reader) { r.name = name } }

// OnBadLine makes Next skip bad lines and call f for each; f may keep its argument.
func OnBadLine(f func(*LineError)) Option { return func(r *Reader) { r.onBad = f } }

// CollectBadLines makes Next skip bad lines and keep the first limit of them for [Reader.BadLines].
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

// Header returns the header as far as it has been read; call [Reader.ReadHeader] first to have all lines before the
// first record. Later header lines are added when Next reads them.
func (r *Reader) Header() *Header { return &r.header }

// Line returns the number of the line last read, counted from 1.
func (r *Reader) Line() int64 { return r.line }

// BadLines returns the bad lines collected and how many there were in all.
func (r *Reader) BadLines() ([]*LineError, int64) { return r.bad, r.nBad }

// ReadHeader reads the lines before the first record. Its error is that of Next, except that an empty file is no error.
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

// Next reads the next record into rec. It returns io.EOF after the last one. A line that cannot be used gives a
// *LineError, after which Next may be called again for the line that follows; with [OnBadLine] or [CollectBadLines]
// such lines are skipped instead. Any other error is that of the underlying reader. Blank lines are ignored; a last
// line without its end is read like any other. A header line that cannot be understood never stops Next; it is a bad
// line only to those options.
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

// next returns the next line that may be a record, having taken in the header lines before it.
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
				_ = r.refuse(bad) // told to who asked; else no reason to stop: the line is kept in the header
			}
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLine returns the next line, never empty, valid until the next call.
func (r *Reader) readLine() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
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

// refuse counts a bad line and hands it to whoever asked for it; else it returns it as the error of Next.
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
