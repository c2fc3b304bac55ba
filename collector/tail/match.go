package tail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"
)

// lostAfter is the number of consecutive listings without a file after which the file counts as lost. One is not
// enough, because a listing in the middle of a rename may miss it.
const lostAfter = 2

// behindFor is how long to wait for a shorter copy of a known file to grow.
const behindFor = 10 * time.Minute

// scan lists the files and matches them with the known ones.
func (t *Tailer) scan() {
	began := t.opts.Clock.Now()
	t.watch()
	t.gather()
	t.heads = make(map[id]*fileHead)
	l := t.scanListing()
	t.listed = l
	t.blind = slices.ContainsFunc(l.bad, func(p Problem) bool { return p.Reason == Unreadable })
	t.paths(&l)
	unknown := t.bind(l.files)
	unknown = t.matchRenamed(unknown)
	t.unsettled = false
	unknown = t.miss(unknown)
	if !t.unsettled {
		t.adopt(unknown)
		t.fresh = false
	}
	t.heads = nil
	t.order()
	t.scanned = t.opts.Clock.Now()
	t.scanCost = t.scanned.Sub(began)
}

// paths reports the reasons why configured paths cannot be used. A missing path that may return (mayReturn) is reported
// only after the grace.
func (t *Tailer) paths(l *listing) {
	before := t.barred
	t.barred = make(map[string]Problem)
	bad := make(map[string]bool)
	now := t.opts.Clock.Now()
	for _, p := range l.bad {
		bad[p.Path] = true
		if p.Reason == Missing && t.mayReturn(p.Path, len(l.files) > 0) {
			if t.missingSince.IsZero() {
				t.missingSince = now
			}
			if now.Sub(t.missingSince) < t.cfg.Grace {
				continue
			}
		}
		if t.barred[p.Path] = p; before[p.Path].Reason != p.Reason {
			t.stood = true
			t.problem(p.Path, 0, p.Reason, p.Err)
		}
	}
	t.stood = t.stood || len(before) != len(t.barred)
	if !bad[t.cfg.Path] {
		t.hadPrimary, t.missingSince = true, time.Time{}
	}
	t.forgive(l, bad)
}

// mayReturn reports whether a missing path may be in the middle of a rotation: the file existed before or has
// predecessors, and its directory still exists. It is false for a directory of files and in one-shot mode.
func (t *Tailer) mayReturn(path string, others bool) bool {
	if t.cfg.OneShot || t.dir || !t.hadPrimary && !others {
		return false
	}
	_, err := os.Stat(filepath.Dir(path))
	return err == nil
}

// forgive removes the problems of files that are no longer listed, if no configured path has a problem.
func (t *Tailer) forgive(l *listing, bad map[string]bool) {
	if len(t.standing) == 0 || len(bad) > 0 {
		return
	}
	listed := make(map[string]bool, len(l.files))
	for i := range l.files {
		listed[l.files[i].path] = true
	}
	for path := range t.standing {
		if !listed[path] {
			t.mended(path)
		}
	}
}

// bind matches the known files with the listed ones by device and inode. If the tailer did not hold the file open all
// the time, the content must match too. bind drops known files that are not listed if nothing was read from them or if
// they are copies. It returns the listed files that match no known one.
func (t *Tailer) bind(listed []candidate) (unknown []candidate) {
	byID := make(map[id]candidate, len(listed))
	for _, c := range listed {
		byID[c.st.id()] = c
	}
	t.files = slices.DeleteFunc(t.files, func(f *file) bool {
		c, ok := byID[f.id()]
		f.bound = ok && t.isSame(f, c)
		if f.bound {
			t.noteMove(f, c)
			f.cand, f.Path, f.misses = c, c.path, 0
			delete(byID, f.id())
		}
		gone := f.Offset == 0 && !f.Done && f.src == nil // no byte was read from it
		return !f.bound && (gone || f.Copy)
	})
	for _, c := range listed {
		if _, ok := byID[c.st.id()]; ok {
			unknown = append(unknown, c)
		}
	}
	return unknown
}

