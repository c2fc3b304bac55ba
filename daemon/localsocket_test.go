package daemon_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/uidtest"
)

// askOver sends one request over a connection and returns the status and the body.
func askOver(t *testing.T, conn net.Conn, path string) (int, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestSocketKnowsWhoAsks proves that on the socket a user has the role user without a token. Requests in the names of
// other users are refused (access.others is admin), and so are requests for administrators, even from root. Over TCP
// the user is unknown.
func TestSocketKnowsWhoAsks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "api.sock")
	for parent := dir; parent != "/" && parent != os.TempDir(); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil { // other users must be able to reach the socket
			t.Fatal(err)
		}
	}
	cfg := socketConfig(t, dir, path)
	d := daemon.New(cfg, daemon.Options{Version: "test"})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Error("the socket is still there after the end")
		}
	}()
	if info, err := os.Stat(path); err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, want 0666", info.Mode())
	}
	for uid, name := range askers(t) {
		for question, want := range map[string]int{
			// No record has been read.
			"/v1/jobs": http.StatusServiceUnavailable, "/v1/me": http.StatusServiceUnavailable,
			"/v1/me?user=somebodyelse":                      http.StatusForbidden,
			"/v1/wait?queue=work&procs=1&user=" + name:      http.StatusServiceUnavailable,
			"/v1/wait?queue=work&procs=1&user=somebodyelse": http.StatusForbidden,
			"/v1/quarantine":                                http.StatusForbidden,
		} {
			if status, body := askOver(t, uidtest.Dial(t, path, uid), question); status != want {
				t.Errorf("%s asks %s: %d, want %d: %s", name, question, status, want, body)
			}
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, daemon.URL(d)+"/v1/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var problem struct{ Type string }
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil || resp.StatusCode != http.StatusUnauthorized ||
		!strings.HasSuffix(problem.Type, ":unauthorized") {
		t.Errorf("over TCP: %d %+v, %v; want 401", resp.StatusCode, problem, err)
	}
}

// askers returns the users as whom a test can send requests, by uid.
func askers(t *testing.T) map[int]string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]string{os.Getuid(): me.Username}
	other, err := user.LookupId("1")
	if err != nil || os.Getuid() != 0 {
		t.Log("other users are left out: that needs root, and a user with the uid 1")
		return out
	}
	out[1] = other.Username
	return out
}

// TestSocketOfAKilledDaemon proves that a socket on which no process listens is replaced, but a file, or a socket with
// a listener, is not.
func TestSocketOfAKilledDaemon(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "api.sock")
	opened, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left := opened.(*net.UnixListener)
	left.SetUnlinkOnClose(false)
	if err := startOnce(t, dir, path); err == nil || !strings.Contains(err.Error(), "another program answers") {
		t.Errorf("%v: want that another program answers", err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	if err := startOnce(t, dir, path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := startOnce(t, dir, path); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("%v: want that a file is in the way", err)
	}
}

// startOnce starts a daemon and stops it.
func startOnce(t *testing.T, dir, path string) error {
	t.Helper()
	d := daemon.New(socketConfig(t, dir, path), daemon.Options{Version: "test"})
	if err := d.Start(t.Context()); err != nil {
		return err
	}
	return d.Stop()
}

func socketConfig(t *testing.T, dir, path string) *config.Config {
	t.Helper()
	log := filepath.Join(dir, "accounting")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "waitcastd.yaml")
	text := "listen: 127.0.0.1:0\ndata_dir: " + dir + "\nsocket: " + path + "\naccess: {others: admin}\n" +
		"clusters:\n  - sources: [{format: pbs, path: " + log + "}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
