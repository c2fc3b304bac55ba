package tail

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// contentMatch is the degree to which the content of an unknown file matches a known one.
type contentMatch int

const (
	noMatch          contentMatch = iota
	beginningMatches              // it has the beginning of the bytes read from the known file
	allMatches                    // it has all bytes read from the known file
)

// open opens f for reading and reports whether f is open now.
func (t *Tailer) open(f *file) bool {
	if f.Offset > 0 && !t.fromEnd(f) || !f.bound || f.broken.size > 0 && f.broken.unchanged(f.cand.st) {
		return false // the next scan will find the file, or it is still unreadable
	}
	src, err := t.openSource(f.cand.path, f.id())
	if errors.Is(err, errMoved) {
		t.rescan = true
		return false
	}
	if err != nil {
		f.bound = false // true again after the next scan
		t.reportStanding(Problem{Path: f.cand.path, Reason: Unreadable, Err: err})
		return false
	}
	f.src = src
	t.header(f)
	return true
}

// fromEnd reports whether f was just positioned at its end and has not been opened yet.
func (t *Tailer) fromEnd(f *file) bool { return f.head != nil && f.bound }

// judge compares a file, before the first read from it, with the files that were read before. The file may be a copy of
// one of them, perhaps made before a truncation. The lines of a copy are already known. If the copy is the file at
// Path, reading continues after the copied content. Any other copy is ignored.
//
// judge first handles a truncation that was not noticed yet, because the lines of the truncated file come before lines
// that were written to it, and copied, later.
func (t *Tailer) judge(f *file) {
	if f.judged || f.Offset > 0 {
		return
	}
	for _, k := range t.files {
		if k != f && k.src != nil && k.Offset > 0 && !isCompressed(k.src) && t.rewritten(k) {
			t.truncated(k)
			return
		}
	}
	head, err := readFull(f.src, 0, headMax)
	if err == nil && t.tooLittle(head) {
		return
	}
	f.judged = true
	k, how := t.original(f, &fileHead{head: head, err: err})
	switch {
	case k == nil:
	case !f.bound: // f was compressed before anything was read from it, and is now read as the compressed file
		t.forget(f)
		f.Done = true
	case !f.cand.primary && !k.bound && how == allMatches: // the compressed form of k
		k.Dev, k.Ino, k.Path, k.cand, k.bound = f.Dev, f.Ino, f.Path, f.cand, true
		t.forget(f)
		f.Done = true
	case !f.cand.primary:
		t.leaveAlone(f, k)
	case how == allMatches:
		g := &file{filePosition: k.filePosition}
		g.Head, g.Tail = k.headHash(), k.tailHash()
		if ok, err := g.verify(f.src); ok && err == nil {
			m := g.filePosition
			m.Path, m.Dev, m.Ino, m.Done, m.Size, m.Mtime = f.Path, f.Dev, f.Ino, false, 0, 0
			f.filePosition, f.head, f.tail = m, g.head, g.tail
			t.leaveAlone(k, f)
			t.header(f)
		} else {
			f.judged = false // f was truncated since its head was read
		}
	}
}

// tooLittle reports whether the beginning of a file is too short to identify the file, and has no complete line yet.
func (t *Tailer) tooLittle(head []byte) bool {
	return len(head) < headMax && !bytes.Contains(head, []byte{'\n'}) && !t.cfg.OneShot
}

// mayBegin reports whether data, the first bytes read from f, belong to the file as it was listed and judged. If not, f
// must be listed and judged again.
func (t *Tailer) mayBegin(f *file, data []byte) bool {
	return (f.judged || t.tooLittle(data)) && t.unrotated(f)
}

