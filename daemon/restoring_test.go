package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/daemon"
)

// stopped is a log that stops the daemon when it writes a line with the given message for the first time.
type stopped struct {
	zapcore.Core
	message string
	reached chan struct{} // receives one value when the line is written
	goOn    chan struct{} // closed by the test to let the daemon go on
}

func (s *stopped) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return c.AddCore(e, s)
}

func (s *stopped) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if e.Message == s.message {
		select {
		case s.reached <- struct{}{}:
			<-s.goOn
		case <-s.goOn:
		}
	}
	return s.Core.Write(e, fields)
}

// restoringDaemon is a daemon whose start is stopped when it has replayed the first entry of its journal.
type restoringDaemon struct {
	*running
	*stopped
	started chan error
}

// restoring starts a daemon of the given version on a site.
func restoring(t *testing.T, s *site, version string) *restoringDaemon {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	log := &stopped{Core: core, message: "restoring the state", reached: make(chan struct{}), goOn: make(chan struct{})}
	r := &running{Daemon: daemon.New(s.load(t), daemon.Options{Log: zap.New(log), Version: version}), t: t, logs: logs}
	r.http.Transport = &http.Transport{}
	d := &restoringDaemon{running: r, stopped: log, started: make(chan error, 1)}
	go func() { d.started <- d.Start(context.WithoutCancel(t.Context())) }()
	select {
	case <-log.reached:
	case err := <-d.started:
		t.Fatalf("the start ended without a replay: %v", err)
	}
	t.Cleanup(d.stop)
	return d
}

// release lets the daemon go on, and waits until it has started.
func (d *restoringDaemon) release() {
	d.t.Helper()
	close(d.goOn)
	if err := <-d.started; err != nil {
		d.t.Fatal(err)
	}
}

// wantRestoring checks what every surface reports while the state is restored for a reason.
func (d *restoringDaemon) wantRestoring(reason string) {
	d.t.Helper()
	text := "state_restoring: " + reason + ": the state is rebuilt from the journal: "
	if status, body := d.get("/healthz"); status != http.StatusOK || body != "ok\n" {
		d.t.Errorf("/healthz: %d %s", status, body)
	}
	ready := regexp.MustCompile(`^not ready\n` + regexp.QuoteMeta(text) + `\d+ % done.*\n$`)
	if status, body := d.get("/readyz"); status != http.StatusServiceUnavailable || !ready.MatchString(body) {
		d.t.Errorf("/readyz: %d %s, want %s", status, body, ready)
	}
	if status := daemon.StartLine(d.Daemon); !strings.HasPrefix(status, text) {
		d.t.Errorf("systemd's status is %q, want %q", status, text)
	}
	series := fmt.Sprintf(`waitcast_health_condition{cluster="",condition="state_restoring",file="",reason=%q,`+
		`source=""}`, reason+": the state is rebuilt from the journal")
	if d.metric(series) != "1" {
		d.t.Error("the metrics do not have the condition")
	}
	for _, path := range []string{
		"/v1/wait?procs=4", "/v1/queues", "/v1/now", "/v1/jobs", "/v1/accuracy", "/v1/watch",
	} {
		d.wantRefused(path, text)
	}
}

