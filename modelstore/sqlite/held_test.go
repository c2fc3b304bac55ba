package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/waitcast/waitcast/modelstore"
)

// wantLost checks that an error names the change of a file.
func wantLost(t *testing.T, what string, err error, path string, change modelstore.FileChange) {
	t.Helper()
	lost, ok := errors.AsType[*modelstore.IdentityError](err)
	if !ok || lost.Path != path || lost.Change != change {
		t.Errorf("%s: %v; want that %s %s", what, err, path, change)
	}
}

// TestTakenAway proves that a database whose file is deleted, moved or replaced while it is open is no longer written
// but still read, and that no new connection creates the file again. Verify, Commit and Close report the change.
func TestTakenAway(t *testing.T) {
	other := tempPath(t)
	must(t, mustOpen(t, other, Options{}).Close())
	replace := func(path string) error {
		content, err := os.ReadFile(other)
		return errors.Join(err, os.WriteFile(path+".new", content, 0o640), os.Rename(path+".new", path))
	}
	for name, c := range map[string]struct {
		suffix string
		take   func(path string) error
		change modelstore.FileChange
	}{
		"deleted": {"", os.Remove, modelstore.Deleted},
		"moved":   {"", func(path string) error { return os.Rename(path, path+".old") }, modelstore.Moved},
		"linked, unlinked": {"", func(path string) error {
			return errors.Join(os.Link(path, path+".old"), os.Remove(path))
		}, modelstore.Moved},
		"folder moved": {"", func(path string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old")
		}, modelstore.Moved},
		"folder deleted": {"", func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
			modelstore.Deleted},
		"replaced": {"", replace, modelstore.Replaced}, "moved, replaced": {"", func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), replace(path))
		}, modelstore.Replaced},
		"folder unreachable": {"", func(path string) error {
			dir := filepath.Dir(path)
			// The folder becomes a link to itself.
			return errors.Join(os.Rename(dir, dir+".old"), os.Symlink(filepath.Base(dir), dir))
		}, modelstore.Unreachable},
		"WAL deleted": {"-wal", func(path string) error { return os.Remove(path + "-wal") }, modelstore.Deleted},
		"WAL moved": {"-wal", func(path string) error { return os.Rename(path+"-wal", path+".old") },
			modelstore.Moved},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "w.db")
			s := mustOpen(t, path, Options{})
			must(t, s.Commit(t.Context(), counted(1, 20)))
			must(t, s.Verify())
			must(t, c.take(path))
			wantLost(t, "Verify", s.Verify(), path+c.suffix, c.change)
			wantLost(t, "Commit", s.Commit(t.Context(), counted(21, 30)), path+c.suffix, c.change)
			wantLost(t, "SetMeta", s.SetMeta(t.Context(), "a", "b"), path+c.suffix, c.change)
			if last, err := s.LastSeq(t.Context()); err != nil || last != 20 {
				t.Errorf("the last event is %d, %v", last, err)
			}
			before, err := filepath.Glob(path + "*")
			must(t, err)
			manyReaders(t, s, path+c.suffix, c.change)
			after, err := filepath.Glob(path + "*")
			must(t, err)
			if fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("reading left the files %v instead of %v", after, before)
			}
			wantLost(t, "Close", s.Close(), path+c.suffix, c.change)
			must(t, s.Close())
		})
	}
}

// manyReaders takes up to ten connections for reading, more than are open already. It checks that one of the new
// connections is refused with an error that names the change of the file.
func manyReaders(t *testing.T, s *Store, path string, change modelstore.FileChange) {
	t.Helper()
	for range 10 {
		conn, err := s.read.Conn(t.Context())
		if err != nil {
			wantLost(t, "a new connection", err, path, change)
			return
		}
		defer func() { must(t, conn.Close()) }()
	}
	t.Error("ten connections were opened")
}

// TestMovedBack proves that a database that was moved is complete, because Close moves the content of its WAL into it,
// and that it is written again once it is moved back.
func TestMovedBack(t *testing.T) {
	path := tempPath(t)
	s := mustOpen(t, path, Options{})
	must(t, s.Commit(t.Context(), counted(1, 20)))
	must(t, os.Rename(path, path+".old"))
	wantLost(t, "Verify", s.Verify(), path, modelstore.Moved)
	must(t, os.Rename(path+".old", path))
	must(t, s.Verify())
	must(t, s.Commit(t.Context(), counted(21, 30)))
	must(t, os.Rename(path, path+".old"))
	wantLost(t, "Close", s.Close(), path, modelstore.Moved)
	moved := filepath.Join(t.TempDir(), "alone.db")
	must(t, os.Rename(path+".old", moved))
	checkCounted(t, moved, 0, 30)
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("a WAL of %d bytes waits for whatever is put in the place", info.Size())
	}
}

// TestInItsPlace proves that no change is reported for a database that was only written, linked, backed up, pruned or
// read, and that its path may be a symbolic link.
func TestInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link.db")
	must(t, os.Symlink(tempPath(t), path))
	target, err := os.Readlink(path)
	must(t, err)
	must(t, os.WriteFile(target, nil, 0o640))
	for round := range int64(3) {
		s := mustOpen(t, path, Options{})
		for n := range int64(5) {
			first := round*100 + n*20 + 1
			must(t, s.Commit(t.Context(), counted(first, first+19)))
			must(t, s.Verify())
		}
		must(t, os.Link(target, fmt.Sprint(target, round)))
		must(t, Backup(t.Context(), path, fmt.Sprint(target, "-backup", round)))
		_, err := s.Prune(t.Context(), time.Now(), round*100+50)
		must(t, err)
		must(t, s.DropSnapshots(t.Context()))
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Replay(canceled, 0, func(modelstore.Entry) error { return nil }); err == nil {
			t.Error("a canceled reading went on")
		}
		must(t, s.Verify())
		must(t, s.Close())
	}
}

