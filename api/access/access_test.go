package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/crypto/bcrypt"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/token"
)

// clock is a wall clock that does not advance until a test changes it.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// line returns the line of a token in the tokens file.
func line(t testing.TB, secret, role, user string) string {
	t.Helper()
	text, err := (&token.Token{Name: secret + "'s", Role: role, User: user, SHA256: token.Hash(secret)}).Line()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// hash returns the bcrypt hash of a password, at the lowest cost.
func hash(t testing.TB, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

// gate is a guard in front of a handler that answers with the caller's role, name and credential.
type gate struct {
	testing.TB
	*access.Guard
	handler  http.Handler
	registry *prometheus.Registry
}

func newGate(t testing.TB, o access.Options) *gate {
	t.Helper()
	g := &gate{TB: t, registry: prometheus.NewRegistry()}
	o.Registry = g.registry
	if o.Policy.Basic == access.None {
		o.Policy = access.Default()
	}
	var err error
	if g.Guard, err = access.New(o); err != nil {
		t.Fatal(err)
	}
	g.handler = g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := access.Of(r.Context())
		w.Header().Set("Client", c.Client)
		_, _ = fmt.Fprintf(w, "%s %q %q", c.Role, c.User, c.Credential)
	}))
	return g
}

// from sends a request from an address. Each change is applied to the request before it is sent.
func (g *gate) from(address string, changes ...func(*http.Request)) *httptest.ResponseRecorder {
	g.Helper()
	r := httptest.NewRequestWithContext(g.Context(), http.MethodGet, "/v1/queues", nil)
	r.RemoteAddr = address
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func basic(name, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func path(p string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = p } }

const home, abroad = "127.0.0.1:4000", "192.0.2.7:4000"

// want checks the status and the body of an answer.
func (g *gate) want(w *httptest.ResponseRecorder, status int, body string) {
	g.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), body) {
		g.Errorf("%d %s, want %d %s", w.Code, w.Body, status, body)
	}
	var p wire.Problem
	if status >= 400 && (json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Status != status || p.Title == "" ||
		p.Detail == "") {
		g.Errorf("no problem: %s", w.Body)
	}
}

// TestTokensFileReload proves that tokens are added and removed with the file while the server runs. If the file is
// invalid, the earlier tokens stay in force, and a metric shows the error. Once the file is corrected, the server
// uses it.
func TestTokensFileReload(t *testing.T) {
	c, file := newClock(), filepath.Join(t.TempDir(), "tokens.yaml")
	write(t, file, line(t, "first", "user", "alice"))
	g := newGate(t, access.Options{TokensFile: file, Now: c.Now})
	g.want(g.from(home, bearer("first")), 200, `user "alice" "token first's"`)
	g.want(g.from(home, bearer("second")), 401, "not one of this daemon")
	write(t, file, line(t, "second", "admin", ""))
	g.want(g.from(home, bearer("first")), 200, "alice") // the server has not looked at the new file yet
	c.pass(time.Second)
	g.want(g.from(home, bearer("first")), 401, "")
	g.want(g.from(home, bearer("second")), 200, "admin")
	ok := func(want float64) {
		t.Helper()
		text := fmt.Sprintf("# HELP waitcast_access_file_ok 1 if the newest content of the file is in force; 0 if it "+
			"cannot be used and older content is in force.\n"+
			"# TYPE waitcast_access_file_ok gauge\nwaitcast_access_file_ok{file=\"tokens\"} %v\n", want)
		if err := testutil.GatherAndCompare(g.registry, strings.NewReader(text),
			"waitcast_access_file_ok"); err != nil {
			t.Error(err)
		}
	}
	ok(1)
	write(t, file, "- {name: broken, role: emperor}\n")
	c.pass(time.Second)
	g.want(g.from(home, bearer("second")), 200, "admin")
	ok(0)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Second)
	g.want(g.from(home, bearer("second")), 200, "admin")
	write(t, file, "")
	c.pass(time.Second)
	g.want(g.from(home, bearer("second")), 401, "")
	ok(1)
}

// TestTokensFileMistakes proves that the message about a mistake has the line and advice, and that a daemon does not
// start with such a file.
func TestTokensFileMistakes(t *testing.T) {
	good := line(t, "first", "user", "alice")
	for name, c := range map[string]struct{ text, want string }{
		"no list": {"name: x\n", "want a list"},
		"unknown role": {"- {name: x, role: root, sha256: " + token.Hash("x") + "}",
			`line 1: token 1 ("x"): role: "root" is no role; allowed: none, public, user, admin`},
		"unknown key":  {good + "- {name: x, role: admin, sha265: y}", "line 5: token 2: "},
		"no user":      {"- {name: x, role: user, sha256: " + token.Hash("x") + "}", "user is not set"},
		"no name":      {"- {role: admin, sha256: " + token.Hash("x") + "}", "name is not set"},
		"token itself": {"- {name: x, role: admin, sha256: TOKEN}", "64 hexadecimal digits"},
		"twice":        {good + strings.Replace(good, "first", "other", 1), "same sha256"},
		"name twice":   {good + strings.Replace(good, token.Hash("first"), token.Hash("x"), 1), "same name"},
		"none":         {"- {name: x, role: none, sha256: " + token.Hash("x") + "}", "remove the token"},
	} {
		file := filepath.Join(t.TempDir(), "tokens.yaml")
		write(t, file, c.text)
		if _, err := access.New(access.Options{TokensFile: file}); err == nil ||
			!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	write(t, file, good)
	if err := os.Chmod(file, 0o666); err != nil { //nolint:gosec // that is the mistake
		t.Fatal(err)
	}
	if _, err := access.New(access.Options{TokensFile: file}); err == nil ||
		!strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("a file that everybody may write: %v", err)
	}
}

