package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stranger is a user and a group that own no file here.
var stranger = owner{65534, 65533}

func wantOwner(t *testing.T, want owner, files ...string) {
	t.Helper()
	for _, file := range files {
		info, err := os.Stat(file)
		must(t, err)
		if got, err := ownerOf(info); err != nil || got != want {
			t.Errorf("%s belongs to %+v, want %+v: %v", file, got, want, err)
		}
	}
}

// TestInheritOwner proves that if root creates and opens a store, all files belong to the owner of the folder or of the
// present database, and that files of others keep their owner. Without the option new files belong to root.
func TestInheritOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := tempPath(t)
	must(t, os.Chown(filepath.Dir(path), stranger.uid, stranger.gid))
	open := func(inherit bool, want owner) {
		t.Helper()
		s := mustOpen(t, path, Options{InheritOwner: inherit})
		must(t, s.SetMeta(t.Context(), "fingerprint", "f"))
		wantOwner(t, want, path, path+"-wal", path+"-shm", path+".lock")
		must(t, s.OwnerError())
		must(t, s.Close())
	}
	open(true, stranger)
	other := owner{65532, 65531}
	must(t, os.Chown(path, other.uid, other.gid))
	must(t, os.Remove(path+".lock"))
	open(true, other)
	must(t, os.Chown(path, 0, 0))
	must(t, mustOpen(t, path, Options{InheritOwner: true}).Close())
	wantOwner(t, other, path+".lock") // the file stays with its owner
	for _, file := range []string{path, path + ".lock"} {
		must(t, os.Remove(file))
	}
	open(false, owner{os.Getuid(), os.Getgid()})
}

// TestRestoreGivesAway proves that a database that root restores belongs, with its lock file, to the owner of the
// folder or of the replaced database, so that the daemon of that user can open it.
func TestRestoreGivesAway(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	backup, path := tempPath(t), tempPath(t)
	must(t, mustOpen(t, backup, Options{}).Close())
	must(t, os.Chown(filepath.Dir(path), stranger.uid, stranger.gid))
	restore := func(want owner) Restored {
		t.Helper()
		restored, err := Restore(t.Context(), backup, path, true, time.Now())
		must(t, err)
		if restored.Owner != nil {
			t.Errorf("the owner is wrong: %v", restored.Owner)
		}
		_, err = Describe(t.Context(), path)
		must(t, err)
		files, err := filepath.Glob(path + "*")
		must(t, err)
		if len(files) < 2 {
			t.Errorf("%v, want the database and its lock", files)
		}
		wantOwner(t, want, path, path+".lock")
		return restored
	}
	restore(stranger)
	other := owner{65532, 65531}
	must(t, os.Chown(path, other.uid, other.gid))
	aside := restore(other).Aside
	wantOwner(t, other, aside)
}

// TestGive proves that the error for a file that cannot be given away has its owner and the command that helps, and
// that a link in place of the file is not followed.
func TestGive(t *testing.T) {
	path := tempPath(t)
	must(t, os.WriteFile(path, nil, 0o600))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_SYNC, 0)
	must(t, err)
	defer func() { _ = file.Close() }() // nothing was written
	mine := owner{os.Getuid(), os.Getgid()}
	must(t, mine.give(file, path, path))
	if os.Getuid() != 0 { // root can give everything away
		if err := stranger.give(file, path, path); err == nil ||
			!strings.Contains(err.Error(), "chown 65534:65533 "+path) {
			t.Errorf("given to a stranger: %v", err)
		}
	}
	link := path + ".link"
	must(t, os.Symlink(path, link))
	if err := stranger.give(file, link, link); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("through a link: %v", err)
	}
	must(t, os.Link(path, path+".second"))
	if err := stranger.give(file, path, path); err == nil || !strings.Contains(err.Error(), "second name") {
		t.Errorf("with two names: %v", err)
	}
	info, err := os.Stat(path)
	must(t, err)
	if got, err := ownerOf(info); err != nil || got != mine {
		t.Errorf("the file belongs to %+v: %v", got, err)
	}
}

// TestBackupPathDenied proves that if a path cannot be looked up, the error is that of the look-up, not that the file
// exists.
func TestBackupPathDenied(t *testing.T) {
	path := tempPath(t)
	must(t, mustOpen(t, path, Options{}).Close())
	// A file in place of a folder cannot be entered by anybody, not even root.
	err := Backup(t.Context(), path, filepath.Join(path, "backup.db"))
	if err == nil || strings.Contains(err.Error(), "already") || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v, want the reason of the file system", err)
	}
	if err := Backup(t.Context(), path, path); err == nil || !strings.Contains(err.Error(), path+" exists already") {
		t.Errorf("%v, want that the file exists", err)
	}
}
