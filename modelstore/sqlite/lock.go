package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// LockedError says that another process has the store open.
type LockedError struct {
	// Path is the database.
	Path string
	// PID and Command name the process; 0 and "" if it has not said so yet.
	PID     int
	Command string
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another process: stop it first, or give this one its own path", e.Path)
	}
	return fmt.Sprintf("%s is in use by process %d (%s): stop it first, or give this one its own path", e.Path, e.PID, e.Command)
}

// holder is the content of the lock file, as JSON, while a process has the store open. A file without content means that
// the last one closed it in order.
type holder struct {
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	// Boot is the kernel's boot id: a process that died under another one may have died by a power cut.
	Boot string `json:"boot,omitempty"`
	// Suspect means that damage was met, so that the next Open must look at everything.
	Suspect bool `json:"suspect,omitempty"`
}

// lock is the advisory lock on the store. The kernel drops it with the process, however that ends. The file is never
// removed: a process that waits for a removed file would hold a lock that nobody else sees.
type lock struct {
	file *os.File
	mine holder
	// last is what the previous holder left behind; empty after an orderly Close.
	last holder
}

func takeLock(dbPath string) (*lock, error) {
	path := dbPath + ".lock"
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("lock file of the store: %w", readOnlyHint(err))
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	last := readHolder(file)
	if err != nil {
		_ = file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w: is the file system able to lock files (NFS without a lock service is not)?", path, err)
		}
		if last.PID != 0 && !alive(last.PID) { // left by a dead one; the new one has not written yet
			last = holder{}
		}
		return nil, &LockedError{Path: dbPath, PID: last.PID, Command: last.Command}
	}
	return &lock{
		file: file,
		last: last,
		mine: holder{PID: os.Getpid(), Command: clip(strings.Join(os.Args, " "), 256), Boot: bootID()},
	}, nil
}

// claim writes who holds the lock. Until then the file tells what the last holder left, so that a process which dies while it checks the
// store does not hide that there was something to check.
func (l *lock) claim() error { return l.write(l.mine) }

// suspect notes that damage was met.
func (l *lock) suspect() error {
	l.mine.Suspect = true
	return l.write(l.mine)
}

// release gives the lock back. clean says that the store was closed in order; a suspect store stays suspect.
func (l *lock) release(clean bool) error {
	var err error
	if clean {
		err = l.write(holder{Suspect: l.mine.Suspect})
	}
	// A child process between its fork and its exec still has the file open: closing alone would leave it locked for that long.
	return errors.Join(err, syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

func (l *lock) write(h holder) error {
	var data []byte
	if h != (holder{}) {
		var err error
		if data, err = json.Marshal(h); err != nil {
			return err
		}
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("lock file of the store: %w", err)
	}
	if _, err := l.file.WriteAt(data, 0); err != nil {
		return fmt.Errorf("lock file of the store: %w", err)
	}
	return nil
}

// readHolder returns what the lock file says. A file that cannot be understood was left by a crash: it counts as unclean.
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