// TestLockFileRemoved proves that a second process is refused even if the lock file was removed: by the lock on the
// database or, if the database was deleted or replaced, by that on its WAL. The files of the first process are not
// touched.
func TestLockFileRemoved(t *testing.T) {
	backup := tempPath(t)
	must(t, mustOpen(t, backup, Options{}).Close())
	for name, remove := range map[string]func(path string) error{
		"only that":         func(string) error { return nil },
		"database deleted":  os.Remove,
		"database replaced": func(path string) error { return os.Rename(backup, path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := tempPath(t)
			_, output, stop := startHelper(t, "hold", path)
			if !output.Scan() || output.Text() != "open" {
				t.Fatalf("the helper printed %q", output.Text())
			}
			must(t, os.Remove(path+".lock"))
			must(t, remove(path))
			for range 2 {
				s, err := Open(t.Context(), path, Options{})
				locked, ok := errors.AsType[*LockedError](err)
				if !ok || !locked.Unnamed || locked.Path != path {
					t.Errorf("opened beside a process that has it: %v", err)
				}
				if err == nil {
					must(t, s.Close())
				}
			}
			from := tempPath(t)
			must(t, mustOpen(t, from, Options{}).Close())
			if _, err := Restore(t.Context(), from, path, true, time.Now()); err == nil {
				t.Error("restored beside a process that has the database")
			} else if _, ok := errors.AsType[*LockedError](err); !ok {
				t.Errorf("restored beside a process that has the database: %v", err)
			}
			if found, err := filepath.Glob(path + ".[bc]*"); err != nil || len(found) > 0 {
				t.Errorf("set aside: %v %v", found, err)
			}
			if name == "only that" {
				stop()
				must(t, mustOpen(t, path, Options{}).Close())
			}
		})
	}
}

// TestLockFileRenewed proves that Verify creates a removed lock file again, and that this file names the holder.
func TestLockFileRenewed(t *testing.T) {
	path := tempPath(t)
	s := closing(t, mustOpen(t, path, Options{}))
	must(t, os.Remove(path+".lock"))
	must(t, s.Verify())
	_, err := Open(t.Context(), path, Options{})
	if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != os.Getpid() || locked.Unnamed {
		t.Errorf("the new lock file: %v", err)
	}
	must(t, s.Verify())
	must(t, s.SetMeta(t.Context(), "still", "works"))
}

// TestLockAfterSettingAside proves that a database that replaces a damaged one, and a restored one, are also locked.
func TestLockAfterSettingAside(t *testing.T) {
	path := tempPath(t)
	must(t, os.WriteFile(path, []byte("no database, but longer than a header: "+fmt.Sprint(make([]int, 100))), 0o640))
	s := closing(t, mustOpen(t, path, Options{}))
	if s.Recovered() == nil {
		t.Fatal("nothing was set aside")
	}
	must(t, s.Verify())
	must(t, os.Remove(path+".lock"))
	_, output, _ := startHelper(t, "hold", path)
	output.Scan()
	if want := (&LockedError{Path: path, Unnamed: true}).Error(); output.Text() != want {
		t.Errorf("a second process printed %q, want %q", output.Text(), want)
	}
	must(t, s.Verify())
}

// TestRacing starts many processes that open one database, while its lock file is removed all the time. It proves that
// no two processes have the database open at the same time.
func TestRacing(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that race: not with -short")
	}
	path := tempPath(t)
	const processes = 4
	ended := make(chan error, processes)
	var outputs [processes]*bufio.Scanner
	var all []*exec.Cmd
	for i := range processes {
		cmd, output, _ := startHelper(t, "race", path)
		outputs[i] = output
		all = append(all, cmd)
	}
	var reading sync.WaitGroup
	for i, output := range outputs {
		reading.Go(func() {
			text := ""
			for output.Scan() {
				text = output.Text()
			}
			err := all[i].Wait()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, text)
			}
			ended <- err
		})
	}
	removing := time.NewTicker(time.Millisecond)
	defer removing.Stop()
	for done := 0; done < processes; {
		select {
		case err := <-ended:
			must(t, err)
			done++
		case <-removing.C:
			if err := os.Remove(path + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	reading.Wait()
	s := closing(t, mustOpen(t, path, Options{}))
	if last, err := s.LastSeq(t.Context()); err != nil || last != processes*raceRounds {
		t.Errorf("the processes committed %d events together, %v; want %d", last, err, processes*raceRounds)
	}
}

// raceRounds is the number of times that each process of TestRacing opens the database.
const raceRounds = 8

// race opens the database again and again, checks that no other process has it, commits one event and closes it.
func race(path string) error {
	for done := 0; done < raceRounds; {
		s, err := Open(context.Background(), path, Options{})
		if _, ok := errors.AsType[*LockedError](err); ok {
			continue
		}
		if err != nil {
			return err
		}
		alone, err := os.OpenFile(path+".alone", os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("two processes have the database: %w", err)
		}
		last, err := s.LastSeq(context.Background())
		if err == nil {
			err = s.Commit(context.Background(), counted(last+1, last+1))
		}
		if err = errors.Join(err, s.Verify(), alone.Close(), os.Remove(path+".alone"), s.Close()); err != nil {
			return err
		}
		done++
	}
	return nil
}