// isSame reports whether the candidate c, which has the device and inode of f, is the file f. It may be another file,
// because inodes are reused as soon as a file is deleted. A file that cannot be read counts as f for now. If c is f,
// isSame may open it as the file of f (use).
func (t *Tailer) isSame(f *file, c candidate) bool {
	same := c.st.size == f.Size && c.st.mtime == f.Mtime
	switch {
	case f.src != nil, f.Offset == 0 && !f.Done:
		return true // f was held open, or nothing was read from it
	case f.Copy:
		return same
	case f.Done && same:
		return true
	case !f.broken.unchanged(status{}) && f.broken.unchanged(c.st):
		return true // c is unreadable and unchanged
	}
	src, err := t.openSource(c.path, c.st.id())
	if errors.Is(err, errMoved) {
		t.rescan = true
		return true
	}
	var ok bool
	if err == nil {
		if ok, err = f.verify(src); err != nil {
			err = errors.Join(err, src.Close())
			f.broken = c.st
		}
	}
	if err != nil {
		t.reportStanding(Problem{Path: c.path, Reason: Unreadable, Err: err})
		return true
	}
	if !ok {
		t.discard(src)
		return false
	}
	t.use(f, c, src)
	return true
}

// use sets src, which continues f, as the open file of f, unless f is finished and nothing was appended.
func (t *Tailer) use(f *file, c candidate, src source) {
	f.broken = status{}
	if f.Done {
		f.Size, f.Mtime = c.st.size, c.st.mtime
		if more, err := readFull(src, f.Offset, 1); err != nil || len(more) == 0 {
			t.discard(src)
			return
		}
		f.Done, f.hasNext, f.atEnd = false, false, false
	}
	f.cand, f.src, f.armed = c, src, true
	t.header(f)
}

// header calls Options.Header with the beginning of a file that is continued in its middle.
func (t *Tailer) header(f *file) {
	if t.opts.Header == nil || f.Offset == 0 {
		return
	}
	if err := t.opts.Header(f.cand.path, sectionOf(f.src)); err != nil {
		t.problem(f.cand.path, 0, BadHeader, err)
	}
}

func (t *Tailer) discard(src source) {
	if err := src.Close(); err != nil {
		t.log.Warn("closing", zap.Error(err))
	}
}

// noteMove counts a rotation: the file that Path led to now has another name.
func (t *Tailer) noteMove(f *file, c candidate) {
	if f.cand.primary && !c.primary {
		kind := kindRename
		if f.cand.path == c.path {
			kind = kindSymlink
		}
		t.opts.Metrics.rotated(t.cfg.Source, kind)
	}
}

// matchRenamed searches the unknown files, by content, for known files that lost their name: a compressed or copied log
// has another inode. It returns the unknown files that remain.
func (t *Tailer) matchRenamed(unknown []candidate) []candidate {
	for _, f := range slices.Clone(t.files) {
		if f.bound || f.Offset <= 0 {
			continue
		}
		i := slices.IndexFunc(unknown, func(c candidate) bool { return t.rebind(f, c) })
		if i >= 0 {
			unknown = slices.Delete(unknown, i, i+1)
			continue
		}
		// k is a copy that was made before the original was truncated.
		k := slices.IndexFunc(t.files, func(k *file) bool {
			return k.bound && (k.Copy || k.Offset == 0 && !k.Done) && t.rebind(f, k.cand)
		})
		if k >= 0 {
			t.forget(t.files[k])
		}
	}
	return unknown
}

// rebind binds f to the file c if c continues f, and reports whether it did.
func (t *Tailer) rebind(f *file, c candidate) bool {
	if c.primary && f.src != nil {
		return false // f was only unlinked or renamed, and Path is another file
	}
	if p := t.readHead(c); p.err != nil || !p.matches(f) {
		return false
	}
	src, err := t.openSource(c.path, c.st.id())
	var ok bool
	if err == nil {
		probe := &file{filePosition: f.filePosition}
		probe.Head, probe.Tail = f.headHash(), f.tailHash()
		if ok, err = probe.verify(src); ok && f.src != nil {
			var more bool
			if more, err = hasMore(src, f); more || t.rewritten(f) {
				t.discard(f.src) // c is a copy of f's past content
				f.src = nil
			}
		}
		if ok && f.src == nil {
			f.head, f.tail = probe.head, probe.tail
		}
		if !ok || err != nil || f.src != nil {
			t.discard(src)
		}
	}
	if err != nil {
		t.recordUnreadable(c, err)
	}
	if !ok || err != nil {
		return false
	}
	if isGzip(c.path) {
		t.opts.Metrics.rotated(t.cfg.Source, kindCompress)
	}
	f.Dev, f.Ino, f.Path, f.bound, f.misses = c.st.dev, c.st.ino, c.path, true, 0
	if f.src == nil {
		t.use(f, c, src)
	}
	f.cand = c
	return true
}

