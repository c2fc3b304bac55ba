//go:build unix

package tail

import (
	"fmt"
	"io/fs"
	"syscall"
)

func statusOf(fi fs.FileInfo) (status, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return status{}, fmt.Errorf("%s: no device and inode from the file system", fi.Name())
	}
	return status{
		dev: uint64(st.Dev), ino: st.Ino, //nolint:unconvert,gosec // the type of Dev differs between systems
		size: fi.Size(), mtime: fi.ModTime().UnixNano(), mode: fi.Mode(),
	}, nil
}
