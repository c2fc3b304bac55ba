package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// Credentials are what a client shows, and whom it believes. All may be empty.
type Credentials struct {
	// Token is sent with every request that has no other credential ("Authorization: Bearer").
	Token string
	// CA is a file of certificates (PEM): the daemon's must be signed by one of them, and the system's do not count.
	CA string
	// Cert and Key are the files of a client certificate and its key (PEM).
	Cert, Key string
}

// HTTPClient returns an HTTP client that shows the credentials. It follows no redirections, which a daemon does not
// send: the token would go to others.
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
	return &http.Client{
		Transport:     &bearer{transport, c.Token},
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

// CloseIdleConnections is what http.Client's looks for.
func (b *bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }
