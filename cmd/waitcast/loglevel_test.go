package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

const levelOut = "Logged now      debug, until 2026-03-02 13:10:00\nConfigured      info\n"

// newLevels starts a fake daemon whose log level can be changed, and which records the requests.
func newLevels(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{asked: make(chan received, 10)}
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.asked <- received{r.Method + " " + r.URL.String(),
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "", string(body)}
		answer := wire.LogLevel{Level: "info", Configured: "info"}
		if r.Method == http.MethodPut {
			until := time.Date(2026, 3, 2, 13, 10, 0, 0, time.UTC)
			answer.Level, answer.Until = "debug", &until
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

// TestLogLevel proves that the level is shown and changed for clients with the right token.
func TestLogLevel(t *testing.T) {
	d := newLevels(t)
	r := runAdmin(t, d, nil, false, "log-level", "debug", "--for", "10m")
	if r.code != 0 || r.stdout != levelOut || r.stderr != "" {
		t.Errorf("%+v, want %q", r, levelOut)
	}
	if got := <-d.asked; got.query != "PUT /v1/log-level" || got.token != secretToken ||
		got.body != `{"level":"debug","for_seconds":600}` {
		t.Errorf("asked %+v", got)
	}
	if r = runAdmin(t, d, nil, false, "log-level"); r.stdout != "Logged now      info\nConfigured      info\n" {
		t.Errorf("%+v", r)
	}
	if got := <-d.asked; got.query != "GET /v1/log-level" || got.token != secretToken {
		t.Errorf("asked %+v", got)
	}
	if r = runAdmin(t, d, nil, false, "log-level", "--json"); !strings.Contains(r.stdout, `"level":"info"`) {
		t.Errorf("%+v", r)
	}
}

// TestLogLevelUsage proves that an unknown level, a time without a level and an impossible time are wrong usage, and
// that no request is sent.
func TestLogLevelUsage(t *testing.T) {
	d := newLevels(t)
	for _, args := range [][]string{
		{"loud"}, {"debug", "info"}, {"--for", "10m"}, {"debug", "--for", "0"}, {"debug", "--for", "8d"},
		{"debug", "--for", "soon"}, {"--timeout", "0"},
	} {
		if r := runAdmin(t, d, nil, false, append([]string{"log-level"}, args...)...); r.code != exitUsage ||
			r.stdout != "" {
			t.Errorf("%v: %+v, want code %d", args, r, exitUsage)
		}
	}
	if n := len(d.asked); n > 0 {
		t.Errorf("the daemon was asked %d times", n)
	}
}

// TestLogLevelByPassword proves that an administrator with a password needs no token: the command sends the password,
// to show the level and to change it.
func TestLogLevelByPassword(t *testing.T) {
	d := newLevels(t)
	url := strings.Replace(d.url, "http://", "http://root:secret@", 1)
	for _, args := range [][]string{{"log-level"}, {"log-level", "debug"}} {
		if r := runWith(url, args...); r.code != 0 {
			t.Errorf("%v: %+v", args, r)
		}
		if got := <-d.asked; got.token != "Basic cm9vdDpzZWNyZXQ=" {
			t.Errorf("%v: sent %q", args, got.token)
		}
	}
}
