package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// owner is the user and the group that own a file.
type owner struct{ uid, gid int }

// ownerFor returns the owner that a new database at path must have so that the daemon can open it: that of the present
// database, otherwise that of the folder.
func ownerFor(path string) (owner, error) {
	for _, place := range []string{path, path + "-wal", filepath.Dir(path)} {
		if info, err := os.Stat(place); err == nil {
			return ownerOf(info)
		}
	}
	return owner{}, fmt.Errorf("the owner of %s cannot be read", filepath.Dir(path))
}

func ownerOf(info os.FileInfo) (owner, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}, fmt.Errorf("the owner of %s is unknown", info.Name())
	}
	return owner{int(stat.Uid), int(stat.Gid)}, nil
}

// giveAway gives an open file at path to the owner of the store (Options.InheritOwner), unless it belongs to another
// user than that of the process.
func (s *Store) giveAway(file *os.File, path string) {
	if s.owned == nil {
		return
	}
	info, err := file.Stat()
	if err == nil {
		var now owner
		if now, err = ownerOf(info); err == nil && now.uid == os.Geteuid() {
			err = s.owned.give(file, path, path)
		}
	}
	s.notGiven = errors.Join(s.notGiven, err)
}

// OwnerError returns the error of changing the owner of a file of the store (Options.InheritOwner). It returns nil if
// the files have the right owner.
func (s *Store) OwnerError() error { return s.notGiven }

// give changes the owner of an open file at path to o. name is the name of the file for messages. A user who may write
// to the folder could have replaced the file by a link to another file. So give uses the descriptor, and does not
// change a file that has a second name or is no longer at path.
func (o owner) give(file *os.File, name, path string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	now, err := ownerOf(info)
	if err != nil || now == o {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	named, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !ok || !os.SameFile(named, info) || !info.Mode().IsRegular() || stat.Nlink > 1 {
		return fmt.Errorf("%s is a link, or has a second name: it keeps its owner, user %d", path, now.uid)
	}
	if err := file.Chown(o.uid, o.gid); err != nil {
		return fmt.Errorf("%s belongs to user %d and group %d, and cannot be given to user %d and group %d: %w; if "+
			"the daemon runs as another user, run as root: chown %d:%d %s", name, now.uid, now.gid, o.uid, o.gid, err,
			o.uid, o.gid, name)
	}
	return nil
}
