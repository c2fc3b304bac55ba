package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waitcast/waitcast/modelstore"
)

// TestBackupLive proves that a backup that is made while another process commits has the state of one moment, can be
// opened, and does not disturb the process.
func TestBackupLive(t *testing.T) {
	path := tempPath(t)
	cmd, output, _ := startHelper(t, "commit", path)
	for range 5 {
		if !output.Scan() {
			t.Fatal("the helper ended")
		}
	}
	dir := t.TempDir()
	for n := range 2 {
		to := filepath.Join(dir, fmt.Sprint("backup", n))
		must(t, Backup(t.Context(), path, to))
		checkCounted(t, to, n, 1)
		if err := Backup(t.Context(), path, to); err == nil {
			t.Error("a backup was written over")
		}
		if !output.Scan() {
			t.Fatal("the helper ended: the backup disturbed it")
		}
	}
	info, err := Describe(t.Context(), path)
	must(t, err)
	if want := fmt.Sprint("process ", cmd.Process.Pid); !strings.Contains(info.Spaces[0].Holder, want) ||
		info.Spaces[0].LastSeq == 0 || info.Schema != info.Known {
		t.Errorf("the info is %+v", info)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	info, err = Describe(t.Context(), path)
	must(t, err)
	if info.Spaces[0].Holder != "" {
		t.Errorf("a dead process is told to hold it: %+v", info)
	}
	checkCounted(t, path, 0, 1)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("the backups left %v", left)
	}
}

// TestRelativePaths proves that a store in a folder with a relative path is opened, backed up and described. (In a
// file: URI a host comes before the path.)
func TestRelativePaths(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("data", 0o700))
	path := filepath.Join("data", "a.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, s.Close())
	must(t, Backup(t.Context(), path, filepath.Join("data", "b.db")))
	_, err = Describe(t.Context(), filepath.Join("data", "b.db"))
	must(t, err)
}

// TestRestore proves that a backup is restored completely, that a store is not replaced while it is in use or without
// permission, that a replaced store is kept, and that a damaged backup is refused.
func TestRestoreOfAPipe(t *testing.T) {
	pipe := tempPath(t)
	must(t, syscall.Mkfifo(pipe, 0o600))
	if _, err := Restore(t.Context(), pipe, tempPath(t), false, time.Now()); err == nil {
		t.Error("a pipe was restored")
	}
}

func TestRestore(t *testing.T) {
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	path, backup, to := tempPath(t), tempPath(t), filepath.Join(t.TempDir(), "new", "w.db")
	s := mustOpen(t, path, Options{})
	must(t, s.Commit(t.Context(), counted(1, 30)))
	must(t, Backup(t.Context(), path, backup))
	must(t, s.Commit(t.Context(), modelstore.Batch{Entries: counted(31, 40).Entries}))
	if _, err := Restore(t.Context(), backup, path, true, now); err == nil {
		t.Fatal("a store in use was replaced")
	} else if _, ok := errors.AsType[*LockedError](err); !ok {
		t.Errorf("a store in use gave %v", err)
	}
	must(t, s.Close())
	if _, err := Restore(t.Context(), backup, path, false, now); err == nil {
		t.Fatal("a store was replaced unasked")
	}
	restored, err := Restore(t.Context(), backup, to, false, now)
	must(t, err)
	checkCounted(t, to, 0, 30)
	if restored != (Restored{}) {
		t.Errorf("%+v, want nothing moved and the right owner", restored)
	}
	restored, err = Restore(t.Context(), backup, path, true, now)
	must(t, err)
	aside := restored.Aside
	if want := path + ".before-20250102T030405Z"; aside != want {
		t.Errorf("the old store is in %s, want %s", aside, want)
	}
	checkCounted(t, path, 0, 30)
	old := closing(t, mustOpen(t, aside, Options{}))
	if last, err := old.LastSeq(t.Context()); err != nil || last != 40 {
		t.Errorf("the old store ends at %d, %v", last, err)
	}

	content, err := os.ReadFile(backup)
	must(t, err)
	if !bytes.Contains(content, []byte("user1")) {
		t.Fatal("the backup has no user1")
	}
	damaged := tempPath(t)
	must(t, os.WriteFile(damaged, bytes.ReplaceAll(content, []byte("user1"), []byte("user9")), 0o640))
	for name, from := range map[string]string{"damaged": damaged, "no database": exeOf(t), "missing": tempPath(t)} {
		to := tempPath(t)
		if _, err := Restore(context.Background(), from, to, false, now); err == nil {
			t.Errorf("a %s backup was restored", name)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("a %s backup left a store", name)
		}
	}
}

// exeOf returns the path of a file that is no database: the test binary.
func exeOf(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return exe
}
