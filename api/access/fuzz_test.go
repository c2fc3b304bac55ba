package access_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/api/access"
)

// FuzzCredential proves that no Authorization or X-Forwarded-For header gives a caller more rights than a caller
// without credentials has, and that none makes the guard panic.
func FuzzCredential(f *testing.F) {
	dir := f.TempDir()
	tokens := filepath.Join(dir, "tokens.yaml")
	write(f, tokens, line(f, "a-very-long-and-secret-token", "admin", ""))
	for _, seed := range []string{
		"Bearer x", "Basic YTpi", "Basic", "bearer  ", "", "Digest username=\"a\"", "Bearer \x00",
	} {
		f.Add(seed, "10.0.0.1, 192.0.2.1")
	}
	proxies, err := access.ParseProxies([]string{"0.0.0.0/0", "::/0"})
	if err != nil {
		f.Fatal(err)
	}
	g := newGate(f, access.Options{AdminToken: "another-very-long-and-secret-token", TokensFile: tokens,
		Limits: access.Limits{PerSecond: 1e6, Burst: 1e6, Proxies: proxies}})
	f.Fuzz(func(t *testing.T, credential, forwarded string) {
		one := *g
		one.TB = t
		w := one.from(abroad, func(r *http.Request) {
			r.Header["Authorization"], r.Header["X-Forwarded-For"] = []string{credential}, []string{forwarded}
		})
		if w.Code != http.StatusUnauthorized && (w.Code != http.StatusOK || w.Body.String() != `public "" ""`) {
			t.Errorf("%q, %q: %d %s", credential, forwarded, w.Code, w.Body)
		}
	})
}
