package client_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/internal/certtest"
)

// TestCredentials proves that the client trusts only the given CA, and sends its certificate and its token. A password
// in the URL takes precedence over the token. The token is sent to no other server.
func TestCredentials(t *testing.T) {
	authority, dir := certtest.New(t), t.TempDir()
	cert, key := authority.Issue(dir, "server")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	var shown []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Header.Get("Authorization"))
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: authority.Pool,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	mine, mineKey := authority.Issue(dir, "mine")
	ask := func(c client.Credentials, url string) error {
		t.Helper()
		h, err := c.HTTPClient()
		if err != nil {
			t.Fatal(err)
		}
		defer h.CloseIdleConnections()
		to, err := client.New(url, h)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = to.Queues(t.Context(), "")
		return err
	}
	good := client.Credentials{Token: "the-token", CA: authority.File, Cert: mine, Key: mineKey}
	for url, want := range map[string]string{
		server.URL: "mine Bearer the-token", strings.Replace(server.URL, "://", "://a:b@", 1): "mine Basic YTpi",
	} {
		if shown = nil; ask(good, url) == nil || len(shown) != 1 || shown[0] != want {
			t.Errorf("%s: shown %q, want %q", url, shown, want)
		}
	}
	bad := good
	bad.CA = certtest.New(t).File
	if err := ask(bad, server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another authority: %v", err)
	}
	bad = good
	bad.Cert, bad.Key = "", ""
	if shown = nil; ask(bad, server.URL) == nil || len(shown) != 0 {
		t.Errorf("no certificate: shown %q", shown)
	}
}

// TestCredentialFiles proves that the error about a file that cannot be used says what the file is for.
func TestCredentialFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]client.Credentials{
		"the daemon's CA: open": {CA: empty + ".no"}, "holds no certificate": {CA: empty}, "needs both": {Cert: empty},
		"both its file and": {Key: empty}, "the client certificate: ": {Cert: empty, Key: empty},
	} {
		if _, err := c.HTTPClient(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}
