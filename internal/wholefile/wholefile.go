// Package wholefile writes files that appear whole or not at all: until the new content is complete, a file that had
// the name before stays as it was.
package wholefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File is a file that is being written. It has no name before Finish, so that nothing is left of it if the process is
// killed. On file systems without such files (NFS) it has a temporary name.
type File struct {
	*os.File
	path   string
	temp   string // temporary name; empty if there is none
	direct bool   // the name is not that of a regular file
}

// Create begins a file. A file that exists keeps its mode, a new one gets mode, restricted by the umask. Anything else
// that has the name (a device, a pipe) is written directly. Call Finish at the end.
func Create(path string, mode fs.FileMode) (*File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // the caller's user names it
		if err != nil {
			return nil, err
		}
		return &File{File: file, path: path, direct: true}, nil
	case err == nil:
		mode = info.Mode().Perm()
	}
	f := &File{path: path}
	if f.File, err = unnamed(filepath.Dir(path), mode); err != nil {
		f.temp = f.beside()
		f.File, err = os.OpenFile(f.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if inner := new(fs.PathError); errors.As(err, &inner) {
			inner.Path = path
		}
	}
	if err == nil && info != nil {
		err = f.Chmod(mode) // despite the umask
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// unnamed creates a file without a name in a folder.
func unnamed(dir string, mode fs.FileMode) (*os.File, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil, err // the file could not get its name
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil //nolint:gosec // a file descriptor is not negative
}

// beside returns an unused name in the folder of the file.
func (f *File) beside() string {
	return filepath.Join(filepath.Dir(f.path), "."+filepath.Base(f.path)+"-"+rand.Text()[:12])
}

// Finish gives the file its name if err is nil. Otherwise it removes the content, a file that had the name before stays
// unchanged, and Finish returns err.
func (f *File) Finish(err error) error {
	if f.direct {
		return errors.Join(err, f.Close())
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && f.temp == "" {
		err = f.name()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.temp, f.path)
	}
	if err != nil && f.temp != "" {
		err = errors.Join(err, os.Remove(f.temp))
	}
	return err
}

// name gives the file its temporary name.
func (f *File) name() error {
	temp := f.beside()
	from := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: temp, Err: err}
	}
	f.temp = temp
	return nil
}

// Write creates or replaces a file with what the function writes. After an error of the function, a file that had the
// name before is unchanged.
func Write(path string, mode fs.FileMode, write func(to io.Writer) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	return f.Finish(write(f))
}

// WriteBytes creates or replaces a file.
func WriteBytes(path string, mode fs.FileMode, content []byte) error {
	return Write(path, mode, func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	})
}
