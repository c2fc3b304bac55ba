package tail

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// candidate is a file that a listing found and that matches the configuration.
type candidate struct {
	path    string
	st      status
	primary bool // Path leads to this file
	last    bool // Path is the file itself, not a symbolic link to it, so that no other file is newer
	begun   bool // it was not empty in the previous listing
}

// key returns the name by which files of a directory are ordered.
func key(path string) string { return strings.TrimSuffix(filepath.Base(path), gzipSuffix) }

// listing is one listing of the files. bad has the problems of configured paths that cannot be used.
type listing struct {
	files []candidate
	bad   []Problem
	torn  bool // a name disappeared during the listing, so that its file may be missing here
}

func (l *listing) same(o *listing) bool {
	return !l.torn && slices.EqualFunc(l.files, o.files, func(a, b candidate) bool {
		return a.path == b.path && a.st.id() == b.st.id()
	})
}

// scanListing lists until two listings agree, at most nine times. A listing in the middle of a chain of renames can
// miss a file, or see it twice.
func (t *Tailer) scanListing() listing {
	now := t.list()
	if now.same(&t.listed) {
		now.after(&t.listed)
		return now
	}
	for range 8 {
		again := t.list()
		if again.same(&now) {
			again.after(&now)
			return again
		}
		now = again
	}
	return now
}

// after sets the field begun of each file by the file's size in former, an earlier listing of the same files.
func (l *listing) after(former *listing) {
	for i := range l.files {
		l.files[i].begun = former.files[i].st.size > 0
	}
}

func (t *Tailer) list() listing {
	t.work.listings++
	if t.dir {
		return t.listDir()
	}
	return t.listFile()
}

func (t *Tailer) listDir() listing {
	var l listing
	names, err := t.readNames(t.cfg.Path)
	if err != nil {
		l.bad = append(l.bad, pathProblem(t.cfg.Path, err))
		return l
	}
	for _, name := range names {
		if t.matches(t.cfg.Pattern, name) && (key(name) > t.low || t.behind[key(name)]) {
			t.add(&l, filepath.Join(t.cfg.Path, name))
		}
	}
	l.dropDuplicates(func(a, b candidate) int { return cmp.Compare(key(a.path), key(b.path)) })
	return l
}

func (t *Tailer) listFile() listing {
	var l listing
	st, err := t.stat(t.cfg.Path)
	switch {
	case err != nil:
		l.bad = append(l.bad, pathProblem(t.cfg.Path, err))
	case st.mode.IsDir():
		l.bad = append(l.bad, Problem{Path: t.cfg.Path, Reason: IsDirectory,
			Err: errors.New("a file is expected; for a directory of date-named files set a pattern")})
	case !st.mode.IsRegular():
		l.bad = append(l.bad,
			Problem{Path: t.cfg.Path, Reason: NotRegular, Err: fmt.Errorf("it is %s", st.mode.Type())})
	default:
		l.files = append(l.files, candidate{path: t.primaryPath(), st: st, primary: true, last: !isLink(t.cfg.Path)})
	}
	for dir, patterns := range t.places() {
		names, err := t.readNames(dir)
		if err != nil {
			continue // the directory of rotated files may come later
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			if path != t.cfg.Path && slices.ContainsFunc(patterns, func(p string) bool { return t.matches(p, name) }) {
				t.add(&l, path)
			}
		}
	}
	t.former(&l)
	l.dropDuplicates(byAge)
	return l
}

// former adds the unfinished known files that match no pattern but still exist under their names. The former target of
// a symbolic link may be such a file.
func (t *Tailer) former(l *listing) {
	have := make(map[string]bool, len(l.files))
	for _, c := range l.files {
		have[c.path] = true
	}
	for _, f := range t.files {
		if !f.Done && f.src == nil && !have[f.Path] {
			if st, err := t.stat(f.Path); err == nil && st.id() == f.id() {
				t.add(l, f.Path)
			}
		}
	}
}

// primaryPath returns Path, or its target if it is a symbolic link.
func (t *Tailer) primaryPath() string {
	if real, err := filepath.EvalSymlinks(t.cfg.Path); err == nil {
		return real
	}
	return t.cfg.Path
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// places returns the directories of the rotated files and the patterns in them.
func (t *Tailer) places() map[string][]string {
	m := make(map[string][]string)
	for _, p := range t.cfg.Rotated {
		m[filepath.Dir(p)] = append(m[filepath.Dir(p)], filepath.Base(p))
	}
	return m
}

// matches reports whether a name, or the name without its compression suffix, matches a pattern.
func (t *Tailer) matches(pattern, name string) bool {
	ok, err := filepath.Match(pattern, name)
	if err == nil && !ok {
		ok, err = filepath.Match(pattern, strings.TrimSuffix(name, gzipSuffix))
	}
	return ok && err == nil
}

func (t *Tailer) add(l *listing, path string) {
	t.work.stats++
	st, err := t.stat(path)
	if err == nil && st.mode.IsRegular() {
		l.files = append(l.files, candidate{path: path, st: st})
	} // all other files are no logs, or were renamed meanwhile
	l.torn = l.torn || errors.Is(err, fs.ErrNotExist) && !isLink(path)
}

// dropDuplicates orders the files. It drops second names of one file, and compressed files whose original is still
// there (gzip is writing them).
func (l *listing) dropDuplicates(order func(a, b candidate) int) {
	slices.SortStableFunc(l.files, order)
	plain := make(map[string]bool, len(l.files))
	for _, c := range l.files {
		plain[c.path] = true
	}
	seen := make(map[id]bool, len(l.files))
	for _, c := range l.files {
		seen[c.st.id()] = seen[c.st.id()] || c.primary
	}
	l.files = slices.DeleteFunc(l.files, func(c candidate) bool {
		if isGzip(c.path) && plain[strings.TrimSuffix(c.path, gzipSuffix)] {
			return true
		}
		if seen[c.st.id()] && !c.primary {
			return true
		}
		seen[c.st.id()] = true
		return false
	})
}

// byAge orders files by age, with the file named Path last. If Path is a symbolic link, its target is not necessarily
// last: the scheduler may already write to the next file when the link is switched.
func byAge(a, b candidate) int {
	return cmp.Or(byLast(a, b), cmp.Compare(a.st.mtime, b.st.mtime), byName(a.path, b.path))
}

func byLast(a, b candidate) int {
	switch {
	case a.last == b.last:
		return 0
	case a.last:
		return 1
	}
	return -1
}

// byName orders rotated files of one instant: log.2 is older than log.1, and log-20261119 is older than log-20261120.
// Numbered files come before all others.
func byName(a, b string) int {
	na, nb := number(a), number(b)
	return cmp.Or(cmp.Compare(nb, na), cmp.Compare(key(a), key(b)), cmp.Compare(a, b))
}

// number returns the rotation number at the end of a name, -1 if there is none. Numbers of more than five digits are
// dates, for which it returns -1 too.
func number(path string) int {
	ext := strings.TrimPrefix(filepath.Ext(key(path)), ".")
	n, err := strconv.Atoi(ext)
	if err != nil || len(ext) > 5 || n < 0 {
		return -1
	}
	return n
}

func (t *Tailer) readNames(dir string) ([]string, error) {
	t.access("names")
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// pathProblem returns the reason why a path cannot be used.
func pathProblem(path string, err error) Problem {
	if errors.Is(err, fs.ErrNotExist) {
		return Problem{Path: path, Reason: Missing, Err: err}
	}
	return Problem{Path: path, Reason: Unreadable, Err: err}
}
