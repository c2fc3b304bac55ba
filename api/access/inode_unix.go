//go:build unix

package access

import (
	"io/fs"
	"syscall"
)

// inode returns the number of a file, which distinguishes it from another file of the same name, size and time.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
