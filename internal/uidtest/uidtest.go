//go:build linux

// Package uidtest lets tests connect to Unix sockets as other users.
package uidtest

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Dial connects to a Unix socket as another user, which only root can do. Only a separate thread changes its user.
// The connection is closed when the test ends.
func Dial(t testing.TB, path string, uid int) net.Conn {
	t.Helper()
	type dialed struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialed)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		if uid != os.Getuid() {
			if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); no != 0 {
				done <- dialed{nil, no}
				return
			}
		}
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path) // runs in this thread
		done <- dialed{conn, err}
	}()
	out := <-done
	if out.err != nil {
		t.Fatal(out.err)
	}
	t.Cleanup(func() { _ = out.conn.Close() })
	return out.conn
}
