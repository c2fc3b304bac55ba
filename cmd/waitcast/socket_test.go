package main

import (
	"bytes"
	"net"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// TestDefaultSocket proves that the command uses the socket of this host if a daemon listens there, unless another
// address is given.
func TestDefaultSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	where := func(env string) string {
		t.Helper()
		var out bytes.Buffer
		a := &app{Console: console.Console{Stdout: &out, Stderr: &out}, socket: path, env: func(name string) string {
			return map[string]string{"WAITCAST_URL": env}[name]
		}}
		c, err := a.client()
		if err != nil {
			t.Fatal(err)
		}
		return c.URL()
	}
	if got := where(""); got != client.DefaultURL {
		t.Errorf("without a socket: %s", got)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if got := where(""); got != "unix://"+path {
		t.Errorf("with a socket: %s", got)
	}
	if got := where("http://head:9817"); got != "http://head:9817" {
		t.Errorf("with WAITCAST_URL: %s", got)
	}
}
