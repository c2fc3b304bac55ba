package postgres

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// long skips a slow test unless WAITCAST_LONG is set.
func long(t testing.TB) {
	t.Helper()
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("takes long: set WAITCAST_LONG=1")
	}
}

// smallDisk returns the folder of a file system of mib MiB in memory, which is removed at the end of the test.
func smallDisk(t testing.TB, mib int) string {
	t.Helper()
	long(t)
	dir, err := os.MkdirTemp("", "small-") // other users cannot enter t.TempDir
	must(t, err)
	t.Cleanup(func() { must(t, os.Remove(dir)) })
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("no user postgres: ", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,uid="+owner.Uid+",size="+strconv.Itoa(mib)+
		"m"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fillDisk writes a file of size bytes into dir, and returns a function that removes the file.
func fillDisk(t testing.TB, dir string, size int) func() {
	t.Helper()
	path := filepath.Join(dir, "filler")
	must(t, os.WriteFile(path, make([]byte, size), 0o600))
	return func() { must(t, os.Remove(path)) }
}