// wantRefused checks the problem that answers a question while the state is restored.
func (d *restoringDaemon) wantRefused(path, text string) {
	d.t.Helper()
	response, err := d.http.Get("http://" + d.Addr().String() + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var p wire.Problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	retry, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if p.Status != http.StatusServiceUnavailable || response.StatusCode != p.Status ||
		p.Type != wire.ProblemNoForecast || p.Reason != "state_restoring" || !strings.HasPrefix(p.Detail, text) ||
		err != nil || retry < 1 ||
		response.Header.Get("Content-Type") != "application/problem+json" {
		d.t.Errorf("%s: %s with Retry-After %q: %+v", path, response.Status, response.Header.Get("Retry-After"), p)
	}
}

// TestPortIsOpenDuringARebuild proves that a daemon that rebuilds its state answers at once, and reports the true
// reason: another value of a key, another version of the program, or both. Once the state is restored, it answers
// questions.
func TestPortIsOpenDuringARebuild(t *testing.T) {
	s := newSite(t, "20260302", "")
	for _, r := range workload(t, 1, 40) {
		s.add(t, r.text)
	}
	d := s.start(t)
	d.caughtUp()
	d.stop()
	procs := machine
	for _, c := range []struct {
		procs           int
		version, reason string
	}{
		{128, "test", "the configuration has other values of clusters[].procs"},
		{96, "next", "waitcastd was version test and is version next now, and the configuration has other values of " +
			"clusters[].procs"},
	} {
		s.edit(t, fmt.Sprint("procs: ", procs), fmt.Sprint("procs: ", c.procs))
		procs = c.procs
		r := restoring(t, s, c.version)
		r.wantRestoring(c.reason)
		r.release()
		r.caughtUp()
		if status, body := r.get("/v1/wait?queue=short&procs=4"); status != http.StatusOK {
			t.Errorf("GET /v1/wait: status %d: %s", status, body)
		}
		r.wantLog("restoring the state", c.reason)
		r.stop()
	}
}

// TestUpgradeIsTheReason proves that after an upgrade from an earlier version the configuration is not blamed for the
// rebuild.
func TestUpgradeIsTheReason(t *testing.T) {
	s := newSite(t, "20260302", "")
	write(t, s.log, read(t, filepath.Join("testdata", "before-0.1.0.pbs")))
	unpack(t, filepath.Join("testdata", "before-0.1.0.db.gz"), s.db)
	d := restoring(t, s, "next")
	d.wantRestoring("waitcastd was upgraded to version next")
	d.release()
}

// TestStartIsCancelledDuringARebuild proves that a daemon that is stopped while it restores its state stops at once and
// undoes what it has opened.
func TestStartIsCancelledDuringARebuild(t *testing.T) {
	s := newSite(t, "20260302", "")
	for _, r := range workload(t, 1, 40) {
		s.add(t, r.text)
	}
	d := s.start(t)
	d.caughtUp()
	d.stop()
	s.edit(t, fmt.Sprint("procs: ", machine), "procs: 128")
	core, _ := observer.New(zapcore.InfoLevel)
	log := &stopped{Core: core, message: "restoring the state", reached: make(chan struct{}), goOn: make(chan struct{})}
	next := daemon.New(s.load(t), daemon.Options{Log: zap.New(log), Version: "test"})
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() { started <- next.Start(ctx) }()
	<-log.reached
	cancel()
	close(log.goOn)
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("the start ended with %v", err)
	}
	if response, err := http.Get("http://" + next.Addr().String() + "/healthz"); err == nil {
		_ = response.Body.Close()
		t.Error("the daemon still listens")
	}
	again := s.start(t) // the database is free
	again.caughtUp()
}

// TestLongRebuild proves that a daemon that rebuilds its state from 12,000 jobs answers each request for /healthz with
// 200 and each question with 503 and a progress that grows, until it answers with forecasts.
func TestLongRebuild(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("it takes some ten minutes: set WAITCAST_LONG=1")
	}
	s := newSite(t, "20260302", "")
	var log strings.Builder
	for _, r := range workload(t, 1, 12_000) {
		log.WriteString(r.text)
	}
	s.add(t, log.String())
	d := s.start(t)
	if !pollLong(func() bool {
		status, body := d.get("/readyz")
		return status == http.StatusOK && !strings.Contains(body, "source_reading: ")
	}) {
		t.Fatal("the log is not read")
	}
	d.stop()
	s.edit(t, fmt.Sprint("procs: ", machine), "procs: 128")
	r := restoring(t, s, "test")
	began := time.Now()
	close(r.goOn)
	seen, highest := 0, -1
	share := regexp.MustCompile(`(\d+) % done`)
	for ended := false; !ended; {
		if status, body := r.get("/healthz"); status != http.StatusOK {
			t.Fatalf("/healthz: %d %s", status, body)
		}
		status, body := r.get("/v1/wait?queue=short&procs=4")
		if found := share.FindStringSubmatch(body); found != nil && status == http.StatusServiceUnavailable {
			now, err := strconv.Atoi(found[1])
			if err != nil || now < highest {
				t.Fatalf("%d %% after %d %%: %v", now, highest, err)
			}
			if now > highest {
				t.Logf("%s: %s", time.Since(began).Round(time.Second), body)
			}
			seen, highest = seen+1, now
		} else if status != http.StatusOK && !strings.Contains(body, "state_restoring") {
			t.Fatalf("/v1/wait: %d %s", status, body)
		}
		select {
		case err := <-r.started:
			if err != nil {
				t.Fatal(err)
			}
			ended = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Logf("%d answers with progress in %s", seen, time.Since(began))
	if seen == 0 || highest < 50 {
		t.Errorf("%d answers with progress, the highest %d %%", seen, highest)
	}
	if status, body := r.get("/v1/wait?queue=short&procs=4"); status != http.StatusOK {
		t.Errorf("/v1/wait: %d %s", status, body)
	}
}

// pollLong polls a condition for at most half an hour.
func pollLong(cond func() bool) bool {
	for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); <-time.After(time.Second) {
		if cond() {
			return true
		}
	}
	return false
}
