package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/waitcast/waitcast/modelstore"
)

// LockedError reports that another process has the store open.
type LockedError struct {
	// Path is the database.
	Path string
	// PID and Command name the process; 0 and "" if it has not written them yet.
	PID     int
	Command string
	// Unnamed reports that the lock file, which would name the process, was removed: the database itself is locked.
	Unnamed bool
}

// Error implements error.
func (e *LockedError) Error() string {
	const advice = "stop it first, or give this one its own path"
	switch {
	case e.Unnamed:
		return fmt.Sprintf("%s is in use by another process, whose lock file was removed (fuser %s names it): %s",
			e.Path, e.Path, advice)
	case e.PID == 0:
		return fmt.Sprintf("%s is in use by another process: %s", e.Path, advice)
	}
	return fmt.Sprintf("%s is in use by process %d (%s): %s", e.Path, e.PID, e.Command, advice)
}

// holder is the content of the lock file, as JSON, while a process has the store open. A file without content means
// that the last one closed it in order.
type holder struct {
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	// Boot is the kernel's boot id: a process that died under another one may have died by a power cut.
	Boot string `json:"boot,omitempty"`
	// Suspect means that damage was met, so that the next Open must look at everything.
	Suspect bool `json:"suspect,omitempty"`
}

// lock is the advisory lock on the store. The kernel drops it with the process, however that ends. It is on three
// files: on PATH.lock, which names the holder and exists before the database does, and on the database and its WAL,
// which stay locked when somebody removes PATH.lock. The store itself never removes PATH.lock.
type lock struct {
	path string // of the database
	// last is what the previous holder left behind; empty after an orderly Close.
	last holder

	mu   sync.Mutex // guards what follows
	own  *heldFile  // PATH.lock
	mine holder
	// database and wal are nil until they are held.
	database, wal *heldFile
	watched       bool // the database is open: its files must stay in their places
}

// takeLock locks PATH.lock. The files of the database are locked by holdFiles.
func takeLock(dbPath string) (*lock, error) {
	own, err := holdFile(dbPath+".lock", os.O_CREATE)
	switch {
	case errors.Is(err, errHeld):
		return nil, lockedBy(dbPath)
	case err != nil:
		return nil, fmt.Errorf("lock file of the store: %w", err)
	}
	return &lock{
		path: dbPath, own: own, last: readHolder(own.file),
		mine: holder{PID: os.Getpid(), Command: clip(strings.Join(os.Args, " "), 256), Boot: bootID()},
	}, nil
}

// lockedBy names the process that has PATH.lock.
func lockedBy(dbPath string) *LockedError {
	locked := &LockedError{Path: dbPath}
	file, err := os.Open(dbPath + ".lock")
	if err != nil {
		return locked
	}
	defer func() { _ = file.Close() }() // it was only read
	// otherwise left by a dead one; the new one has not written yet
	if h := readHolder(file); h.PID != 0 && alive(h.PID) {
		locked.PID, locked.Command = h.PID, h.Command
	}
	return locked
}

// holdFiles locks those files of the database that exist and are not locked yet. SQLite must not have them open. The
// error is a *LockedError if another process has one of them.
func (l *lock) holdFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.hold(&l.wal, l.path+"-wal"); err != nil {
		return err
	}
	return l.hold(&l.database, l.path)
}

// hold locks a file of the database, if it exists and is not the one that is held already.
func (l *lock) hold(to **heldFile, path string) error {
	if *to != nil {
		if (*to).check() == nil {
			return nil
		}
		if err := (*to).release(); err != nil {
			return err
		}
		*to = nil
	}
	held, err := holdFile(path, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errHeld):
		return &LockedError{Path: l.path, Unnamed: true}
	case err != nil:
		return fmt.Errorf("store: %w", err)
	}
	*to = held
	return nil
}

// watch begins the comparison of the files with their names. SQLite has the database open: it has made the WAL by now,
// or made it again. It has no POSIX locks on a WAL, so that this descriptor may be opened and closed at any time.
func (l *lock) watch() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.hold(&l.wal, l.path+"-wal"); err != nil {
		return err
	}
	l.watched = true
	return nil
}

// check returns an *modelstore.IdentityError if a file of the database is not in its place any more.
func (l *lock) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.database == nil {
		return nil
	}
	if err := l.database.check(); err != nil {
		return err
	}
	if !l.watched || l.wal == nil {
		return nil
	}
	err := l.wal.check()
	if lost, ok := errors.AsType[*modelstore.IdentityError](err); ok && lost.Change != modelstore.Unreachable {
		lost.Remedy = "stop the daemon, which moves what it holds into the database, and start it again"
	}
	return err
}

// renew makes the lock file again if it was removed, and reports whether it did. It names the holder to other
// processes, and after a crash it shows that there was one.
func (l *lock) renew() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own.check() == nil {
		return false, nil
	}
	own, err := holdFile(l.own.path, os.O_CREATE)
	if errors.Is(err, errHeld) { // by a process that is about to find the database locked
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock file of the store: %w", err)
	}
	old := l.own
	l.own = own
	return true, errors.Join(old.release(), l.write(l.mine))
}

// dropFiles unlocks the files of the database. SQLite must not have them open.
func (l *lock) dropFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, held := range []**heldFile{&l.database, &l.wal} {
		if *held != nil {
			errs = append(errs, (*held).release())
			*held = nil
		}
	}
	l.watched = false
	return errors.Join(errs...)
}

// claim writes who holds the lock. Until then the file has what the last holder left, so that a process which dies
// while it checks the store does not hide that there was something to check.
func (l *lock) claim() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(l.mine)
}

// suspect notes that damage was met.
func (l *lock) suspect() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mine.Suspect = true
	return l.write(l.mine)
}

// isSuspect reports whether damage was met.
func (l *lock) isSuspect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mine.Suspect
}

// release gives the lock back. clean is set if the store was closed in order; a suspect store stays suspect.
func (l *lock) release(clean bool) error {
	err := l.dropFiles()
	l.mu.Lock()
	defer l.mu.Unlock()
	if clean {
		err = errors.Join(err, l.write(holder{Suspect: l.mine.Suspect}))
	}
	return errors.Join(err, l.own.release())
}

func (l *lock) write(h holder) error {
	var data []byte
	if h != (holder{}) {
		var err error
		if data, err = json.Marshal(h); err != nil {
			return err
		}
	}
	if err := l.own.file.Truncate(0); err != nil {
		return fmt.Errorf("lock file of the store: %w", err)
	}
	if _, err := l.own.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("lock file of the store: %w", err)
	}
	return nil
}

// readHolder returns the holder named in the lock file. A file that cannot be understood was left by a crash: it counts
// as unclean.
func readHolder(file *os.File) holder {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<16))
	if err != nil {
		return holder{Suspect: true}
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return holder{}
	}
	var h holder
	if err := json.Unmarshal(data, &h); err != nil {
		return holder{Suspect: true}
	}
	return h
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// bootID returns the id of the running kernel's boot, "" where it has none: then every death counts as a power cut.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}
