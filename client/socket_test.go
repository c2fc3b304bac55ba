package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/job"
)

// TestUnixSocket proves that a client sends requests over a Unix socket with its token, and that its messages show the
// socket.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	if client.SocketAnswers(path) {
		t.Error("a socket that is not there answers")
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/now" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte(`{"queues": [{"queue": "work"}]}`))
	}))
	server.Listener = l
	server.Start()
	defer server.Close()
	shown, err := client.Credentials{Token: "secret"}.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New("unix://"+path, shown)
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := c.Now(t.Context(), "", job.Request{})
	if err != nil || len(now.Queues) != 1 || c.URL() != "unix://"+path || !client.SocketAnswers(path) {
		t.Errorf("%+v, %v, at %s", now, err, c.URL())
	}
	for _, wrong := range []string{"unix://", "unix://host/path", "unix:relative"} {
		if _, err := client.New(wrong, nil); err == nil {
			t.Errorf("%s is taken for an address", wrong)
		}
	}
}
