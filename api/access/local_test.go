package access_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/internal/uidtest"
)

// TestCallerOfASocket proves that on a Unix socket the caller is the user who connected. A user whom the policy names
// is an administrator, except root and the daemon's own user. The overflow uid is no user. A token takes precedence
// over the user.
func TestCallerOfASocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "waitcast-socket-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // other users must be able to reach the socket
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	policy := access.Default()
	policy.Admins = []string{me.Username}
	type expected struct {
		uid    int
		token  string
		role   access.Role
		user   string
		caller string
	}
	asked := []expected{
		{os.Getuid(), "", access.User, me.Username, "the daemon's own user"},
		{os.Getuid(), "the-admin-token", access.Admin, "", "an administrator's token"},
	}
	if others := localUsersOf(t); os.Getuid() == 0 && len(others) == 2 {
		policy.Admins = append(policy.Admins, others[1].Username)
		asked = append(asked, expected{uid(t, others[0]), "", access.User, others[0].Username, "a user"},
			expected{uid(t, others[1]), "", access.Admin, others[1].Username, "an administrator"},
			expected{65534, "", access.Public, "", "the overflow uid"},
			expected{3_000_000_000, "", access.Public, "", "a uid without a name"})
	} else {
		t.Log("other users are left out: that needs root, and the uids 1 and 2")
	}
	g, err := access.New(access.Options{AdminToken: "the-admin-token", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	callers := make(chan access.Caller, 1)
	path := filepath.Join(dir, "s")
	serveSocket(t, path, g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		callers <- access.Of(r.Context())
	})))
	for _, want := range asked {
		askSocket(t, uidtest.Dial(t, path, want.uid), want.token)
		if got := <-callers; got.Role != want.role || got.User != want.user {
			t.Errorf("%s: %+v, want role %v, user %q", want.caller, got, want.role, want.user)
		}
	}
}

// localUsersOf returns the users with the uids 1 and 2, as far as they exist.
func localUsersOf(t *testing.T) []*user.User {
	t.Helper()
	var out []*user.User
	for _, id := range []string{"1", "2"} {
		if u, err := user.LookupId(id); err == nil {
			out = append(out, u)
		}
	}
	return out
}

func uid(t *testing.T, u *user.User) int {
	t.Helper()
	n, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// serveSocket serves a Unix socket that every user may connect to, with a limit on connections as in the daemon.
func serveSocket(t *testing.T, path string, handler http.Handler) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	bound := access.NewConnections(100, 10, nil)
	server := &http.Server{Handler: handler}
	bound.Attach(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(bound.Bound(l)) // returns when the test ends
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

func askSocket(t *testing.T, conn net.Conn, token string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}
