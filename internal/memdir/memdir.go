// Package memdir puts the temporary files of tests in memory. A database syncs at every commit, which takes some
// milliseconds on a disk. Tests that commit thousands of times would mostly wait for the disk. They do not need one,
// because they kill processes, not machines.
package memdir

import (
	"os"
	"syscall"
)

// dir is the folder of Linux's file system in memory.
const dir = "/dev/shm"

const (
	tmpfs = 0x01021994 // TMPFS_MAGIC of linux/magic.h
	least = 4 << 30    // minimum free space in bytes
)

// Use makes this process create its temporary folders in memory, unless TMPDIR is set or there is too little free
// memory. TestMain calls it.
func Use() {
	if os.Getenv("TMPDIR") == "" && roomy(dir) {
		_ = os.Setenv("TMPDIR", dir) // fails only for invalid names and values
	}
}

// roomy reports whether a folder is in memory and has enough free space.
func roomy(path string) bool {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil || s.Type != tmpfs {
		return false
	}
	return s.Bavail*uint64(s.Bsize) >= least //nolint:gosec // a size of blocks is positive
}
