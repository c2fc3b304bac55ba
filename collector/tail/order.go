package tail

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// The table of known files is split: t.files holds what a position is known of
// and what is looked at now, t.queue the files after them, which were listed but
// never opened. What is done for each batch and each finished file looks at
// t.files alone, so that importing many old files takes time in proportion to
// their number.

// gather makes the table whole, for a look at the names.
func (t *Tailer) gather() {
	t.behind = t.stragglers()
	t.files = append(t.files, t.queue...)
	t.queue, t.queued = nil, 0
}

// split takes the files that were never opened off the end of the table.
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

// next moves the first file of the queue into the table.
func (t *Tailer) next() *file {
	for len(t.queue) > 0 {
		f := t.queue[0]
		t.queue[0], t.queue = nil, t.queue[1:]
		t.queued -= f.cand.st.size
		if !f.void { // the next listing will have it again
			t.files = append(t.files, f)
			return f
		}
	}
	return nil
}

// untouched: the file is known from a listing alone.
func (f *file) untouched() bool { return f.Offset == 0 && !f.Done && f.src == nil }

// void marks the empty files that need no second look: when one that comes later had begun, they were seen to be empty
// still, so the writer had left them. Should another process write to one, the next listing shows it.
func (t *Tailer) void() {
	begun := false
	for _, files := range [][]*file{t.queue, t.files} {
		for _, f := range slices.Backward(files) {
			f.void = begun && f.untouched() && f.cand.st.size == 0
			begun = begun || f.bound && f.cand.begun
		}
	}
}

// order puts the files in reading order. Files from which something was read
// keep the order in which they were begun: a modification time changes with a
// late line. So do those held open under no name, since their last name is out
// of date. Each of the others goes behind the last of those that come before it.
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

// nameless: f is held open, but the last listing had no name that leads to it.
func (f *file) nameless() bool { return !f.bound && f.src != nil }

// fixed: f has a place in the reading order, and keeps it.
func (f *file) fixed() bool { return f.place > 0 && !f.Done && (f.Offset > 0 || f.nameless()) }

// refresh reads the time of a file that is in no listing any longer.
func (f *file) refresh() {
	if f.nameless() {
		if st, err := f.src.Stat(); err == nil {
			f.cand.st.mtime = st.mtime
		}
	}
}

// before reports whether f, whose place is fixed, comes before o, whose place
// is not. Of two files of one instant the names decide, if f still has one; if
// not, their former places, and what had none is newer.
func (f *file) before(o *file) bool {
	if f.nameless() && byLast(f.cand, o.cand) == 0 && f.cand.st.mtime == o.cand.st.mtime {
		return o.place == 0 || f.place < o.place
	}
	return byAge(f.cand, o.cand) < 0
}

// pruneFinished bounds the list of finished files: in a directory a low-water
// mark is enough, of rotated ones the newest are known one by one.
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
	// After a restart a file that no checkpoint holds would be taken for finished
	// if it were not newer than t.since. The queue is in order of time.
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

// unread: f is a predecessor that no checkpoint holds.
func (f *file) unread() bool {
	return !f.Done && f.Offset == 0 && !f.cand.primary && f.cand.st.size > 0
}

// stragglers are the files which low or since would take for finished, though
// they could not be read when later ones were.
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

// straggler is the mark of a rotated file in t.behind: its time, which stays when
// it is renamed or compressed. Finished files of the same time stay in t.files.
func straggler(mtime int64) string { return strconv.FormatInt(mtime, 10) }

// finishedBefore: c was read in a time of which only low or since is remembered.
func (t *Tailer) finishedBefore(c candidate) bool {
	return !t.dir && !c.primary && c.st.mtime <= t.since && !t.behind[straggler(c.st.mtime)]
}
