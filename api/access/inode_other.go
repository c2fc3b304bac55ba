//go:build !unix

package access

import "io/fs"

// inode is unknown on this system.
func inode(fs.FileInfo) uint64 { return 0 }