// hasMore reports whether src, a copy of the open file f, continues after the end of f. f has lost its name. If src
// continues, a program that copies the log from another host has replaced f, and the rest of the log is only in src. A
// compressed copy counts as not continuing; it is compared by content.
func hasMore(src source, f *file) (bool, error) {
	st, err := f.src.Stat()
	if err != nil || isCompressed(f.src) {
		return false, nil
	}
	more, err := readFull(src, st.size, 1)
	return len(more) > 0, err
}

// recordUnreadable records that a file could not be read. Except in one-shot mode, the scan then counts no known file
// as missing (see miss).
func (t *Tailer) recordUnreadable(c candidate, err error) {
	t.blind = true
	if !errors.Is(err, errMoved) {
		t.reportStanding(Problem{Path: c.path, Reason: Unreadable, Err: err})
	}
}

// readHead returns the head of a listed file. It reads the head once per scan.
func (t *Tailer) readHead(c candidate) *fileHead {
	p := t.heads[c.st.id()]
	if p != nil {
		return p
	}
	p = &fileHead{}
	src, err := t.openSource(c.path, c.st.id())
	if err == nil {
		p.head, err = readFull(src, 0, headMax)
		t.discard(src)
	}
	if p.err = err; err != nil {
		t.recordUnreadable(c, err)
	}
	t.heads[c.st.id()] = p
	return p
}

// miss handles known files that were not found. They count as lost after lostAfter listings without them. It waits for
// them in three cases: while no file at all is found (a file system may not be mounted yet), while a file cannot be
// read, and while a copy is shorter than the position. It returns the unknown files that are not copies of lost ones.
func (t *Tailer) miss(unknown []candidate) []candidate {
	var lost []*file
	behind := make(map[string]bool)
	hopeful := !t.cfg.OneShot && (t.blind || len(t.listed.files) == 0)
	t.files = slices.DeleteFunc(t.files, func(f *file) bool {
		if f.bound || f.src != nil {
			if f.cand.primary && !f.bound && t.hasPrimary() {
				f.cand.primary, f.cand.last = false, false
				kind := kindRename
				if st, err := t.stat(f.cand.path); err == nil && st.id() == f.id() {
					kind = kindSymlink // the file is still present under its own name
				}
				t.opts.Metrics.rotated(t.cfg.Source, kind)
			}
			return false
		}
		copied := t.shorterCopy(f, unknown)
		if copied != "" {
			behind[copied] = true
		} else if !hopeful {
			f.misses++
		}
		if f.misses < lostAfter {
			t.unsettled = t.unsettled || copied != "" || !f.Done && len(t.listed.files) > 0
			return false
		}
		if !f.Done {
			lost = append(lost, f)
		}
		return true
	})
	for path, p := range t.standing {
		if p.Reason == Behind && !behind[path] {
			t.mended(path)
		}
	}
	for _, f := range lost {
		t.lose(f, unknown)
		copies := t.leaveCopies(f, unknown)
		unknown = slices.DeleteFunc(unknown, func(c candidate) bool {
			return slices.ContainsFunc(copies, func(k candidate) bool { return k.st.id() == c.st.id() })
		})
	}
	return unknown
}

