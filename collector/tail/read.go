package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errRewritten means that the file no longer continues the bytes that were read from it.
var errRewritten = errors.New("the file was rewritten")

// read adds complete lines from f's offset on to the batch, within the batch's bounds.
func (t *Tailer) read(f *file) {
	st, err := f.src.Stat()
	if err != nil {
		t.fail(f, st, err)
		return
	}
	if f.atEnd && st.unchanged(f.seen) && !t.nulsDue(f) {
		t.mended(f.cand.path)
		return
	}
	data, eof, err := t.load(f, t.cfg.BatchBytes)
	if err == nil && !eof && len(data) <= t.cfg.MaxLine+1 && bytes.IndexByte(data, '\n') < 0 {
		data, eof, err = t.load(f, t.cfg.MaxLine+2) // enough for the longest line and its \r\n
	}
	switch {
	case errors.Is(err, errRewritten):
		t.truncated(f)
		return
	case err != nil:
		t.fail(f, st, err)
		return
	}
	if f.Offset == 0 && len(data) > 0 && !t.mayBegin(f, data) {
		t.rescan, f.judged = true, false
		return
	}
	t.mended(f.cand.path)
	f.seen, f.rest = st, false
	n := t.take(f, data)
	rest := data[n:]
	switch {
	case n == 0 && len(data) > 0:
		t.unfinished(f, rest, eof)
		return
	case len(t.batch.Lines) == t.cfg.BatchLines, t.cfg.OneShot && len(rest) > 0,
		len(rest) > t.cfg.MaxLine, bytes.IndexByte(rest, 0) >= 0:
		f.atEnd = false // the next call handles the rest
	default:
		f.atEnd, f.rest = eof, len(rest) > 0
	}
	if n > 0 {
		f.quiet, f.nuls = t.opts.Clock.Now(), nulRun{}
	}
}

// load reads up to n bytes from f's offset on. It also reads the bytes just before the offset again: if they have
// changed, or the file ends before them, f is another file and the error is errRewritten.
func (t *Tailer) load(f *file, n int) (data []byte, eof bool, err error) {
	k := len(f.tail)
	if len(t.buf) < k+n {
		t.buf = make([]byte, tailMax+n)
	}
	b := t.buf[:k+n]
	m, err := f.src.ReadAt(b, f.Offset-int64(k))
	eof = errors.Is(err, io.EOF)
	if err != nil && !eof && (m <= k || bytes.IndexByte(b[k:m], '\n') < 0) {
		return nil, false, err // the readable part has no line left
	}
	if m < k || !bytes.Equal(b[:k], f.tail) {
		return nil, eof, errRewritten
	}
	if st, err := f.src.Stat(); m == k && eof && err == nil && !isCompressed(f.src) && st.size < f.Offset {
		return nil, true, errRewritten
	}
	return b[k:m], eof, nil
}

func isCompressed(s source) bool {
	_, ok := s.(*gzipSource)
	return ok
}

// take adds the complete lines at the beginning of data, up to a NUL, to the batch. Lines longer than MaxLine are
// reported instead. It moves the position of f over all these lines and returns their length in bytes.
func (t *Tailer) take(f *file, data []byte) int {
	sound := data
	if i := bytes.IndexByte(data, 0); i >= 0 {
		sound = data[:i]
	}
	start, number, first := 0, f.Line, len(t.batch.Lines)
	for len(t.batch.Lines) < t.cfg.BatchLines {
		i := bytes.IndexByte(sound[start:], '\n')
		if i < 0 {
			break
		}
		number++
		text := sound[start : start+i : start+i]
		start += i + 1
		if i > 0 && text[i-1] == '\r' {
			text = text[:i-1]
		}
		if len(text) > t.cfg.MaxLine {
			t.tooLong(f, number, text)
			continue
		}
		t.batch.Lines = append(t.batch.Lines, Line{Path: f.cand.path, Number: number, Text: text})
	}
	f.advance(data[:start], int(number-f.Line))
	t.opts.Metrics.read(t.cfg.Source, len(t.batch.Lines)-first, int64(start))
	return start
}

func (t *Tailer) tooLong(f *file, number int64, text []byte) {
	t.skipped(f.cand.path, number, LineTooLong, fmt.Errorf("longer than %d bytes; skipped", t.cfg.MaxLine), text)
}

