//go:build !linux

package soak

import "errors"

// disk is a file system in memory, which is available only on Linux.
type disk struct{}

func mountSmall(string) (*disk, error) { return nil, errors.ErrUnsupported }

func (*disk) full() error     { return errors.ErrUnsupported }
func (*disk) room() error     { return errors.ErrUnsupported }
func (*disk) readOnly() error { return errors.ErrUnsupported }
func (*disk) unmount() error  { return errors.ErrUnsupported }
