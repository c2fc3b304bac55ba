package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/internal/mungetest"
)

// mungeServer starts a server that accepts munge credentials. It answers only users, and returns their names in place
// of queues.
func mungeServer(t *testing.T) *httptest.Server {
	t.Helper()
	policy := access.Default()
	policy.Munge = true
	g, err := access.New(access.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := access.Of(r.Context())
		if p := g.Need(caller, access.User); p != nil {
			g.Refuse(w, p)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		var request json.RawMessage
		if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&request) != nil {
			caller.User = "nobody's question"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"user": caller.User})
	})))
	t.Cleanup(server.Close)
	return server
}

// TestMunge proves that the client makes a credential with a real munge each time a daemon requests one, even for
// requests with a body. A client on a host without munge, and one for which munge is not enabled, send none.
func TestMunge(t *testing.T) {
	mungetest.Start(t)
	url := mungeServer(t).URL
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c client.Credentials, url string) (*wire.Me, error) {
		shown, err := c.HTTPClient()
		if err != nil {
			t.Fatal(err)
		}
		daemon, err := client.New(url, shown)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := daemon.Waits(t.Context(), &wire.WaitsRequest{}); err != nil {
			return nil, err
		}
		answer, _, err := daemon.Me(t.Context(), client.MeQuery{})
		return answer, err
	}
	answer, err := ask(client.Credentials{Munge: true}, strings.Replace(url, "127.0.0.1", "localhost", 1))
	if err != nil || answer.User != me.Username {
		t.Errorf("%+v, %v", answer, err)
	}
	var refused *client.ProblemError
	_, err = ask(client.Credentials{}, url)
	if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("without munge: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := ask(client.Credentials{Munge: true}, url); !errors.As(err, &refused) ||
		refused.Status != http.StatusUnauthorized {
		t.Errorf("without the program: %v", err)
	}
	broken := t.TempDir()
	program := "#!/bin/sh\necho 'munge: Error: no socket' >&2\nexit 6\n"
	if err := os.WriteFile(broken+"/munge", []byte(program), 0o755); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Setenv("PATH", broken+":/usr/bin:/bin")
	if _, err := ask(client.Credentials{Munge: true}, url); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("without munged: %v", err)
	}
}
