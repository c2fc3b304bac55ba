package access_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/internal/mungetest"
)

// mungeSite is a server that accepts munge credentials, with the callers whose requests it accepted.
type mungeSite struct {
	*testing.T
	handler http.Handler
	callers []access.Caller
}

func newMungeSite(t *testing.T, policy access.Policy) *mungeSite {
	t.Helper()
	mungetest.Start(t)
	g, err := access.New(access.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	s := &mungeSite{T: t}
	s.handler = g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.callers = append(s.callers, access.Of(r.Context()))
	}))
	return s
}

// ask sends a request from an address, with a credential, to the host name head.
func (s *mungeSite) ask(credential, from string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), http.MethodGet, "http://HEAD:9817/v1/me", nil)
	r.RemoteAddr = from
	r.Header.Set("Authorization", "Munge "+credential)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// here is the address of a client on the daemon's host.
const here = "127.0.0.1:1000"

func mungePolicy(admins ...string) access.Policy {
	p := access.Default()
	p.Munge, p.Admins = true, admins
	return p
}

// TestMungeCallers uses credentials of a real munged. The caller is the user who made the credential. A user whom the
// policy names is an administrator, except root and the daemon's own user. A uid without a name is refused.
func TestMungeCallers(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	admins := []string{me.Username}
	others := localUsersOf(t)
	asOthers := os.Getuid() == 0 && len(others) == 2
	if asOthers {
		admins = append(admins, others[1].Username)
	} else {
		t.Log("other users are left out: that needs root, and the uids 1 and 2")
	}
	s := newMungeSite(t, mungePolicy(admins...))
	type expected struct {
		role access.Role
		user string
	}
	asked := map[string]expected{me.Uid: {access.User, me.Username}}
	if asOthers {
		asked[others[0].Uid] = expected{access.User, others[0].Username}
		asked[others[1].Uid] = expected{access.Admin, others[1].Username}
	}
	for id, want := range asked {
		s.callers = nil
		w := s.ask(mungetest.Credential(t, "waitcast head", "--uid="+id), here)
		if w.Code != http.StatusOK || len(s.callers) != 1 {
			t.Fatalf("uid %s: status %d: %s", id, w.Code, w.Body)
		}
		if got := s.callers[0]; got.Role != want.role || got.User != want.user ||
			got.Credential != "munge user "+want.user {
			t.Errorf("uid %s: %+v, want %+v", id, got, want)
		}
	}
	if !asOthers {
		return
	}
	for _, id := range []string{"65534", "3000000000"} {
		if w := s.ask(mungetest.Credential(t, "waitcast head", "--uid="+id), here); w.Code != http.StatusUnauthorized {
			t.Errorf("uid %s: status %d: %s", id, w.Code, w.Body)
		}
	}
}

// TestMungeRefusals proves that a credential is accepted only once, and only for the server and the purpose for which
// it was made. Over plain HTTP from another host it is not accepted, but stays valid.
func TestMungeRefusals(t *testing.T) {
	s := newMungeSite(t, mungePolicy())
	good := mungetest.Credential(t, "waitcast head")
	other := mungetest.Credential(t, "waitcast head")
	for _, one := range []struct {
		name, credential, from string
		status                 int
		why                    string
	}{
		{"from another host", good, "192.0.2.7:1000", http.StatusUnauthorized, "over plain HTTP"},
		{"from this host", good, here, http.StatusOK, ""},
		{"again", good, here, http.StatusUnauthorized, "sent before"},
		{"from this host by IPv6", other, "[::1]:1000", http.StatusOK, ""},
		{"for another server", mungetest.Credential(t, "waitcast tail"), here, http.StatusUnauthorized, "for another"},
		{"for another purpose", mungetest.Credential(t, ""), here, http.StatusUnauthorized, "for another"},
		{"of no munge", "MUNGE:AwQFAAC:", here, http.StatusUnauthorized, "base64"},
		{"a word", "secret", here, http.StatusUnauthorized, "program munge"},
		{"too long", "MUNGE:" + strings.Repeat("A", 4000) + ":", here, http.StatusUnauthorized, "program munge"},
	} {
		w := s.ask(one.credential, one.from)
		if w.Code != one.status || !strings.Contains(w.Body.String(), one.why) {
			t.Errorf("%s: status %d, want %d: %s", one.name, w.Code, one.status, w.Body)
		}
	}
	challenges := strings.Join(s.ask("secret", here).Header().Values("WWW-Authenticate"), ", ")
	if !strings.Contains(challenges, `Munge realm="waitcast"`) {
		t.Errorf("the refusal asks for %s", challenges)
	}
	if len(s.callers) != 2 {
		t.Errorf("%d requests came through, want 2", len(s.callers))
	}
}

// TestMungeGuesses proves that a client with many wrong credentials is finally refused without starting a process for
// each of them. Other clients are not refused.
func TestMungeGuesses(t *testing.T) {
	s := newMungeSite(t, mungePolicy())
	slow := 0
	for range 30 {
		if s.ask("MUNGE:guess:", "127.0.0.2:1").Code == http.StatusTooManyRequests {
			slow++
		}
	}
	if slow == 0 {
		t.Error("30 wrong credentials of one client are all tried")
	}
	if w := s.ask(mungetest.Credential(t, "waitcast head"), here); w.Code != http.StatusOK {
		t.Errorf("another client: status %d: %s", w.Code, w.Body)
	}
}

// TestMungeOff proves that without access.munge a request with a credential is treated as a request without one.
func TestMungeOff(t *testing.T) {
	s := newMungeSite(t, access.Default())
	w := s.ask(mungetest.Credential(t, "waitcast head"), here)
	if w.Code != http.StatusOK || s.callers[0].Credential != "" || s.callers[0].Role != access.Public {
		t.Errorf("status %d, callers %+v", w.Code, s.callers)
	}
}

// TestMungeOverTLS proves that over TLS a credential counts only for the names of the server's certificate.
func TestMungeOverTLS(t *testing.T) {
	mungetest.Start(t)
	policy := mungePolicy()
	policy.Hosts = []string{"evil.example"} // otherwise the name is refused over loopback before
	s := newSecureSite(t, "}\n", policy)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"localhost": http.StatusOK, "evil.example": http.StatusUnauthorized} {
		status, body, _, err := s.visit(s.authority, "", func(r *http.Request) {
			r.Host = host + ":443"
			r.Header.Set("Authorization", "munge "+mungetest.Credential(t, "waitcast "+host))
		})
		if err != nil || status != want {
			t.Errorf("asked as %s: status %d, %v: %s", host, status, err, body)
		}
		if status == http.StatusOK && !strings.Contains(body, "munge user "+me.Username) {
			t.Errorf("asked as %s: %s", host, body)
		}
	}
}

// TestMungeMissing proves that access.munge without the program munge is an error that names the program.
func TestMungeMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := access.New(access.Options{Policy: mungePolicy()})
	if err == nil || !strings.Contains(err.Error(), "unmunge") {
		t.Errorf("without unmunge: %v", err)
	}
}

// TestMungedDown proves that while munged does not answer, the refusal has that reason and does not count as a wrong
// credential.
func TestMungedDown(t *testing.T) {
	s := newMungeSite(t, mungePolicy())
	dir := t.TempDir()
	script := "#!/bin/sh\nexec /usr/bin/unmunge --socket=" + dir + "/none \"$@\"\n"
	if err := os.WriteFile(dir+"/unmunge", []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	credential := mungetest.Credential(t, "waitcast head")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	w := s.ask(credential, here)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "munge does not answer") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
