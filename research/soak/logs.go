package soak

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Styles returns the ways in which the log can be rotated, the values of Options.Style. With mixed the log is one file,
// which is renamed and sometimes compressed or written for a while longer, or which is copied and truncated. With dated
// it is a folder with a file for each date.
func Styles() []string { return []string{"mixed", "dated"} }

// rotation counts the rotations of the log by their kind.
type rotation struct{ Renamed, Zipped, Held, Copied, Dated int }

func (r rotation) String() string {
	return fmt.Sprintf("%d renamed, %d compressed, %d held open, %d copied and truncated, %d dated", r.Renamed,
		r.Zipped, r.Held, r.Copied, r.Dated)
}

// logs is the log on disk.
type logs struct {
	path  string // path that the daemon follows
	dated bool
	rng   *rand.Rand
	file  *os.File
	// held is set while the writer still writes into a renamed file: it opens a new file after this number of writes
	// that end with a whole line. It is 0 otherwise.
	held  int
	last  string // the file that was rotated last
	count rotation
	bytes int64
}

// newLogs begins a log in the folder dir. style is one of Styles.
func newLogs(dir, style string, seed uint64) (*logs, error) {
	l := &logs{path: filepath.Join(dir, "accounting"), dated: style == "dated", rng: rand.New(rand.NewPCG(seed, 6))}
	if style != "dated" && style != "mixed" {
		return nil, fmt.Errorf("style %q: want one of %q", style, Styles())
	}
	if l.dated {
		return l, os.MkdirAll(l.path, 0o755)
	}
	return l, errors.Join(os.MkdirAll(dir, 0o755), l.open(l.path))
}

func (l *logs) open(path string) (err error) {
	if err := l.close(); err != nil {
		return err
	}
	l.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return err
}

func (l *logs) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// end closes the log. If the writer still writes into a renamed file, end first creates the file with the log's name,
// because a daemon reports a log that is missing for long.
func (l *logs) end() error {
	if l.held > 0 {
		l.held = 0
		if err := l.open(l.path); err != nil {
			return err
		}
	}
	return l.close()
}

// write appends text to the log, if the log is open. Each call is one piece by which a reader sees the log grow.
func (l *logs) write(text []byte) error {
	if l.file == nil {
		return nil
	}
	n, err := l.file.Write(text)
	l.bytes += int64(n)
	if whole := len(text) > 0 && text[len(text)-1] == '\n'; l.held > 0 && whole && err == nil {
		if l.held--; l.held == 0 {
			err = l.open(l.path)
		}
	}
	return err
}

// rotate rotates the log. day is in the name of the rotated file, or of the new file of a dated log.
func (l *logs) rotate(day time.Time) error {
	if l.held > 0 {
		l.held = 0
		if err := l.open(l.path); err != nil {
			return err
		}
	}
	if l.dated {
		l.count.Dated++
		return l.open(filepath.Join(l.path, day.Format("20060102")))
	}
	to := l.path + "-" + day.Format("20060102")
	before := l.last
	l.last = to
	switch l.rng.IntN(4) {
	case 0:
		l.count.Copied++
		return l.copyTruncate(to)
	case 1:
		l.count.Held++
		l.held = 1 + l.rng.IntN(3)
		return os.Rename(l.path, to)
	case 2:
		if before != "" {
			l.count.Zipped++
			if err := zip(before); err != nil {
				return err
			}
		}
	}
	l.count.Renamed++
	return errors.Join(os.Rename(l.path, to), l.open(l.path))
}

func (l *logs) copyTruncate(to string) error {
	if err := copyFile(l.path, to); err != nil {
		return err
	}
	return l.file.Truncate(0)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// zip replaces a file by a compressed one, as logrotate does: the compressed file has the time of the original.
func zip(path string) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(path+".gz", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err := errors.Join(err, z.Close(), out.Close(),
		os.Chtimes(path+".gz", info.ModTime(), info.ModTime())); err != nil {
		return err
	}
	return os.Remove(path)
}