// unfinished handles data that does not begin with a complete line.
func (t *Tailer) unfinished(f *file, data []byte, eof bool) {
	f.rest, f.atEnd = true, eof
	switch nul := bytes.IndexByte(data, 0); {
	case nul >= 0:
		t.handleNULs(f, f.Offset+int64(nul), data)
	case len(data) > t.cfg.MaxLine+1:
		t.long(f, data)
	case eof && t.cfg.OneShot:
		t.batch.Lines = append(t.batch.Lines,
			Line{Path: f.cand.path, Number: f.Line + 1, Text: bytes.TrimSuffix(data, []byte{'\r'})})
		t.opts.Metrics.read(t.cfg.Source, 1, int64(len(data)))
		f.advance(data, 1)
		f.rest = false
	}
}

// long skips a line that is longer than MaxLine, as soon as the file has the end of the line; in one-shot mode the end
// of the file suffices. data is the beginning of the line.
func (t *Tailer) long(f *file, data []byte) {
	end, found, err := newline(f.src, max(f.Offset+int64(len(data)), f.long))
	if err != nil {
		t.fail(f, f.seen, err)
		return
	}
	if f.long = end; !found && !t.cfg.OneShot {
		f.atEnd = true
		return
	}
	if t.jump(f, end, false) {
		t.tooLong(f, f.Line, data)
	}
}

// jump moves the position of f to off, after a line that is skipped, and reports whether it did. It does not if the
// file cannot be read, was rewritten during the search for the line's end, or must be judged again.
func (t *Tailer) jump(f *file, off int64, holed bool) bool {
	tail, err := f.tailAt(off, holed)
	if err != nil {
		t.fail(f, f.seen, err)
		return false
	}
	if t.rewritten(f) {
		t.truncated(f)
		return false
	}
	if f.Offset == 0 && !t.unrotated(f) {
		t.rescan, f.judged = true, false
		return false
	}
	f.jump(off, tail)
	f.rest, f.atEnd = false, false
	f.quiet = t.opts.Clock.Now()
	return true
}

// handleNULs handles NUL bytes at pos, in the line that begins with data. After a crash, and on NFS, a file system
// shows NUL bytes in place of data that appears later. When the wait for one run of NULs has ended, so has the wait for
// all other runs that existed when the first one was found.
func (t *Tailer) handleNULs(f *file, pos int64, data []byte) {
	now := t.opts.Clock.Now()
	if pos >= f.nulsAccepted && !t.cfg.OneShot && !isCompressed(f.src) {
		if f.nuls.pos != pos || f.nuls.since.IsZero() {
			f.nuls = nulRun{pos: pos, since: now, size: f.seen.size}
		}
		if now.Sub(f.nuls.since) < t.cfg.Grace {
			f.atEnd = true
			return
		}
		f.nulsAccepted = f.nuls.size
	}
	end, found, err := newline(f.src, pos)
	if err != nil {
		t.fail(f, f.seen, err)
		return
	}
	if f.nuls.open = !found; !found && !t.cfg.OneShot {
		f.atEnd = true
		return
	}
	if t.jump(f, end, true) {
		t.skipped(f.cand.path, f.Line, NulBytes, fmt.Errorf("NUL bytes at offset %d; skipped to %d", pos, end), data)
		f.nuls = nulRun{}
	}
}

// awaitsData reports whether the data of a run of NUL bytes may still come. What stands behind the run is not read yet.
func (t *Tailer) awaitsData(f *file) bool {
	h := f.nuls
	return !h.since.IsZero() && !h.open && t.opts.Clock.Now().Sub(h.since) < t.cfg.Grace
}

// nulsDue reports whether the wait for the data of a run of NUL bytes is over.
func (t *Tailer) nulsDue(f *file) bool {
	h := f.nuls
	return !h.since.IsZero() && !h.open && t.opts.Clock.Now().Sub(h.since) >= t.cfg.Grace
}

// newline returns the offset after the first line end at or after the offset `from`. If there is none, found is false
// and newline returns the offset of the end of the file.
func newline(src io.ReaderAt, from int64) (end int64, found bool, err error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.ReadAt(buf, from)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, true, nil
		}
		from += int64(n)
		if errors.Is(err, io.EOF) {
			return from, false, nil
		}
		if err != nil {
			return from, false, err
		}
	}
}

// fail closes a file that cannot be read. The file is tried again at the next scan; a compressed one only when it
// changes.
func (t *Tailer) fail(f *file, st status, err error) {
	f.rest, f.atEnd, f.bound = false, false, false // bound is set again by the next scan
	if isCompressed(f.src) {
		f.broken = st // decompressing the same bytes again would not help
	}
	if cerr := f.close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	t.reportStanding(Problem{Path: f.cand.path, Reason: Unreadable, Err: err})
}
