package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/internal/token"
)

// BenchmarkChain measures the whole handling of a request, from the metrics to the written answer, including the guard
// with a tokens file. Forecasts come from a table that the engine has made for the pool of the view. "wait" has
// requests for different jobs of different users; "unexplained" the same without explanations; "token" the same by a
// user with a token; "unchanged" a client that already has the answer; "alive" the chain of handlers without computing
// an answer.
func BenchmarkChain(b *testing.B) {
	handler := chain(b)
	wait := func(i int) string {
		return fmt.Sprintf("/v1/wait?queue=work&procs=%d&time_limit=%s&user=u%d", 1<<(i%7),
			[]string{"30m", "2h", "1-0", "90:00"}[i%4], i)
	}
	for _, part := range []struct {
		name, token string
		path        func(i int) string
		unchanged   bool
	}{
		{"wait", "", wait, false},
		{"unexplained", "", func(i int) string { return wait(i) + "&explain=false" }, false},
		{"token", userToken, wait, false},
		{"unchanged", "", wait, true},
		{"alive", "", func(int) string { return "/healthz" }, false},
	} {
		b.Run(part.name, func(b *testing.B) {
			w := &discard{header: http.Header{}}
			var requests []*http.Request
			for i := range 64 {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, part.path(i), nil)
				if err != nil {
					b.Fatal(err)
				}
				r.RemoteAddr = "192.0.2.7:4711"
				if part.token != "" {
					r.Header.Set("Authorization", "Bearer "+part.token)
				}
				if part.unchanged {
					handler.ServeHTTP(w, r)
					r.Header.Set("If-None-Match", w.header.Get("ETag"))
				}
				requests = append(requests, r)
			}
			want := http.StatusOK
			if part.unchanged {
				want = http.StatusNotModified
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.status = 0
				clear(w.header)
				if handler.ServeHTTP(w, requests[i%len(requests)]); w.status != want {
					b.Fatalf("status %d, want %d", w.status, want)
				}
			}
		})
	}
}

// chain returns a whole handler for a large view. Every caller may send requests in any user's name. There is no
// limit, but requests are counted.
func chain(b *testing.B) http.Handler {
	f := crowded(b, 1000, 2000)
	o := access.Options{
		Policy: access.Default(), TokensFile: filepath.Join(b.TempDir(), "tokens.yaml"),
		Registry: prometheus.NewRegistry(), Limits: access.Limits{PerSecond: 1e9, Burst: 1e9},
	}
	o.Policy.OthersAuto, o.Policy.Others = false, access.Public
	line, err := (&token.Token{Name: "mine", Role: "user", User: "u7", SHA256: token.Hash(userToken)}).Line()
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(o.TokensFile, []byte(line), 0o600); err != nil {
		b.Fatal(err)
	}
	g, err := access.New(o)
	if err != nil {
		b.Fatal(err)
	}
	return api.New(f.pipeline, api.Options{
		Version: "test", StaleAfter: staleAfter, Now: f.clock, Registry: prometheus.NewRegistry(),
		Log: zap.NewNop(), Guard: g,
	}).Handler()
}
