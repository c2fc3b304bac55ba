//go:build !unix

package access

import "io/fs"

// inode returns 0: inode numbers are unknown on this system.
func inode(fs.FileInfo) uint64 { return 0 }
