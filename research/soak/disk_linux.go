package soak

import (
	"fmt"
	"syscall"
)

// disk is a file system in memory.
type disk struct{ dir string }

const roomy = "size=12g"

func mountSmall(dir string) (*disk, error) {
	if err := syscall.Mount("waitcast-soak", dir, "tmpfs", 0, roomy); err != nil {
		return nil, err
	}
	return &disk{dir}, nil
}

// full reduces the file system to little more than the used space.
func (d *disk) full() error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &s); err != nil {
		return err
	}
	used := (int64(s.Blocks) - int64(s.Bfree)) * s.Bsize
	return d.remount(0, fmt.Sprintf("size=%d", used+16*s.Bsize))
}

// room makes the file system large and writable again.
func (d *disk) room() error { return d.remount(0, roomy) }

// readOnly makes the file system read-only. No file may be open for writing.
func (d *disk) readOnly() error { return d.remount(syscall.MS_RDONLY, roomy) }

func (d *disk) remount(flags uintptr, options string) error {
	if err := syscall.Mount("waitcast-soak", d.dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		return fmt.Errorf("remounting %s with %s: %w", d.dir, options, err)
	}
	return nil
}

func (d *disk) unmount() error { return syscall.Unmount(d.dir, 0) }
