package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/waitcast/waitcast/internal/pgtest"
)

// TestReadyOverReloads proves that a daemon that was ready once stays ready (status 200) during reloads, although the
// new core has not read a source to its end. (SIGHUP and a changed file cause the same Reload.) The source is a
// scheduler that is polled for the first time and does not answer until the test allows it.
func TestReadyOverReloads(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	r := s.start(t)
	r.wantReady(http.StatusOK, "ready\n")
	slow := filepath.Join(s.dir, "squeue")
	answer := slow + ".answer"
	//nolint:gosec // a program
	must(t, os.WriteFile(slow, []byte("#!/bin/sh\nwhile [ ! -e "+answer+" ]; do sleep 0.05; done\n"), 0o700))
	for i := range 2 {
		must(t, os.RemoveAll(answer))
		name := fmt.Sprint("asked", i)
		if i == 0 {
			s.edit(t, "sources: [",
				fmt.Sprintf("sources: [{name: %s, format: slurm-squeue, command: [%q], interval: 1s, timeout: 10m}, ",
					name, slow))
		} else {
			s.edit(t, "name: asked0", "name: "+name)
		}
		must(t, r.Reload(t.Context(), s.load(t)))
		r.wantReady(http.StatusOK,
			"degraded\nsource_reading: source main/"+name+": still reading what was there before\n")
		must(t, os.WriteFile(answer, nil, 0o600))
		r.wantReady(http.StatusOK, "ready\n")
	}
}

// TestServeOnlyLooksAtItsStore proves that a serving daemon reports in /readyz within seconds that its PostgreSQL does
// not answer, continues to serve, and recovers when the server is back.
func TestServeOnlyLooksAtItsStore(t *testing.T) {
	server := pgtest.New(t, pgtest.Options{})
	database := server.NewDatabase(t)
	log := filepath.Join(t.TempDir(), "log")
	write(t, log, text(workload(t, 34, 30)))
	collects := sharing(t, database, "main", log)
	collects.start()
	defer func() { collects.end(syscall.SIGTERM) }()
	r := serveOnly(t, database)
	r.wantReady(http.StatusOK, "ready\n")
	r.eventually("the first records", func() bool {
		status, _ := r.get("/v1/now")
		return status == http.StatusOK
	})
	must(t, server.Kill())
	r.eventually("degraded", func() bool {
		status, body := r.get("/readyz")
		return status == http.StatusOK && strings.HasPrefix(body, "degraded\nstore_failing: ")
	})
	if status, body := r.get("/readyz?strict=true"); status != http.StatusServiceUnavailable ||
		!strings.HasPrefix(body, "degraded\nstore_failing: ") {
		t.Errorf("strict: %d %s", status, body)
	}
	if status, body := r.get("/v1/now"); status != http.StatusOK {
		t.Errorf("now: %d %s", status, body)
	}
	r.wantMetric("waitcast_degraded", "1")
	must(t, server.Start())
	r.wantReady(http.StatusOK, "ready\n")
	r.wantMetric("waitcast_degraded", "0")
}
