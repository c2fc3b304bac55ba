package access_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/internal/certtest"
)

// secureSite is a gate behind real TLS.
type secureSite struct {
	*gate
	clock     *clock
	dir, file string
	authority *certtest.Authority
	server    *httptest.Server
}

// newSecureSite starts a server with a web-config file. The file has the certificate, the key and the lines in more.
func newSecureSite(t *testing.T, more string, policy access.Policy) *secureSite {
	t.Helper()
	s := &secureSite{clock: newClock(), dir: t.TempDir(), authority: certtest.New(t)}
	s.authority.Issue(s.dir, "server")
	s.file = filepath.Join(s.dir, "web.yaml")
	s.config(t, more)
	s.gate = newGate(t,
		access.Options{WebConfigFile: s.file, Now: s.clock.Now, Policy: policy, AdminToken: "the-admin-token"})
	s.server = httptest.NewUnstartedServer(s.handler)
	s.server.TLS, s.server.EnableHTTP2 = s.TLS(), true
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

func (s *secureSite) config(t *testing.T, more string) {
	t.Helper()
	write(t, s.file, "tls_server_config: {cert_file: server.crt, key_file: server.key"+more)
}

// visit opens a new connection and sends a request. If name is not empty, it uses the client certificate with that
// name. It returns the answer and the serial number of the server's certificate.
func (s *secureSite) visit(by *certtest.Authority, name string, changes ...func(*http.Request)) (status int, body,
	serial string, err error) {
	s.Helper()
	cfg := &tls.Config{RootCAs: s.authority.Pool, MinVersion: tls.VersionTLS12}
	if name != "" {
		cert, key := by.Issue(s.TempDir(), name)
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			s.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.server.URL+"/v1/queues", nil)
	if err != nil {
		s.Fatal(err)
	}
	for _, change := range changes {
		change(req)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), resp.TLS.PeerCertificates[0].SerialNumber.String(), err
}

// TestClientCertificates proves which role a client certificate gives. A client whose certificate another authority
// signed gets no connection. If a certificate is required, a client without one gets no connection either.
func TestClientCertificates(t *testing.T) {
	policy := access.Default()
	policy.Certificate, policy.Admins = access.User, []string{"root"}
	mutual := ", client_ca_file: ca.pem, client_auth_type: %s}\n"
	s := newSecureSite(t, "}\n", policy)
	for _, required := range []bool{true, false} {
		kind := map[bool]string{true: "RequireAndVerifyClientCert", false: "VerifyClientCertIfGiven"}[required]
		s.config(t, strings.Replace(fmt.Sprintf(mutual, kind), "ca.pem", s.authority.File, 1))
		s.clock.pass(time.Second)
		for name, want := range map[string]string{"alice": `user "alice" "certificate alice"`, "root": `admin "root"`} {
			if status, body, _, err := s.visit(s.authority, name); err != nil || status != 200 ||
				!strings.Contains(body, want) {
				t.Errorf("%s, required %v: %d %s %v", name, required, status, body, err)
			}
		}
		if _, body, _, err := s.visit(s.authority, "alice", bearer("the-admin-token")); err != nil ||
			!strings.Contains(body, "admin token") {
			t.Errorf("a token beside a certificate: %s %v", body, err)
		}
		if _, body, _, err := s.visit(certtest.New(t), "root"); err == nil &&
			(required || strings.Contains(body, "admin")) {
			t.Errorf("another authority's certificate, required %v: %s", required, body)
		}
		if _, body, _, err := s.visit(nil, ""); (err == nil) == required ||
			err == nil && !strings.HasPrefix(body, "public") {
			t.Errorf("no certificate, required %v: %s %v", required, body, err)
		}
	}
}

// TestCertificateReload proves that a new certificate and a new authority for clients come into force without a
// restart, and that the old ones stay in force if the new files do not fit together.
func TestCertificateReload(t *testing.T) {
	s := newSecureSite(t, "}\n", access.Default())
	_, _, first, err := s.visit(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	s.authority.Issue(s.dir, "server")
	s.clock.pass(time.Second)
	_, _, second, err := s.visit(nil, "")
	if err != nil || second == first {
		t.Errorf("certificate %s after %s, %v", second, first, err)
	}
	for name, spoil := range map[string]func(){
		"a key that does not fit": func() { write(t, filepath.Join(s.dir, "server.key"), "no key\n") },
		"no web-config":           func() { write(t, s.file, "tls_server_config: [\n") },
		"TLS off":                 func() { write(t, s.file, "{}\n") },
	} {
		spoil()
		s.clock.pass(time.Second)
		if _, _, now, err := s.visit(nil, ""); err != nil || now != second {
			t.Errorf("%s: certificate %s, want %s still: %v", name, now, second, err)
		}
	}
	s.authority.Issue(s.dir, "server")
	s.config(t, "}\n")
	s.clock.pass(time.Second)
	if _, _, third, err := s.visit(nil, ""); err != nil || third == second {
		t.Errorf("mended: certificate %s after %s, %v", third, second, err)
	}
}

// TestWebConfigMistakes proves that a daemon does not start with a web-config file that cannot be used, and that the
// message names the file.
func TestWebConfigMistakes(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":    "tls_sever_config: {}\n",
		"no certificate": "tls_server_config: {cert_file: nowhere.crt, key_file: nowhere.key}\n",
		"key alone":      "tls_server_config: {key_file: nowhere.key}\n",
		"plain password": "basic_auth_users: {a: b}\n", "header": "http_server_config: {headers: {X-Other: y}}\n",
	} {
		file := filepath.Join(t.TempDir(), "web.yaml")
		write(t, file, text)
		if _, err := access.New(access.Options{WebConfigFile: file}); err == nil ||
			!strings.Contains(err.Error(), file) || !strings.HasPrefix(err.Error(), "web_config_file: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := access.New(access.Options{WebConfigFile: "/nowhere/web.yaml"}); err == nil {
		t.Error("a file that is not there")
	}
}
