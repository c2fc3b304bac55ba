//go:build !linux

package soak

import "errors"

// disk stands for a file system in memory, which only Linux has. All methods return an error.
type disk struct{}

func mountSmall(string) (*disk, error) { return nil, errors.ErrUnsupported }

func (*disk) full() error     { return errors.ErrUnsupported }
func (*disk) room() error     { return errors.ErrUnsupported }
func (*disk) readOnly() error { return errors.ErrUnsupported }
func (*disk) unmount() error  { return errors.ErrUnsupported }
