package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// These tests use a fake: an HTTP server that sends fixed answers in the daemon's format and computes nothing.

func ptr[T any](v T) *T { return &v }

// canned returns the fixed answer of the fake server, with invented numbers.
func canned() wire.Wait {
	at := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	return wire.Wait{
		Cluster: "main", Queue: "short", Procs: 16, Nodes: 2, TimeLimitSeconds: 9000,
		WaitSeconds: wire.Quantiles{P10: ptr(300.), P25: ptr(1200.), P50: ptr(2100.), P75: ptr(4200.), P90: ptr(10800.),
			P95: ptr(19200.)},
		Start:       wire.Instants{P50: ptr(at.Add(35 * time.Minute))},
		StartWithin: wire.StartWithin{Minute: 0.004, TenMinutes: 0.2, Hour: 0.6, FourHours: 0.92, Day: 0.999},
		Method:      "waitcast",
		Reason: "12 jobs with 96 processors wait ahead in the queue; 40 processors must become free before this " +
			"job can start.",
		AsOf: at, AgeSeconds: 3,
	}
}

// serve starts a fake that answers every request with status and body.
func serve(t *testing.T, status int, body any) string {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	server := httptest.NewServer(withoutHealth(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// result is the output and the exit code of a run of the command.
type result struct {
	code           int
	stdout, stderr string
}

// runWith runs the command in UTC, with an environment in which only WAITCAST_URL is set.
func runWith(url string, args ...string) result {
	return runIn(map[string]string{"WAITCAST_URL": url}, args...)
}

// noEnv is an empty environment.
func noEnv(string) string { return "" }

// runIn runs the command in an environment.
func runIn(env map[string]string, args ...string) result {
	var stdout, stderr bytes.Buffer
	a := &app{Console: console.Console{Stdout: &stdout, Stderr: &stderr}, zone: time.UTC,
		env: func(name string) string { return env[name] }}
	code := a.run(args)
	return result{code, stdout.String(), stderr.String()}
}

// asMain is the variable that makes the test binary act as the command: see TestProcess.
const asMain = "WAITCAST_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"waitcast": main})
}
