package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/polling"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// patience is the time after which a test fails if a condition is still not met.
const patience = 5 * time.Minute

// notUnderRace skips a test with -short, the option under which the race detector runs. It is for tests that cannot
// show a race that no other test shows.
func notUnderRace(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("its goroutines are those of other tests: not with -short")
	}
}

// site is a folder with a log, a configuration and a database.
type site struct {
	dir, log, db, config string
}

// newSite writes a configuration for a log with the name log in a new folder. extra is YAML that is added to the
// configuration.
func newSite(t testing.TB, log, extra string) *site {
	t.Helper()
	return siteOn(t, filepath.Join(t.TempDir(), log), extra)
}

// siteOn does the same as newSite for a log in another place.
func siteOn(t testing.TB, log, extra string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{dir: dir, log: log, db: filepath.Join(dir, "waitcast.db"), config: filepath.Join(dir, "waitcastd.yaml")}
	text := fmt.Sprintf(`
listen: 127.0.0.1:0
data_dir: %q
log: {level: info, format: json}
clusters:
  - name: main
    procs: %d
    time_zone: UTC
    sources: [{name: accounting, format: pbs, path: %q, poll: 20ms}]
models: {window_jobs: 400, min_samples: 5}
%s`, dir, machine, log, extra)
	write(t, s.config, text)
	return s
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// add appends text to the log.
func (s *site) add(t testing.TB, text string) {
	t.Helper()
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// running is a daemon in this process.
type running struct {
	*daemon.Daemon
	t    testing.TB
	logs *observer.ObservedLogs
	http http.Client
}

// start runs a daemon on the site until the test ends or stop is called.
func (s *site) start(t testing.TB) *running { return s.startAt(t, nil) }

// startAt does the same as start with a given clock; nil means the wall clock.
func (s *site) startAt(t testing.TB, now func() time.Time) *running {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	d := daemon.New(s.load(t), daemon.Options{Log: zap.New(core), Now: now, Version: "test"})
	r := &running{Daemon: d, t: t, logs: logs}
	r.http.Transport = &http.Transport{}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

func (s *site) load(t testing.TB) *config.Config {
	t.Helper()
	cfg, err := config.Load(s.config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// stop stops the daemon in order; a second call does nothing.
func (r *running) stop() {
	r.t.Helper()
	r.http.CloseIdleConnections()
	if err := r.Stop(); err != nil {
		r.t.Errorf("stopping: %v", err)
	}
}

// get returns status and body of one request.
func (r *running) get(path string) (int, string) {
	r.t.Helper()
	resp, err := r.http.Get("http://" + r.Addr().String() + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// caughtUp waits until the daemon has read everything.
func (r *running) caughtUp() {
	r.t.Helper()
	r.eventually("all is read", func() bool { // after a reload the status is 200 earlier
		status, body := r.get("/readyz")
		return status == http.StatusOK && !strings.Contains(body, "source_reading: ")
	})
}

// metric returns the value of a series, "" if there is none.
func (r *running) metric(series string) string {
	r.t.Helper()
	_, body := r.get("/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// wantMetric waits until a series has a value.
func (r *running) wantMetric(series, value string) {
	r.t.Helper()
	r.eventually(series+" "+value, func() bool { return r.metric(series) == value })
}

// wantLog waits until the daemon has logged a message that contains all the words in its text or fields.
func (r *running) wantLog(words ...string) {
	r.t.Helper()
	r.eventually("log: "+strings.Join(words, " ... "), func() bool {
		for _, e := range r.logs.All() {
			fields, _ := json.Marshal(e.ContextMap())
			text, found := e.Message+" "+string(fields), true
			for _, w := range words {
				found = found && strings.Contains(text, w)
			}
			if found {
				return true
			}
		}
		return false
	})
}

// eventually polls a condition until it is true.
func (r *running) eventually(what string, cond func() bool) {
	r.t.Helper()
	eventually(r.t, what, cond)
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !polling.Until(patience, cond) {
		t.Fatalf("waited %s in vain for: %s", patience, what)
	}
}

// kept is the content of a database.
type kept struct {
	Entries  []modelstore.Entry
	Rows     []modelstore.Row
	Bad      []modelstore.BadLine
	Snapshot *modelstore.Snapshot
}

// kept reads the database of a stopped daemon.
func (s *site) kept(t testing.TB) kept {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, s.db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	if r := store.Recovered(); r != nil {
		t.Fatalf("the database was damaged: %v", r.Reason)
	}
	return keptIn(t, store)
}

// keptIn reads a database.
func keptIn(t testing.TB, store modelstore.Store) kept {
	t.Helper()
	ctx := t.Context()
	var err error
	var k kept
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(store.Replay(ctx, 0, func(e modelstore.Entry) error { k.Entries = append(k.Entries, e); return nil }))
	must(store.Rows(ctx, modelstore.RowQuery{}, func(r modelstore.Row) error {
		k.Rows = append(k.Rows,
			r)
		return nil
	}))
	k.Bad, err = store.BadLines(ctx, 0)
	must(err)
	k.Snapshot, err = store.Latest(ctx)
	must(err)
	return k
}
