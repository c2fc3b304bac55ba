package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
)

// fixedLevel is a log level without a log.
type fixedLevel struct{ level string }

func (l *fixedLevel) Level() wire.LogLevel { return wire.LogLevel{Level: l.level, Configured: "info"} }

func (l *fixedLevel) Set(level string, d time.Duration) (wire.LogLevel, error) {
	if level == "error" {
		return wire.LogLevel{}, errors.New("not that")
	}
	until := epoch().Add(d)
	l.level = level
	return wire.LogLevel{Level: level, Configured: "info", Until: &until}, nil
}

// put sends a body with a token.
func (f *fixture) put(path, body, token string) (int, string) {
	f.Helper()
	req := httptest.NewRequestWithContext(f.Context(), http.MethodPut, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

// TestLogLevel proves that only an administrator can change the level, for a limited time, and that invalid values are
// refused.
func TestLogLevel(t *testing.T) {
	f := serve(t, main(10))
	status, body := f.put("/v1/log-level", `{"level":"debug","for_seconds":90}`, adminToken)
	var got wire.LogLevel
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, body, err)
	}
	if got.Level != "debug" || got.Until == nil || !got.Until.Equal(epoch().Add(90*time.Second)) {
		t.Errorf("%+v, want debug for 90 s", got)
	}
	for body, want := range map[string]int{
		`{"level":"loud"}`: 422, `{}`: 422, `{"level":"info","for_seconds":-1}`: 422,
		`{"level":"info","for_seconds":1e9}`: 422, `{"level":"error"}`: 422, `no`: 400,
	} {
		if status, answer := f.put("/v1/log-level", body, adminToken); status != want {
			t.Errorf("%s: %d, want %d: %s", body, status, want, answer)
		}
	}
	if status, _ := f.put("/v1/log-level", `{"level":"warn"}`, "another token"); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	if a := f.do(http.MethodGet, "/v1/log-level", nil); a.status != http.StatusUnauthorized {
		t.Errorf("reading without the token: %d", a.status)
	}
	a := f.do(http.MethodGet, "/v1/log-level", http.Header{"Authorization": {"Bearer " + adminToken}})
	if !strings.Contains(string(a.body), `"level":"debug"`) || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v: the level is not what was set last", a.body, a.header)
	}
}

// TestGoroutines proves that only administrators get the stacks, and that they are those of this program.
func TestGoroutines(t *testing.T) {
	f := serve(t, main(10))
	if a := f.do(http.MethodGet, "/v1/goroutines", nil); a.status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", a.status)
	}
	a := f.do(http.MethodGet, "/v1/goroutines", http.Header{"Authorization": {"Bearer " + adminToken}})
	if a.status != http.StatusOK || !strings.Contains(string(a.body), "TestGoroutines") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
