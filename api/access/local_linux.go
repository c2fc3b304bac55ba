package access

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID returns the user of the process that opened the other end of a Unix socket, as of the time of opening
// (SO_PEERCRED, see unix(7)).
func peerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return peer.Uid, nil
}
