package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/waitcast/waitcast/modelstore"
)

// errHeld means that another process, or another Store of this process, has locked the file.
var errHeld = errors.New("locked by another process")

// heldFile is a file that is kept open and locked with flock. The lock belongs to the file, even if the file is
// renamed. The open descriptor allows a later check whether the name still leads to that file.
//
// If a process closes any descriptor of a file, all POSIX locks of the process on that file are released, and SQLite
// uses POSIX locks. So open the heldFile of a database before SQLite opens the database, and release the heldFile
// after SQLite has closed the database.
type heldFile struct {
	path string
	file *os.File
	info os.FileInfo // has the device and the inode
}

// holdTries is the maximum number of attempts of holdFile. holdFile repeats an attempt if the file was replaced
// between opening and locking.
const holdTries = 100

// holdFile opens and locks a file. flags are added to os.O_RDWR. It returns errHeld if another holder has the lock.
func holdFile(path string, flags int) (*heldFile, error) {
	for range holdTries {
		file, err := os.OpenFile(path, os.O_RDWR|flags, 0o640)
		if err != nil {
			return nil, readOnlyHint(err)
		}
		held, err := lockFile(path, file)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if held.check() == nil {
			return held, nil
		}
		if err := held.release(); err != nil {
			return nil, err
		}
	}
	return nil,
		fmt.Errorf("%s is replaced again and again while it is being locked: find out which program does that", path)
}

// lockFile locks an open file.
func lockFile(path string, file *os.File) (*heldFile, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errHeld
	case err != nil:
		return nil,
			fmt.Errorf("lock %s: %w: is the file system able to lock files (NFS without a lock service is not)?", path,
				err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &heldFile{path: path, file: file, info: info}, nil
}

// release unlocks and closes the file. Closing alone would not suffice: a child process between fork and exec still
// has the file open and would keep the lock for that long.
func (h *heldFile) release() error {
	return errors.Join(syscall.Flock(int(h.file.Fd()), syscall.LOCK_UN), h.file.Close())
}

// check returns a *modelstore.IdentityError if the file's name now leads to another file or to none.
func (h *heldFile) check() error {
	named, err := os.Stat(h.path)
	if err == nil && os.SameFile(h.info, named) {
		return nil
	}
	lost := &modelstore.IdentityError{Path: h.path, Change: modelstore.Replaced, Remedy: remedy}
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		lost.Change, lost.Reason = modelstore.Unreachable, errors.Unwrap(err)
		lost.Remedy = "make it and the folders above it readable again"
	case h.links() == 0:
		lost.Change = modelstore.Deleted
	default:
		lost.Change = modelstore.Moved
		lost.Remedy = "move it back, or stop the daemon, put it where it belongs, and start it again"
	}
	return lost
}

// remedy is the advice for the case that the opened file cannot be put back.
const remedy = "stop the daemon, put the right file there or restore a backup (waitcast store restore), " +
	"and start it again"

// links returns the number of hard links of the file, in any folder.
func (h *heldFile) links() uint64 {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(h.file.Fd()), &stat); err != nil {
		return 0
	}
	return uint64(stat.Nlink) //nolint:unconvert // it has fewer bits on arm64
}
