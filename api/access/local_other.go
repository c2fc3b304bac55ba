//go:build !linux

package access

import (
	"errors"
	"net"
)

// peerUID always fails: on this system the user at the other end of a socket cannot be queried.
func peerUID(*net.UnixConn) (uint32, error) { return 0, errors.ErrUnsupported }
