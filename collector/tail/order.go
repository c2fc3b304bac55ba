package tail

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// The table of known files has two parts. t.files has the files with a position, and those being examined. t.queue has
// the files after them, which were listed but never opened. The work for each batch and each finished file depends only
// on the size of t.files. So the time to import many old files is proportional to their number.

// gather records the stragglers and joins both parts of the table of known files, for a scan.
func (t *Tailer) gather() {
	t.behind = t.stragglers()
	t.files = append(t.files, t.queue...)
	t.queue, t.queued = nil, 0
}

// split moves the files that were never opened from the end of the table to the queue.
func (t *Tailer) split() {
	n := len(t.files)
	for n > 0 && t.files[n-1].untouched() {
		n--
		t.queued += t.files[n].cand.st.size
	}
	t.queue = slices.Clone(t.files[n:])
	clear(t.files[n:])
	t.files = t.files[:n]
	t.void()
}

// next moves the first file of the queue that is not void into the table, and returns it, nil if there is none. It
// drops the void files before it.
func (t *Tailer) next() *file {
	for len(t.queue) > 0 {
		f := t.queue[0]
		t.queue[0], t.queue = nil, t.queue[1:]
		t.queued -= f.cand.st.size
		if !f.void { // the next listing finds it again
			t.files = append(t.files, f)
			return f
		}
	}
	return nil
}

// untouched reports whether the file is known only from a listing.
func (f *file) untouched() bool { return f.Offset == 0 && !f.Done && f.src == nil }

// void marks the empty files that need not be examined again: they were still empty when a later file had content, so
// the scheduler no longer writes to them. If another process writes to one, the next listing shows that.
func (t *Tailer) void() {
	begun := false
	for _, files := range [][]*file{t.queue, t.files} {
		for _, f := range slices.Backward(files) {
			f.void = begun && f.untouched() && f.cand.st.size == 0
			begun = begun || f.bound && f.cand.begun
		}
	}
}

// order sorts the files into reading order, in a directory by name. Rotated files from which something was read keep
// the order in which their reading began, because a late line changes the modification time. Open files without a name
// also keep their place, because their last known name is out of date. Each other rotated file is placed after the last
// file that comes before it. Then order moves the unopened files at the end to the queue, and limits the list of
// finished files.
func (t *Tailer) order() {
	if t.dir {
		slices.SortStableFunc(t.files, func(a, b *file) int { return cmp.Compare(key(a.cand.path), key(b.cand.path)) })
	} else {
		t.orderRotated()
	}
	t.split()
	t.pruneFinished()
}

func (t *Tailer) orderRotated() {
	var fixed, others []*file
	for _, f := range t.files {
		f.refresh()
		if f.fixed() {
			fixed = append(fixed, f)
		} else {
			others = append(others, f)
		}
	}
	slices.SortStableFunc(fixed, func(a, b *file) int { return byLast(a.cand, b.cand) })
	slices.SortStableFunc(others, func(a, b *file) int { return byAge(a.cand, b.cand) })
	t.files = make([]*file, 0, len(t.files))
	for _, f := range others {
		n := len(fixed)
		for n > 0 && !fixed[n-1].before(f) {
			n--
		}
		t.files = append(append(t.files, fixed[:n]...), f)
		fixed = fixed[n:]
	}
	t.files = append(t.files, fixed...)
	for i, f := range t.files {
		f.place = i + 1
	}
}

// nameless reports whether f is held open although no name in the last listing leads to it.
func (f *file) nameless() bool { return !f.bound && f.src != nil }

// fixed reports whether f has a place in the reading order that it keeps.
func (f *file) fixed() bool { return f.place > 0 && !f.Done && (f.Offset > 0 || f.nameless()) }

// refresh reads the modification time of a file that is no longer listed.
func (f *file) refresh() {
	if f.nameless() {
		if st, err := f.src.Stat(); err == nil {
			f.cand.st.mtime = st.mtime
		}
	}
}

// before reports whether f, whose place is fixed, comes before o, whose place is not. At equal times the order is by
// name. But if f has no name any more, the former places decide, and a file without a former place comes later.
func (f *file) before(o *file) bool {
	if f.nameless() && byLast(f.cand, o.cand) == 0 && f.cand.st.mtime == o.cand.st.mtime {
		return o.place == 0 || f.place < o.place
	}
	return byAge(f.cand, o.cand) < 0
}

// pruneFinished limits the list of finished files. In a directory it drops all finished files, because Low records
// them. Of rotated files, at least the newest keepDone ones stay, so that they are remembered individually.
func (t *Tailer) pruneFinished() {
	if t.dir {
		t.pruneDir()
		return
	}
	excess := -keepDone
	unread := make(map[int64]bool)
	for _, f := range t.files {
		if f.Done {
			excess++
		} else if f.unread() {
			unread[f.cand.st.mtime] = true
		}
	}
	if excess <= 0 {
		return
	}
	// After a restart, a file that is in no checkpoint counts as finished unless it is newer than t.since. The queue is
	// sorted by time.
	all := len(t.queue) == 0 || t.queue[0].cand.last
	t.files = slices.DeleteFunc(t.files, func(f *file) bool {
		drop := f.Done && excess > 0 && !unread[f.Mtime] && !t.behind[straggler(f.Mtime)] &&
			(all || f.Mtime < t.queue[0].cand.st.mtime)
		if drop {
			t.since = max(t.since, f.Mtime)
			excess--
		}
		return drop
	})
}

func (t *Tailer) pruneDir() {
	n := 0
	for i, f := range t.files {
		if f.Done {
			n = i + 1
			t.low = max(t.low, key(f.cand.path))
			delete(t.behind, key(f.cand.path))
		}
	}
	i := 0
	t.files = slices.DeleteFunc(t.files, func(f *file) bool {
		i++
		return f.Done || i <= n && t.empty(f)
	})
}

// unread reports whether f is a predecessor with content that is in no checkpoint, because nothing was read from it.
func (f *file) unread() bool {
	return !f.Done && f.Offset == 0 && !f.cand.primary && f.cand.st.size > 0
}

// stragglers returns the files that Low or Since counts as finished although they could not be read when later ones
// were read.
func (t *Tailer) stragglers() map[string]bool {
	m := maps.Clone(t.behind)
	note := func(s string) {
		if m == nil {
			m = make(map[string]bool)
		}
		m[s] = true
	}
	for _, f := range t.files {
		if name := key(f.cand.path); t.dir && !f.Done && name <= t.low {
			note(name)
		} else if !t.dir && f.unread() && f.cand.st.mtime <= t.since {
			note(straggler(f.cand.st.mtime))
		}
	}
	return m
}

// straggler returns the key of a rotated file in t.behind: its modification time, which does not change when it is
// renamed or compressed. Finished files with the same time stay in t.files.
func straggler(mtime int64) string { return strconv.FormatInt(mtime, 10) }

// finishedBefore reports whether Since counts c as finished. In a directory, the listing has already left out the files
// that Low counts as finished.
func (t *Tailer) finishedBefore(c candidate) bool {
	return !t.dir && !c.primary && c.st.mtime <= t.since && !t.behind[straggler(c.st.mtime)]
}