// unrotated is called after the first read from f. It reports whether the names are still those of the last listing,
// and the files before f have nothing new. If not, Path may have been copied and truncated meanwhile, and the copy
// contains lines that come before the bytes just read. Late lines of predecessors delay f for at most maxSpins calls.
func (t *Tailer) unrotated(f *file) bool {
	if !f.cand.primary {
		return true // the file is no longer truncated
	}
	now := t.list()
	if !now.same(&t.listed) {
		return false
	}
	f.waits++
	known := make(map[id]*file, len(t.files))
	for _, k := range t.files {
		known[k.id()] = k
	}
	for i, c := range now.files {
		if k := known[c.st.id()]; k == f || k != nil && k.src != nil && k.Offset > 0 &&
			(k.atEnd && c.st.unchanged(k.seen) || f.waits > maxSpins) {
			continue
		}
		if !c.st.unchanged(t.listed.files[i].st) {
			return false
		}
	}
	return true
}

// rewritten reports whether an open file no longer has the content that was read.
func (t *Tailer) rewritten(f *file) bool {
	_, _, err := t.load(f, 1)
	return errors.Is(err, errRewritten)
}

// leaveAlone marks f as a copy that is not read. If f changes, it is judged again.
func (t *Tailer) leaveAlone(f, of *file) {
	f.Done, f.Copy = true, true
	f.Size, f.Mtime = f.cand.st.size, f.cand.st.mtime
	if f.src != nil {
		t.discard(f.src)
		f.src = nil
	}
	t.problem(f.cand.path, 0, Copied, fmt.Errorf("a copy of %s, whose lines are known: not read", of.cand.path))
}

// original returns the known file that f copies, and how far the two match; nil and noMatch if there is none. p is the
// head of f.
func (t *Tailer) original(f *file, p *fileHead) (*file, contentMatch) {
	for _, k := range t.files {
		if k == f || k.Copy || k.HeadLen == 0 {
			continue
		}
		if how := t.compare(f, p, k); how != noMatch {
			return k, how
		}
	}
	return nil, noMatch
}

// compare reports how far the open file q with the head p matches the known file k.
func (t *Tailer) compare(q *file, p *fileHead, k *file) contentMatch {
	src := q.src
	if len(p.head) == 0 {
		return noMatch
	}
	if len(p.head) < k.HeadLen { // the file is shorter than the hashed head of k
		if p.err == nil && k.head != nil && k.hasPrefix(p.head) {
			return beginningMatches
		}
		return noMatch
	}
	if !p.matches(k) {
		return noMatch
	}
	if tail, err := k.tailIn(src); err == nil && tail != nil {
		return allMatches
	}
	size := q.cand.st.size
	if isCompressed(src) || size >= k.Offset {
		return noMatch // the file has the same header, but other records
	}
	if k.src == nil || isCompressed(k.src) {
		if k.HeadLen == headMax {
			return beginningMatches
		}
		return noMatch
	}
	off := max(0, size-tailMax)
	a, aerr := readFull(src, off, int(size-off))
	b, berr := readFull(k.src, off, int(size-off))
	if errors.Join(aerr, berr) == nil && (bytes.Equal(a, b) || len(b) < len(a) && k.HeadLen == headMax) {
		return beginningMatches
	}
	return noMatch
}

// truncated handles a file that no longer has the content that was read. If a copy from before the truncation exists
// (copytruncate), reading continues in the copy. Only the lines written between copying and truncation are lost then.
func (t *Tailer) truncated(f *file) {
	t.rescan = true
	t.gather()
	t.opts.Metrics.rotated(t.cfg.Source, kindCopyTruncate)
	g, listed := t.continuation(f)
	detail := "read again from its beginning; what was in it after that offset is lost"
	if g != nil {
		t.files = append(t.files, g)
		detail = "its copy " + g.cand.path + " is read to its end, then this file from its beginning; " +
			"what was written between copying and truncation is lost"
	} else if len(t.leaveCopies(f, listed)) > 0 {
		detail = "its copy holds no more than was read; read again from its beginning; " +
			"what was in it after that offset is lost"
	}
	t.problem(f.cand.path, 0, Truncated,
		fmt.Errorf("rewritten after offset %d (line %d): %s", f.Offset, f.Line, detail))
	*f = file{filePosition: filePosition{Path: f.Path, Dev: f.Dev, Ino: f.Ino}, cand: f.cand, src: f.src,
		bound: f.bound, armed: f.armed}
	f.head, f.tail = []byte{}, make([]byte, 0, tailMax)
	t.order()
}

