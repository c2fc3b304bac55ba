// Package testports gives tests consecutive ports for servers that cannot obtain a port from the kernel (Slurm, Grid
// Engine). Tests that run at the same time get different ports.
package testports

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The ports are used in blocks. They are below the range from which kernels choose ports for connections (from 32768
// on in Linux, net.ipv4.ip_local_port_range).
const (
	first, last = 12_000, 32_000
	block       = 32
)

// Take returns the first of n consecutive ports, at most 32, on which no program listens. Until the test ends, other
// processes that use this package get other ports.
func Take(t testing.TB, n int) int {
	t.Helper()
	if n > block {
		t.Fatalf("%d ports in a row: there are %d at most", n, block)
	}
	blocks := (last - first) / block
	for i := range blocks {
		at := first + (os.Getpid()+i)%blocks*block
		if release, ok := lock(t, at); ok {
			if free(at, n) {
				t.Cleanup(release)
				return at
			}
			release()
		}
	}
	t.Fatal("no free ports")
	return 0
}

// lock locks a block. It returns false if another test has locked it.
func lock(t testing.TB, at int) (release func(), ok bool) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("waitcast-test-ports-%d", at)),
		os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false // the file belongs to another user
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return nil, false
	}
	return func() { _ = f.Close() }, true
}

func free(at, n int) bool {
	for port := at; port < at+n; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // it does not wait
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}