// shorterCopy returns the path of an unknown file that begins like f and ends before f's position. Such a file exists
// after a position was taken over from another host, as long as this host's copy of the log has not reached the
// position. The tailer waits for that copy, because it would otherwise read lines twice. It waits at most behindFor.
// But if the name of f still has f's inode, f was truncated on its own host; the result is then "".
func (t *Tailer) shorterCopy(f *file, unknown []candidate) string {
	here := func(c candidate) bool { return c.st.id() == f.id() && key(c.path) == key(f.Path) }
	if t.cfg.OneShot || f.HeadLen < headMax || slices.ContainsFunc(t.listed.files, here) {
		return ""
	}
	if f.missed.IsZero() {
		f.missed = t.opts.Clock.Now()
	}
	if t.opts.Clock.Now().Sub(f.missed) >= behindFor {
		return ""
	}
	for _, c := range unknown {
		if isGzip(c.path) || c.st.size >= f.Offset {
			continue
		}
		if p := t.readHead(c); p.err == nil && p.matches(f) {
			t.reportStanding(Problem{Path: c.path, Reason: Behind, Err: fmt.Errorf("a copy of %s of %d bytes, "+
				"of which %d were read already (to line %d): waiting up to %s for the rest", f.Path, c.st.size,
				f.Offset, f.Line, behindFor)})
			return c.path
		}
	}
	return ""
}

func (t *Tailer) hasPrimary() bool {
	return slices.ContainsFunc(t.listed.files, func(c candidate) bool { return c.primary })
}

// lose reports a file that cannot be found. It assumes that older or equally old predecessors were read before it.
func (t *Tailer) lose(f *file, unknown []candidate) {
	for _, c := range unknown {
		if c.st.id() == f.id() {
			t.problem(c.path, 0, Truncated, fmt.Errorf(
				"same inode, other content than up to offset %d (line %d): read again from its beginning; "+
					"what was in it after that offset is lost", f.Offset, f.Line))
			return
		}
	}
	t.problem(f.Path, 0, CheckpointLost, fmt.Errorf(
		"neither this file nor a copy of it exists: its lines after offset %d (line %d) are lost; "+
			"files that are not newer count as finished; newer ones are read from their beginning",
		f.Offset, f.Line))
	if !t.dir { // in a directory, Low covers the earlier names
		t.since = max(t.since, f.Mtime-1)
	}
}

// adopt adds the unknown files to the table, except those that are finished (finishedBefore). They will be read from
// the beginning. At a first listing with FromEnd, the newest one is read from its end instead, and the others count as
// finished.
func (t *Tailer) adopt(unknown []candidate) {
	for i, c := range unknown {
		if t.finishedBefore(c) {
			continue
		}
		f := &file{filePosition: filePosition{Path: c.path, Dev: c.st.dev, Ino: c.st.ino}, cand: c, bound: true}
		f.head, f.tail = []byte{}, make([]byte, 0, tailMax)
		if t.fresh && t.cfg.FromEnd && !t.cfg.OneShot {
			t.toEnd(f, i == len(unknown)-1)
		} else if t.dir && !t.fresh && !isGzip(c.path) {
			t.opts.Metrics.rotated(t.cfg.Source, kindNextFile)
		}
		t.files = append(t.files, f)
	}
	if len(t.listed.files) > 0 && !t.blind {
		t.behind = nil // these files are in the table now, or no longer exist
	}
}

// toEnd sets the position of a new file after its last complete line. If the file is not the newest one, it counts as
// finished.
func (t *Tailer) toEnd(f *file, newest bool) {
	if t.dir && !newest {
		f.Done = true // Low alone records that the file is finished
		return
	}
	src, err := t.openSource(f.cand.path, f.cand.st.id())
	if err != nil {
		t.reportStanding(Problem{Path: f.cand.path, Reason: Unreadable, Err: err})
		return
	}
	defer t.discard(src)
	var at, last int64
	buf := make([]byte, 64<<10)
	for {
		n, err := src.ReadAt(buf, at)
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			last = at + int64(i) + 1
			f.Line += int64(bytes.Count(buf[:n], []byte{'\n'}))
		}
		if at += int64(n); err != nil || n == 0 {
			break
		}
	}
	f.Offset = last
	head, herr := readFull(src, 0, int(min(last, headMax)))
	tail, terr := readFull(src, last-min(last, tailMax), int(min(last, tailMax)))
	if err := errors.Join(herr, terr); err != nil {
		t.log.Warn("start at the end", zap.String("path", f.cand.path), zap.Error(err))
	}
	f.head, f.tail = head, append(f.tail, tail...)
	f.HeadLen, f.TailLen = len(head), len(tail)
	if !newest {
		f.Done, f.Size, f.Mtime = true, f.cand.st.size, f.cand.st.mtime
	}
}
