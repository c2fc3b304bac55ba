// Package notifytest replaces the service manager in tests. It receives the messages of sd_notify(3).
package notifytest

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Listen creates a socket, sets $NOTIFY_SOCKET to its path, empties $WATCHDOG_USEC and $WATCHDOG_PID, and returns the
// received messages.
func Listen(t testing.TB) <-chan string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") // a short path: the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "")
	t.Setenv("WATCHDOG_PID", "")
	return At(t, path)
}

// At creates the socket at an unused path. It returns the messages that are received until the test ends.
func At(t testing.TB, path string) <-chan string {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	messages, ended := make(chan string, 10_000), make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			messages <- string(buffer[:n])
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	return messages
}
