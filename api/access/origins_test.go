package access_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/waitcast/waitcast/api/access"
)

// from returns a request that a browser sends for a page of another site.
func from(t *testing.T, method, origin, path string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "https://daemon.example.org"+path, nil)
	r.Header.Set("Origin", origin)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return r
}

// TestOrigins proves that pages of the sites that the policy names can send requests and read the answers, and pages of
// other sites cannot. A reload changes the sites.
func TestOrigins(t *testing.T) {
	const portal, other = "https://ondemand.example.org", "https://elsewhere.example.org"
	policy := access.Default()
	policy.Origins = []string{portal}
	g := newGate(t, access.Options{Policy: policy})
	ask := func(r *http.Request) (status int, allowed string) {
		w := httptest.NewRecorder()
		g.handler.ServeHTTP(w, r)
		return w.Code, w.Header().Get("Access-Control-Allow-Origin")
	}
	expect := func(who string, r *http.Request, status int, allowed string) {
		t.Helper()
		if s, a := ask(r); s != status || a != allowed {
			t.Errorf("%s: %d, allowed %q, want %d, %q", who, s, a, status, allowed)
		}
	}
	expect("the site reads", from(t, http.MethodGet, portal, "/v1/queues"), http.StatusOK, portal)
	expect("the site sends", from(t, http.MethodPost, portal, "/v1/wait"), http.StatusOK, portal)
	expect("another site reads", from(t, http.MethodGet, other, "/v1/queues"), http.StatusOK, "")
	expect("another site sends", from(t, http.MethodPost, other, "/v1/wait"), http.StatusForbidden, "")
	expect("a site whose name begins alike", from(t, http.MethodPost, portal+".example.com", "/v1/wait"),
		http.StatusForbidden, "")

	before := from(t, http.MethodOptions, portal, "/v1/wait")
	before.Header.Set("Access-Control-Request-Method", http.MethodPost)
	before.Header.Set("Access-Control-Request-Headers", "content-type")
	expect("the site asks before it sends", before, http.StatusNoContent, portal)
	remove := from(t, http.MethodOptions, portal, "/v1/wait")
	remove.Header.Set("Access-Control-Request-Method", http.MethodDelete)
	expect("the site asks for what pages may not", remove, http.StatusNoContent, "")
	if want := "'self' " + portal; g.Ancestors() != want {
		t.Errorf("the page may be framed by %s, want %s", g.Ancestors(), want)
	}

	policy.Origins = nil
	apply, err := g.Prepare(access.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	apply()
	expect("the site after a reload", from(t, http.MethodPost, portal, "/v1/wait"), http.StatusForbidden, "")
	if g.Ancestors() != "'none'" {
		t.Errorf("the page may be framed by %s after the reload", g.Ancestors())
	}
}

// TestOriginsSendNoCredentials proves that no answer allows a browser to send its stored credentials.
func TestOriginsSendNoCredentials(t *testing.T) {
	policy := access.Default()
	policy.Origins = []string{"https://ondemand.example.org"}
	g := newGate(t, access.Options{Policy: policy})
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, from(t, http.MethodGet, policy.Origins[0], "/v1/queues"))
	if got := w.Header().Get("Access-Control-Allow-Credentials"); got != "" {
		t.Errorf("Access-Control-Allow-Credentials: %s", got)
	}
}