// continuation searches the listed files for a copy of f's past content. If a file is renamed meanwhile, it lists the
// files again, up to 7 times. It also returns the last listing.
func (t *Tailer) continuation(f *file) (g *file, listed []candidate) {
	for range 8 {
		listed = t.scanListing().files
		var moved bool
		if g, moved = t.continuationIn(f, listed); !moved {
			break
		}
	}
	return g, listed
}

// continuationIn searches a listing for a copy of f's past content. If there is none, moved reports whether a file lost
// its name since the listing, as a copy does when it is compressed.
func (t *Tailer) continuationIn(f *file, listed []candidate) (g *file, moved bool) {
	known := make(map[id]*file, len(t.files))
	for _, k := range t.files {
		known[k.id()] = k
	}
	for _, c := range listed {
		k := known[c.st.id()]
		if c.primary || k == f || k != nil && !k.Copy && (k.Offset > 0 || k.Done) {
			continue
		}
		g := &file{filePosition: f.filePosition, bound: true}
		g.Head, g.Tail = f.headHash(), f.tailHash()
		g.Path, g.Dev, g.Ino = c.path, c.st.dev, c.st.ino
		src, err := t.openSource(c.path, c.st.id())
		if err != nil {
			moved = moved || errors.Is(err, errMoved)
			continue
		}
		if ok, err := g.verify(src); err != nil || !ok {
			t.discard(src)
			continue
		}
		t.forget(k)
		t.use(g, c, src)
		return g, false
	}
	return nil, moved
}

// leaveCopies marks and returns the files whose content is the beginning of the content read from f. Such a copy was
// made before f was truncated, and more lines of f than it has were read already.
func (t *Tailer) leaveCopies(f *file, listed []candidate) (copies []candidate) {
	for _, c := range listed {
		i := slices.IndexFunc(t.files, func(k *file) bool { return k.id() == c.st.id() })
		if c.primary || i >= 0 && (t.files[i] == f || !t.files[i].Copy && (t.files[i].Offset > 0 || t.files[i].Done)) {
			continue
		}
		if !t.passed(f, c) {
			continue
		}
		copies = append(copies, c)
		if i >= 0 && t.files[i].Copy && t.isSame(t.files[i], c) {
			continue
		}
		if i < 0 {
			i = len(t.files)
			t.files = append(t.files, &file{})
		}
		k := t.files[i]
		k.filePosition, k.cand, k.bound = filePosition{Path: c.path, Dev: c.st.dev, Ino: c.st.ino}, c, true
		t.leaveAlone(k, f)
	}
	return copies
}

// passed reports whether c begins like the bytes read from f and is shorter than they are.
func (t *Tailer) passed(f *file, c candidate) bool {
	src, err := t.openSource(c.path, c.st.id())
	if err != nil {
		return false
	}
	defer t.discard(src)
	head, err := readFull(src, 0, headMax)
	if err != nil || len(head) == 0 || f.Offset == 0 {
		return false
	}
	if len(head) < f.HeadLen {
		return f.head != nil && f.hasPrefix(head)
	}
	if f.HeadLen < headMax || !(&fileHead{head: head}).matches(f) {
		return false
	}
	more, err := readFull(src, f.Offset-1, 1)
	return err == nil && len(more) == 0
}

// forget removes a file from the table.
func (t *Tailer) forget(f *file) {
	for i, k := range t.files {
		if k == f && f != nil {
			if k.src != nil {
				t.discard(k.src)
				k.src = nil
			}
			t.files = append(t.files[:i], t.files[i+1:]...)
			return
		}
	}
}
