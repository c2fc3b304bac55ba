package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// Credentials are the credentials of a client, and the certificates that it trusts. All of them may be empty.
type Credentials struct {
	// Token is sent ("Authorization: Bearer") with every request that has no other credential.
	Token string
	// CA is a file of certificates (PEM). The daemon's certificate must be signed by one of them. The system's
	// certificates are then not used.
	CA string
	// Cert and Key are the files of a client certificate and its key (PEM).
	Cert, Key string
	// Munge allows credentials of the program munge, if Token is empty. If the daemon refuses a request because a
	// credential is missing, and accepts munge, the client creates a credential and sends the request again. It does so
	// only over TLS or on this host, and only if the program is installed.
	Munge bool
}

// HTTPClient returns an HTTP client with the credentials. It follows no redirections: they could send the token to
// other servers, and a daemon does not redirect.
func (c Credentials) HTTPClient() (*http.Client, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("the daemon's CA: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the daemon's CA: %s holds no certificate (PEM)", c.CA)
		}
	}
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return nil, errors.New("a client certificate needs both its file and that of its key")
	case c.Cert != "":
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate: %w", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	var shown http.RoundTripper = &bearer{transport, c.Token}
	if c.Munge && c.Token == "" {
		shown = &munged{shown}
	}
	return &http.Client{
		Transport:     shown,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// bearer adds the token.
type bearer struct {
	next  *http.Transport
	token string
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// CloseIdleConnections implements the interface that http.Client.CloseIdleConnections uses.
func (b *bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }
