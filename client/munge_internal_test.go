package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestMungeMayGo proves that the client sends a credential only over TLS or to this host, and only with a request that
// can be sent again.
func TestMungeMayGo(t *testing.T) {
	once := io.MultiReader(strings.NewReader("an upload"))
	for _, one := range []struct {
		url  string
		body io.Reader
		want bool
	}{
		{"https://head.example:9817/v1/me", nil, true},
		{"http://127.0.0.1:9817/v1/me", nil, true},
		{"http://[::1]:9817/v1/me", nil, true},
		{"http://localhost/v1/wait", strings.NewReader("{}"), true},
		{"http://localhost/v1/import", once, false},
		{"http://head.example:9817/v1/me", nil, false},
		{"http://192.0.2.7/v1/me", nil, false},
		{"http://127.0.0.1.evil.example/v1/me", nil, false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, one.url, one.body)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayMunge(r); got != one.want {
			t.Errorf("%s: %v, want %v", one.url, got, one.want)
		}
	}
}
