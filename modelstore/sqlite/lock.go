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
	// Path is the path of the database.
	Path string
	// PID and Command identify the process; 0 and "" if the process has not written them yet.
	PID     int
	Command string
	// Unnamed is true if the database itself is locked, but the lock file, which would name the process, was removed.
	Unnamed bool
}

// Error implements error.
func (e *LockedError) Error() string {
	const advice = "stop that process first, or choose another file for the database"
	switch {
	case e.Unnamed:
		return fmt.Sprintf("%s is in use by another process, whose lock file was removed (fuser %s names it): %s",
			e.Path, e.Path, advice)
	case e.PID == 0:
		return fmt.Sprintf("%s is in use by another process: %s", e.Path, advice)
	}
	return fmt.Sprintf("%s is in use by process %d (%s): %s", e.Path, e.PID, e.Command, advice)
}

// holder is the JSON content of the lock file while a process has the store open. An empty file means that the last
// process closed the store in order.
type holder struct {
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	// Boot is the id of the kernel's boot. If it differs from the present id, the process may have died in a power
	// cut.
	Boot string `json:"boot,omitempty"`
	// Suspect is true if damage was found, so that the next Open must check everything.
	Suspect bool `json:"suspect,omitempty"`
}

// lock is the advisory lock on the store. The kernel releases it when the process ends in any way. It locks three
// files: PATH.lock, the database and its WAL. PATH.lock names the holder, and is created before the database. The
// other two stay locked even if PATH.lock is removed. The store itself never removes PATH.lock.
type lock struct {
	path string // path of the database
	// last is the content that the previous holder left in PATH.lock; empty after an orderly Close.
	last holder

	mu   sync.Mutex // guards the fields below
	own  *heldFile  // own holds the lock on PATH.lock
	mine holder
	// database and wal are nil until they are locked.
	database, wal *heldFile
	watched       bool // watched is true if the database is open, so that its files must not be moved
}

// takeLock locks PATH.lock. holdFiles locks the files of the database.
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

// lockedBy returns an error that names the process that holds PATH.lock.
func lockedBy(dbPath string) *LockedError {
	locked := &LockedError{Path: dbPath}
	file, err := os.Open(dbPath + ".lock")
	if err != nil {
		return locked
	}
	defer func() { _ = file.Close() }() // nothing was written
	// If the process is dead, it left the content, and the new holder has not written its own content yet.
	if h := readHolder(file); h.PID != 0 && alive(h.PID) {
		locked.PID, locked.Command = h.PID, h.Command
	}
	return locked
}

// holdFiles locks the files of the database that exist and are not locked yet. SQLite must not have these files open.
// holdFiles returns a *LockedError if another process has locked one of them.
func (l *lock) holdFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.hold(&l.wal, l.path+"-wal"); err != nil {
		return err
	}
	return l.hold(&l.database, l.path)
}

// hold locks the file of the database that now has the given path, if there is one. If the lock holds another file that
// had this path before, hold first releases that file.
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

// watch starts to compare the files with their names. By this time SQLite has opened the database and created the WAL.
// SQLite has no POSIX locks on a WAL, so a descriptor of the WAL may be opened and closed at any time.
func (l *lock) watch() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.hold(&l.wal, l.path+"-wal"); err != nil {
		return err
	}
	l.watched = true
	return nil
}

// check returns a *modelstore.IdentityError if a file of the database was moved, removed or replaced.
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

// renew creates the lock file again if it was removed, and reports whether it did. The lock file names the holder for
// other processes. After a crash it shows that there was a holder.
func (l *lock) renew() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own.check() == nil {
		return false, nil
	}
	own, err := holdFile(l.own.path, os.O_CREATE)
	// Another process has locked the file for a moment, until it finds that the database is locked.
	if errors.Is(err, errHeld) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock file of the store: %w", err)
	}
	old := l.own
	l.own = own
	return true, errors.Join(old.release(), l.write(l.mine))
}

// dropFiles unlocks the files of the database. SQLite must not have these files open.
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

// claim writes this process as the holder into the lock file. It is called after the checks of the store. Until then
// the file still names the last holder: if this process dies during the checks, the next process sees that the checks
// are still needed.
func (l *lock) claim() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(l.mine)
}

// suspect records that damage was found.
func (l *lock) suspect() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mine.Suspect = true
	return l.write(l.mine)
}

// isSuspect reports whether damage was found.
func (l *lock) isSuspect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mine.Suspect
}

// release releases the lock. clean is true if the store was closed in order. A suspect store stays suspect.
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

// readHolder returns the holder that the lock file names. A file that cannot be parsed was left by a crash; the
// returned holder is then suspect, so that Open checks everything.
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

// bootID returns the id of the kernel's present boot. If it returns "", every death of a process is treated like a
// power cut.
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
