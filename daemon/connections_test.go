package daemon_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// visitor sends each request to a daemon over a new connection.
type visitor struct {
	*testing.T
	base   string
	client *http.Client
}

func newVisitor(t *testing.T, d *running, config *tls.Config) *visitor {
	t.Helper()
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}
	return &visitor{t, scheme + "://" + d.Addr().String(), &http.Client{Transport: transport, Timeout: patience}}
}

// ask returns the status of an answer, and whether the server closes the connection after it.
func (v *visitor) ask(path, token string) (status int, closes bool) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), http.MethodGet, v.base+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		v.Fatalf("%s: %v", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Close
}

// adminToken returns the token that the daemon of a site has made.
func (s *site) adminToken(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

// TestNobodyIsLockedOut proves that other clients are still answered while a client on this host opens many times the
// permitted number of connections and is slow in every possible way.
func TestNobodyIsLockedOut(t *testing.T) {
	const limit = 64
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("tls=", secure), func(t *testing.T) {
			t.Parallel()
			extra := fmt.Sprintf("limits: {connections: %d}\n", limit)
			s, config := newSite(t, "accounting", extra), (*tls.Config)(nil)
			if secure {
				withTLS, authority := secureSite(t, extra)
				s, config = withTLS, &tls.Config{RootCAs: authority.Pool, MinVersion: tls.VersionTLS12}
			}
			d := s.start(t)
			v := newVisitor(t, d, config)
			for name, says := range map[string]string{
				"nothing": "", "half of a header": "GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
				"one request":    "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
				"an unread body": "POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
			} {
				for range 2 * limit {
					hold(t, d.Addr().String(), config, says)
				}
				for _, path := range []string{"/healthz", "/v1/queues", "/openapi.json"} {
					if status, _ := v.ask(path, ""); status != http.StatusOK {
						t.Errorf("beside many who say %s: %s: %d", name, path, status)
					}
				}
			}
		})
	}
}

// hold opens a connection that sends a text and then nothing, until the test or the daemon closes it.
func hold(t *testing.T, address string, config *tls.Config, says string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address) //nolint:noctx // on loopback
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if config != nil && says != "" {
		own := config.Clone()
		own.ServerName = "127.0.0.1"
		conn = tls.Client(conn, own)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, says) // the daemon may have closed it for a newer one
	return conn
}

// TestReserve proves that if all connections are busy, only /healthz and administrators are answered.
func TestReserve(t *testing.T) {
	const limit = 16
	s := newSite(t, "accounting", fmt.Sprintf("limits: {connections: %d}\n", limit))
	d := s.start(t)
	token := s.adminToken(t)
	v := newVisitor(t, d, nil)
	var streams []net.Conn
	for range limit {
		conn := hold(t, d.Addr().String(), nil, "GET /v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil { // its answer has begun
			t.Fatal(err)
		}
		streams = append(streams, conn)
	}
	for range 100 { // other slow clients, on the reserved connections
		hold(t, d.Addr().String(), nil, "GET /v1/queues HTTP/1.1\r\n")
	}
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{"/healthz", "", http.StatusOK}, {"/v1/queues", "", http.StatusServiceUnavailable},
		{"/v1/queues", "another", http.StatusUnauthorized}, {"/v1/queues", token, http.StatusOK},
		{"/metrics", token, http.StatusOK}, {"/v1/quarantine", token, http.StatusOK},
	} {
		if status, closes := v.ask(c.path, c.token); status != c.want || !closes {
			t.Errorf("%s: %d, the connection ends: %v; want %d", c.path, status, closes, c.want)
		}
	}
	_ = streams[0].Close()
	d.eventually("a place for everybody", func() bool {
		status, _ := v.ask("/v1/queues", "")
		return status == http.StatusOK
	})
}