// TestPasswords proves which role a user of the web-config file has. The server refuses other users and wrong
// passwords, and offers Bearer and Basic in its challenges. Tokens also work. A caller without credentials learns only
// whether the daemon is alive. Users are added and removed with the file.
func TestPasswords(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	file, tokens := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "tokens.yaml")
	write(t, file, fmt.Sprintf("basic_auth_users: {alice: %q, root: %q}\n", hash(t, "a"), hash(t, "r")))
	write(t, tokens, line(t, "first", "user", "carol"))
	policy := access.Default()
	policy.Admins = []string{"root"}
	g := newGate(t, access.Options{WebConfigFile: file, TokensFile: tokens, Now: c.Now, Policy: policy})
	for range 2 { // the second time the password is cached
		g.want(g.from(home, basic("alice", "a")), 200, `user "alice" "user alice"`)
		g.want(g.from(home, basic("root", "r")), 200, "admin")
	}
	for _, wrong := range []func(*http.Request){
		basic("alice", "b"), basic("root", "a"), basic("mallory", "a"), basic("", ""),
		header("Authorization", "Basic !!"), header("Authorization", "Basic"),
	} {
		w := g.from(home, wrong)
		g.want(w, 401, "no such user, or another password")
		if got := w.Header().Values("WWW-Authenticate"); len(got) != 2 || !strings.HasPrefix(got[1], "Basic ") {
			t.Errorf("challenges %q", got)
		}
	}
	g.want(g.from(home, bearer("first")), 200, "carol")
	g.want(g.from(home), 401, "needs a credential of the role public")
	g.want(g.from(home, path("/healthz")), 200, "")
	write(t, file, fmt.Sprintf("basic_auth_users: {alice: %q}\n", hash(t, "new")))
	c.pass(time.Second)
	g.want(g.from(home, basic("alice", "a")), 401, "")
	g.want(g.from(home, basic("root", "r")), 401, "")
	g.want(g.from(home, basic("alice", "new")), 200, "user")
	write(t, file, "basic_auth_users: {alice: plain}\n")
	c.pass(time.Second)
	g.want(g.from(home, basic("alice", "new")), 200, "user")
	g.want(g.from(home, basic("alice", "plain")), 401, "")
}

// TestPasswordGuessing proves that one address cannot try many passwords. Other addresses are not affected, and a
// password that is known to be right does not count.
func TestPasswordGuessing(t *testing.T) {
	c, file := newClock(), filepath.Join(t.TempDir(), "web.yaml")
	write(t, file, fmt.Sprintf("basic_auth_users: {alice: %q}\n", hash(t, "a")))
	g := newGate(t, access.Options{WebConfigFile: file, Now: c.Now})
	g.want(g.from(abroad, basic("alice", "a")), 200, "")
	var got []int
	for i := range 25 {
		got = append(got, g.from(abroad, basic("alice", fmt.Sprint(i))).Code)
	}
	if n := len(slices.DeleteFunc(got, func(s int) bool { return s != 401 })); n != 19 {
		t.Errorf("%d guesses were looked at, want the 19 that are left of 20", n)
	}
	w := g.from(abroad, basic("alice", "b"))
	g.want(w, 429, "too much")
	if w.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	g.want(g.from(abroad, basic("alice", "a")), 200, "")
	g.want(g.from("192.0.2.8:1", basic("alice", "b")), 401, "")
	c.pass(time.Second)
	g.want(g.from(abroad, basic("alice", "b")), 401, "")
}

// TestForeignCredentials proves that a kind of credential that is not configured is ignored, because the credential may
// be meant for a proxy in front of the daemon.
func TestForeignCredentials(t *testing.T) {
	g := newGate(t, access.Options{AdminToken: "the-admin-token"})
	for _, h := range []string{"Basic YTpi", "Negotiate x", "Digest x", "Bearer", "Bearer ", "", "nonsense"} {
		g.want(g.from(home, header("Authorization", h)), 200, `public "" ""`)
	}
	g.want(g.from(home, bearer("the-admin-token")), 200, "admin")
	g.want(g.from(home, bearer("the-admin-toke")), 401, "")
}

