package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
	"golang.org/x/time/rate"
)

// webConfig has the contents of a web-config file, in the format of Prometheus' exporters.
type webConfig struct {
	users   map[string]string // bcrypt hashes by user name
	headers map[string]string
	http2   bool
	tls     *tls.Config   // nil if it has no TLS
	limiter *rate.Limiter // for all requests together; nil if it has none
}

// readWebConfig reads and checks a web-config file by the rules of exporter-toolkit. It also returns the names of all
// files that it read. The toolkit's own handler is not used: it requires a password of everybody, even of callers with
// a token, and answers 500 to all requests while the file is invalid.
func readWebConfig(path string) (*webConfig, []string, error) {
	files := []string{path}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, files, err
	}
	c := &web.Config{HTTPConfig: web.HTTPConfig{HTTP2: true}}
	c.TLSConfig.MinVersion, c.TLSConfig.MaxVersion = tls.VersionTLS12, tls.VersionTLS13
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, files, fmt.Errorf("%s: %w", path, err)
	}
	c.TLSConfig.SetDirectory(filepath.Dir(path))
	for _, f := range []string{c.TLSConfig.TLSCertPath, c.TLSConfig.TLSKeyPath, c.TLSConfig.ClientCAs} {
		if f != "" {
			files = append(files, f)
		}
	}
	if err := web.Validate(path); err != nil {
		return nil, files, fmt.Errorf("%s: %w", path, err)
	}
	out := &webConfig{users: map[string]string{}, headers: c.HTTPConfig.Header, http2: c.HTTPConfig.HTTP2}
	for name, hash := range c.Users {
		out.users[name] = string(hash)
	}
	if limit := c.RateLimiterConfig; limit.Interval > 0 {
		out.limiter = rate.NewLimiter(rate.Every(limit.Interval), limit.Burst)
	}
	if c.TLSConfig.IsEnabled() {
		if out.tls, err = tlsConfig(c); err != nil {
			return nil, files, fmt.Errorf("%s: %w", path, err)
		}
	}
	return out, files, nil
}

// tlsConfig returns the toolkit's configuration with the present certificate. Changes of the files take effect at the
// next reading.
func tlsConfig(c *web.Config) (*tls.Config, error) {
	out, err := web.ConfigToTLSConfig(&c.TLSConfig)
	if err != nil {
		return nil, err
	}
	certificate, err := out.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	out.Certificates, out.GetCertificate = []tls.Certificate{*certificate}, nil
	out.NextProtos = []string{"http/1.1"}
	if c.HTTPConfig.HTTP2 {
		out.NextProtos = []string{"h2", "http/1.1"}
	}
	return out, nil
}

// TLS returns the configuration of the server's TLS, nil for a server without TLS. Every new connection uses the
// newest web-config file, certificate, key and CAs. A web-config file cannot turn TLS on or off while the server
// runs.
func (g *Guard) TLS() *tls.Config {
	now := g.webConfig()
	if now.tls == nil {
		return nil
	}
	out := now.tls.Clone()
	out.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return g.webConfig().tls, nil }
	return out
}

// HTTP2 reports whether the web-config file lets clients speak HTTP/2, over TLS.
func (g *Guard) HTTP2() bool { return g.webConfig().http2 }

// webConfig returns the newest web-config that there is.
func (g *Guard) webConfig() *webConfig { return g.rules.Load().webConfig() }

// makeWebConfig returns a function that reads the file, and refuses a new content that the running server cannot apply.
func makeWebConfig(path string) func() (*webConfig, []string, error) {
	var before *webConfig
	return func() (*webConfig, []string, error) {
		c, files, err := readWebConfig(path)
		switch {
		case err != nil:
			return nil, files, err
		case before != nil && (c.tls == nil) != (before.tls == nil):
			return nil, files, fmt.Errorf("%s: TLS cannot be turned on or off without a restart", path)
		}
		before = c
		return c, files, nil
	}
}

// ofCertificate returns the caller that a verified client certificate names, if there is one.
func (g *Guard) ofCertificate(state *tls.ConnectionState) (Caller, bool) {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return Caller{}, false
	}
	return g.named("certificate", commonName(state.VerifiedChains[0][0]), g.rules.Load().policy.Certificate), true
}

func commonName(c *x509.Certificate) string { return c.Subject.CommonName }

// named returns the caller with an authenticated name. Its role is Admin if the policy lists the name in Admins,
// otherwise the given role.
func (g *Guard) named(kind, name string, role Role) Caller {
	c := Caller{Role: role, User: name, Credential: kind + " " + name}
	if slices.Contains(g.rules.Load().policy.Admins, name) {
		c.Role = Admin
	}
	return c
}
