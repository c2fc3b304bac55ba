package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

const (
	// mungeProgram creates a credential of the user who runs it (munge(1)).
	mungeProgram = "munge"
	// mungeTTL is the lifetime of a credential in seconds. The credential is sent at once, but the clocks of hosts
	// may differ.
	mungeTTL = "60"
	// mungePatience is the maximum time that munge may take.
	mungePatience = 5 * time.Second
)

// munged sends a request again, with a munge credential, if the daemon refused it because the credential was missing.
// It does so only over TLS and to this host: on any other connection others could read and use the credential.
type munged struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (m *munged) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(r)
	if err != nil || r.Header.Get("Authorization") != "" || !wantsMunge(response) || !mayMunge(r) {
		return response, err
	}
	credential, err := mungeFor(r.Context(), r.URL.Hostname())
	if errors.Is(err, exec.ErrNotFound) {
		return response, nil // this host has no munge, which is normal
	}
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
	}
	again.Header.Set("Authorization", wire.MungeScheme+" "+credential)
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // to reuse the connection
	_ = response.Body.Close()
	return m.next.RoundTrip(again)
}

// CloseIdleConnections implements the interface that http.Client.CloseIdleConnections uses.
func (m *munged) CloseIdleConnections() {
	if c, ok := m.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// wantsMunge reports whether an answer requests a munge credential (RFC 9110, section 11.6.1).
func wantsMunge(response *http.Response) bool {
	if response.StatusCode != http.StatusUnauthorized {
		return false
	}
	for _, challenge := range response.Header.Values("WWW-Authenticate") {
		scheme, _, _ := strings.Cut(challenge, " ")
		if strings.EqualFold(scheme, wire.MungeScheme) {
			return true
		}
	}
	return false
}

// mayMunge reports whether a credential may be sent with a request: nobody else can read it on the connection, and the
// request can be sent again.
func mayMunge(r *http.Request) bool {
	if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return false
	}
	host := r.URL.Hostname()
	return r.URL.Scheme == "https" || host == "localhost" || net.ParseIP(host).IsLoopback()
}

// mungeFor returns a new credential of this user for the daemon on a host.
func mungeFor(ctx context.Context, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, mungePatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, mungeProgram, "--ttl="+mungeTTL, "--string="+wire.MungePayload(host)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("no munge credential for the daemon: %s (is munged running on this host?)",
			strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("no munge credential for the daemon: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