// TestHashedNames proves that the hashes of one key are stable, differ between names and between keys, and do not
// contain the name. Only the owner can read the file of the key.
func TestHashedNames(t *testing.T) {
	dir := t.TempDir()
	first, err := access.LoadNames(filepath.Join(dir, "key"))
	again, err2 := access.LoadNames(filepath.Join(dir, "key"))
	other, err3 := access.LoadNames(filepath.Join(dir, "other"))
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	a := first.Hash("alice")
	if a != again.Hash("alice") || a == other.Hash("alice") || a == first.Hash("bob") || len(a) != 10 ||
		!strings.HasPrefix(a, "u-") {
		t.Errorf("%s, again %s, by another key %s, bob %s", a, again.Hash("alice"), other.Hash("alice"),
			first.Hash("bob"))
	}
	if info, err := os.Stat(filepath.Join(dir, "key")); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	write(t, filepath.Join(dir, "key"), "short")
	if _, err := access.LoadNames(filepath.Join(dir, "key")); err == nil ||
		!strings.Contains(err.Error(), "5 bytes, want 32") {
		t.Errorf("%v", err)
	}
}

// TestPrepare proves that new rules come into force as a whole when they are applied, and not earlier. Rules that
// cannot be used change nothing. If a limit stays the same, the requests that a client has already made still count.
func TestPrepare(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	file, web := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "web.yaml")
	write(t, file, line(t, "alices", "user", "alice"))
	write(t, web, "basic_auth_users: {bob: "+hash(t, "secret")+"}\n")
	limits := access.Limits{PerSecond: 1, Burst: 3, Expensive: 1}
	first := access.Options{AdminToken: "the-first-token", Policy: access.Default(), Limits: limits, Now: c.Now}
	g := newGate(t, first)
	if w := g.from(abroad); w.Code != 200 || g.SeesOthers(access.Caller{Role: access.User}, false) != true {
		t.Errorf("at first: %d", w.Code)
	}
	second := first
	second.AdminToken, second.TokensFile, second.WebConfigFile = "the-second-token", file, web
	apply, err := g.Prepare(second)
	if err != nil {
		t.Fatal(err)
	}
	g.want(g.from(home, bearer("the-first-token")), 200, "admin")
	g.want(g.from(home, bearer("alices")), 401, "")
	if n := testutil.CollectAndCount(g.registry, "waitcast_access_file_ok"); n != 0 {
		t.Errorf("%d files in force before the rules are", n)
	}
	slot, p, _ := g.Enter(t.Context(), access.Caller{Client: "a"}, 1, 1)
	if p != nil {
		t.Fatal(p)
	}
	apply()
	slot.End() // a slot that the earlier rules gave
	g.want(g.from(home, bearer("the-first-token")), 401, "")
	g.want(g.from(home, bearer("the-second-token")), 200, "admin")
	g.want(g.from(home, bearer("alices")), 200, "alice")
	g.want(g.from(home, basic("bob", "secret")), 200, "bob")
	g.want(g.from(home), 401, "") // where there are users, a caller without credentials is refused
	if g.SeesOthers(access.Caller{Role: access.User}, false) {
		t.Error("a user still sees others' jobs")
	}
	if n := testutil.CollectAndCount(g.registry, "waitcast_access_file_ok"); n != 2 {
		t.Errorf("%d files in force, want 2", n)
	}
	g.want(g.from(abroad, bearer("alices")), 200, "alice")
	g.want(g.from(abroad, bearer("alices")), 200, "alice")
	g.want(g.from(abroad, bearer("alices")), 429, "") // the first of three requests came from home

	broken := second
	broken.TokensFile, broken.AdminToken = filepath.Join(dir, "missing"), "the-third-token"
	if _, err := g.Prepare(broken); err == nil || !strings.HasPrefix(err.Error(), "tokens_file: ") {
		t.Errorf("a missing file: %v", err)
	}
	unhashed := second
	unhashed.Policy.Users = access.Hashed
	if _, err := g.Prepare(unhashed); err == nil {
		t.Error("hashed names without a key")
	}
	g.want(g.from(home, bearer("the-second-token")), 200, "admin")

	apply, err = g.Prepare(first) // the new rules have the same limits
	if err != nil {
		t.Fatal(err)
	}
	apply()
	g.want(g.from(abroad), 200, "public") // the first of three requests came at the start of this test
	g.want(g.from(abroad), 200, "public")
	g.want(g.from(abroad), 429, "")
	if n := testutil.CollectAndCount(g.registry, "waitcast_access_file_ok"); n != 0 {
		t.Errorf("%d files in force, want none", n)
	}
	more := first
	more.Limits.Burst = 4
	if apply, err = g.Prepare(more); err != nil {
		t.Fatal(err)
	}
	apply()
	g.want(g.from(abroad), 200, "public")
}
