package check

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/collector/tail"
)

// File is one file of a log.
type File struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

func (f *File) gzip() bool { return strings.HasSuffix(f.Path, ".gz") }

// list returns the files of a log that package tail would read, oldest first. It also returns the names of similar
// files that tail would not read.
func list(t *tail.Config) (files []File, others []string, err error) {
	info, err := os.Stat(t.Path)
	if err != nil {
		return nil, nil, err
	}
	if t.Pattern != "" || info.IsDir() {
		return folder(t)
	}
	dir, name := filepath.Dir(t.Path), filepath.Base(t.Path)
	rotated := t.Rotated
	if rotated == nil {
		rotated = []string{name + ".*", name + "-*"} // the default of package tail
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		entries = nil // the log file itself may still be readable
	}
	for _, e := range entries {
		switch path := filepath.Join(dir, e.Name()); {
		case e.Name() == name || !e.Type().IsRegular():
		case slices.ContainsFunc(rotated, func(glob string) bool { return matches(filepath.Base(glob), e.Name()) }):
			files = appendFile(files, path)
		case related(name, e.Name()):
			others = append(others, e.Name())
		}
	}
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.Path, b.Path))
	})
	return appendFile(files, t.Path), others, nil
}

// folder lists the files of a folder of date-named logs.
func folder(t *tail.Config) (files []File, others []string, err error) {
	entries, err := os.ReadDir(t.Path) // sorted by name
	for _, e := range entries {
		switch {
		case e.IsDir():
		case t.Pattern == "" || matches(t.Pattern, e.Name()):
			files = appendFile(files, filepath.Join(t.Path, e.Name()))
		default:
			others = append(others, e.Name())
		}
	}
	return files, others, err
}

func matches(glob, name string) bool {
	ok, err := filepath.Match(glob, name)
	return ok && err == nil
}

func appendFile(files []File, path string) []File {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return files
	}
	return append(files, File{Path: path, Bytes: info.Size(), Modified: info.ModTime().UTC()})
}

// related reports whether a name looks like the name of a rotated file: the log's name followed by a text with a digit,
// or the log's name with a number before its extension (log-20260301.txt). lsb.events.1 is not related to lsb.acct.
func related(log, name string) bool {
	if rest, ok := strings.CutPrefix(name, log); ok {
		return strings.ContainsFunc(rest, unicode.IsDigit)
	}
	stem := strings.TrimSuffix(log, filepath.Ext(log))
	rest, ok := strings.CutPrefix(name, stem)
	return ok && stem != "" && strings.IndexFunc(strings.TrimLeft(rest, "-._"), unicode.IsDigit) == 0
}

// These limit a reading.
const (
	longest   = 1 << 20 // the maximum number of bytes of a line
	headLines = 64
	blockSize = 64 << 10
)

// errEnough ends a reading.
var errEnough = errors.New("enough")

// part is the part of a file to read: it begins at an offset and has a maximum number of lines.
type part struct {
	File
	offset int64
	lines  int
}

// newestPart returns the parts of the files that have the newest lines, up to a number of lines. A compressed file is
// read from its beginning, and its number of lines is unknown before that. So newestPart takes no further file after a
// compressed one.
func newestPart(files []File, lines int) ([]part, error) {
	var parts []part
	for _, f := range slices.Backward(files) {
		p := part{File: f, lines: lines}
		if !f.gzip() {
			var err error
			if p.offset, p.lines, err = f.lastLines(lines); err != nil {
				return nil, err
			}
		}
		parts = append(parts, p)
		if lines -= p.lines; lines <= 0 {
			break
		}
	}
	slices.Reverse(parts)
	return parts, nil
}

// lastLines returns the offset of the last n lines of the file, and their number, which is below n if the file is
// short. It reads backwards.
func (f *File) lastLines(n int) (offset int64, lines int, err error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	block := make([]byte, blockSize)
	for end := f.Bytes; end > 0; {
		begin := max(0, end-blockSize)
		got, err := file.ReadAt(block[:end-begin], begin)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		for i := got - 1; i >= 0; i-- {
			if block[i] != '\n' || begin+int64(i) == f.Bytes-1 {
				continue
			}
			if lines++; lines == n {
				return begin + int64(i) + 1, n, nil
			}
		}
		end = begin
	}
	if f.Bytes > 0 {
		lines++ // the first line has no line end before it
	}
	return 0, lines, nil
}

// eachLine calls the function do with each line, and returns the first error of do. Of a line that is too long it
// passes the beginning, and long is true. If the part begins in the middle of a file, eachLine first calls the function
// header with the lines of the file's header, and the line numbers are 0.
func (p *part) eachLine(header func(line []byte) bool,
	do func(number int64, line []byte, long bool) error) (err error) {
	file, err := os.Open(p.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var content io.Reader = file
	step := int64(1)
	switch {
	case p.gzip():
		if content, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	case p.offset > 0:
		step = 0
		if err := skipTo(file, p.offset, header); err != nil {
			return err
		}
	}
	lines := bufio.NewReaderSize(content, longest)
	number := step
	for n := 0; n < p.lines; n++ {
		line, long, err := nextLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		if err := do(number, line, long); err != nil {
			return err
		}
		number += step
	}
	return nil
}

// nextLine returns a line without its line end. The last line of the file may have no line end. If a line is longer
// than the reader's buffer, nextLine returns the beginning. The line is valid until the next call.
func nextLine(r *bufio.Reader) (line []byte, long bool, err error) {
	line, err = r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, long = bytes.Clone(line[:maxShape+1]), true
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, false, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), long, nil
}

// skipTo calls the function header with the first lines of the file until it returns false, because a parser may need
// them. Then it moves to an offset.
func skipTo(file *os.File, offset int64, header func(line []byte) bool) error {
	head := bufio.NewScanner(io.NewSectionReader(file, 0, 1<<16))
	for head.Scan() && header(head.Bytes()) {
		continue
	}
	_, err := file.Seek(offset, io.SeekStart)
	return err
}

// head returns the first lines of the file, at most headLines, without those that are empty or too long.
func (f *File) head() (lines [][]byte, err error) {
	whole := part{File: *f, lines: math.MaxInt}
	err = whole.eachLine(nil, func(_ int64, line []byte, long bool) error {
		if len(bytes.TrimSpace(line)) > 0 && !long {
			lines = append(lines, bytes.Clone(line))
		}
		if len(lines) == headLines {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return lines, err
}
