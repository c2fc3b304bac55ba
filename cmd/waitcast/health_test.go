package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// serveHealth starts a fake that answers GET /v1/health with health and every other request with answer.
func serveHealth(t *testing.T, answer any, health *wire.Health) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/health" {
			_ = json.NewEncoder(w).Encode(health)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestDegradedWarns proves that the command repeats the daemon's conditions beside an answer that is not stale, with
// exit code 0, and that no name of a file can control the terminal.
func TestDegradedWarns(t *testing.T) {
	words := "source_unreadable: source main/jobcomp: /var/log/slurm/jobcomp.log: permission denied"
	health := &wire.Health{Status: wire.Degraded, Conditions: []wire.Condition{{Text: words}, {Text: "x\x1b[2J"}}}
	r := runWith(serveHealth(t, canned(), health), question...)
	if r.code != exitDone || !strings.HasPrefix(r.stdout, "Median wait") {
		t.Errorf("exit %d, %q", r.code, r.stdout)
	}
	if !strings.Contains(r.stderr, "waitcast: the daemon is degraded: "+words+"\n") ||
		strings.Contains(r.stderr, "\x1b") {
		t.Errorf("standard error: %q", r.stderr)
	}
	r = runWith(serveHealth(t, canned(), &wire.Health{Status: wire.Ready}), question...)
	if r.code != exitDone || r.stderr != "" {
		t.Errorf("ready: exit %d, %q", r.code, r.stderr)
	}
}

// TestStaleSaysWhy proves that the command repeats the daemon's reason for a stale answer and does not add another one.
func TestStaleSaysWhy(t *testing.T) {
	w := canned()
	w.Stale, w.AgeSeconds = true, 12
	why := "source_unreadable: source main/jobcomp: /var/log/slurm/jobcomp.log: permission denied; for longer than " +
		"the limit (stale_after) of 5 min"
	health := &wire.Health{Status: wire.Degraded, Stale: []wire.StaleCluster{{Cluster: "main", Reason: why}}}
	r := runWith(serveHealth(t, w, health), question...)
	if r.code != exitStale ||
		!strings.Contains(r.stderr, "the data is stale, the forecast may be far off: "+why+"\n") ||
		strings.Contains(r.stderr, "12 s") {
		t.Errorf("exit %d, standard error: %q", r.code, r.stderr)
	}
}

// withoutHealth is the handler of a daemon without GET /v1/health, which the command requests after each answer.
func withoutHealth(answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	})
}
