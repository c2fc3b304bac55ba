package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// DefaultSocket is the Unix socket of a daemon that runs under systemd. Callers on it need no token.
const DefaultSocket = "/run/waitcast/api.sock"

// SocketAnswers reports whether a program listens on a Unix socket.
func SocketAnswers(path string) bool {
	if info, err := os.Stat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// overSocket returns a client with the settings of another client. The returned client connects to a Unix socket,
// whatever the address.
func overSocket(like *http.Client, path string) (*http.Client, error) {
	change := func(t *http.Transport) *http.Transport {
		t = t.Clone()
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
		return t
	}
	out := *like
	switch t := like.Transport.(type) {
	case nil:
		out.Transport = change(&http.Transport{})
	case *http.Transport:
		out.Transport = change(t)
	case *munged: // no credential is needed, because the kernel reports the user of a socket
		return overSocket(&http.Client{
			Transport: t.next, CheckRedirect: like.CheckRedirect, Jar: like.Jar, Timeout: like.Timeout,
		}, path)
	case *bearer:
		out.Transport = &bearer{change(t.next), t.token}
	default:
		return nil, errors.New("a Unix socket needs an http.Client with an http.Transport")
	}
	return &out, nil
}
