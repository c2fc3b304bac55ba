package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/daemon"
)

// stream is an unfinished answer of GET /v1/watch.
type stream struct {
	body io.ReadCloser
	end  chan error // receives the error that ended it
}

// watches opens a stream. It returns once the first event has come.
func (r *running) watches() *stream {
	r.t.Helper()
	question := url.QueryEscape(`{"places": [{"queue": "short"}], "sizes": [1, 2], ` +
		`"runtime": {"amdahl": {"serial": 0.1, "t1_seconds": 3600}}}`)
	//nolint:bodyclose // closed by the cleanup
	resp, err := r.http.Get("http://" + r.Addr().String() + "/v1/watch?request=" + question)
	must(r.t, err)
	s := &stream{body: resp.Body, end: make(chan error, 1)}
	r.t.Cleanup(func() { _ = s.body.Close() })
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("GET /v1/watch: %d %v", resp.StatusCode, lines.Err())
	}
	go func() {
		for lines.Scan() {
		}
		s.end <- errors.Join(lines.Err(), io.EOF)
	}()
	return s
}

// open reports whether the stream continues.
func (s *stream) open() bool {
	select {
	case err := <-s.end:
		s.end <- err
		return false
	default:
		return true
	}
}

// restored counts the restores of the state that the daemon has logged.
func (r *running) restored() int { return r.logs.FilterMessage("restored").Len() }

// TestReloadChangesTheParts proves which parts a reload replaces and which it keeps, for one key of each class of
// effects: the writer with its models, the HTTP server, and the clients' streams. Only keys of the last two classes
// cause the state to be restored.
func TestReloadChangesTheParts(t *testing.T) {
	s := newSite(t, "log", "access: {users: hidden}\nlimits: {burst: 4000}\naccuracy: {retention: 400d}\n")
	records := workload(t, 15, 60)
	half := len(records) / 2
	s.add(t, text(records[:half]))
	cfg := s.load(t)
	observed, logs := observer.New(zapcore.DebugLevel)
	_, level, err := daemon.NewLeveledLogger(cfg.Log)
	must(t, err)
	r := &running{Daemon: daemon.New(cfg, daemon.Options{Log: zap.New(observed), Level: level, Version: "test"}), t: t,
		logs: logs}
	r.http.Transport = &http.Transport{}
	must(t, r.Start(t.Context()))
	t.Cleanup(r.stop)
	r.caughtUp()
	write(t, filepath.Join(s.dir, "web.yaml"), "http_server_config: {headers: {X-Frame-Options: deny}}\n")
	must(t, os.Link(s.log, s.log+".link"))
	status := func(path string) int {
		code, _ := r.get(path)
		return code
	}

	for _, c := range []struct {
		name, old, new                 string
		writer, server, streams, exact bool // which parts stay the same
		restored                       int
		effect                         func() bool
	}{
		{"the log's format", "format: json", "format: console", true, true, true, true, 0, func() bool { return true }},
		{
			"the log's level", "level: info", "level: warn", true, true, true, true, 0,
			func() bool { return level.Level().Level == "warn" },
		},
		{
			"access", "users: hidden", "others: admin", true, true, true, true, 0,
			func() bool { return status("/v1/jobs") == http.StatusUnauthorized },
		},
		{
			"limits", "burst: 4000", "body: 1024", true, true, true, true, 0,
			func() bool { return r.posts(2000) == http.StatusRequestEntityTooLarge },
		},
		{
			"how old is stale", "listen:", "stale_after: 30000d\nlisten:", true, true, true, true, 0,
			func() bool {
				_, body := r.get("/v1/queues")
				return strings.Contains(body, `"stale":false`)
			},
		},
		{
			"the path of a source", fmt.Sprintf("%q", s.log), fmt.Sprintf("%q", s.log+".link"), true, true, true, false,
			0,
			func() bool { return r.metric(`waitcast_tail_lag_bytes{source="main/accounting"}`) == "0" },
		},
		{
			"the name of a source", "name: accounting", "name: renamed", true, true, true, false, 0,
			func() bool {
				_, body := r.get("/metrics")
				return strings.Contains(body, "main/renamed") && !strings.Contains(body, "main/accounting")
			},
		},
		{
			"the web-config file", "listen:", fmt.Sprintf("web_config_file: %q\nlisten:",
				filepath.Join(s.dir, "web.yaml")),
			true, false, false, true, 0,
			func() bool {
				resp, err := r.http.Get("http://" + r.Addr().String() + "/v1/queues")
				must(t, err)
				return resp.Body.Close() == nil && resp.Header.Get("X-Frame-Options") == "deny"
			},
		},
		{"a retention", "400d", "399d", false, true, false, false, 1, func() bool { return true }},
		{
			"a queue", "sources:", "queues: [{name: fresh}]\n    sources:", false, true, false, false, 1,
			func() bool {
				_, body := r.get("/v1/queues")
				return strings.Contains(body, `"fresh"`)
			},
		},
	} {
		watched := r.watches()
		writer, server, restored := daemon.Pipeline(r.Daemon), daemon.Server(r.Daemon), r.restored()
		view := r.Views()[0]
		s.edit(t, c.old, c.new)
		if err := r.Reload(t.Context(), s.load(t)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := daemon.Pipeline(r.Daemon) == writer; got != c.writer {
			t.Errorf("%s: the writer is the same: %v", c.name, got)
		}
		if got := daemon.Server(r.Daemon) == server; got != c.server {
			t.Errorf("%s: the HTTP server is the same: %v", c.name, got)
		}
		if now := r.Views()[0]; c.exact && (now.Models != view.Models || now.Seq != view.Seq) {
			t.Errorf("%s: the published models are others", c.name)
		}
		if got := r.restored() - restored; got != c.restored {
			t.Errorf("%s: the state was restored %d times, want %d", c.name, got, c.restored)
		}
		r.eventually(c.name+" is in force", c.effect)
		if c.streams {
			r.wantMetric("waitcast_watch_subscribers", "1")
		} else {
			r.eventually(c.name+": the stream ends", func() bool { return !watched.open() })
		}
		if watched.open() != c.streams {
			t.Errorf("%s: the stream is open: %v", c.name, !c.streams)
		}
		_ = watched.body.Close()
		r.http.CloseIdleConnections()
		r.wantMetric("waitcast_watch_subscribers", "0")
	}
	s.add(t, text(records[half:]))
	r.eventually("it reads on", func() bool { return r.Views()[0].At.Equal(records[len(records)-1].at) })
}

// posts sends a request with a body of a given size and returns the status.
func (r *running) posts(size int) int {
	r.t.Helper()
	body := `{"account": "` + strings.Repeat("x", size) + `"}`
	resp, err := r.http.Post("http://"+r.Addr().String()+"/v1/wait", "application/json", strings.NewReader(body))
	must(r.t, err)
	must(r.t, resp.Body.Close())
	return resp.StatusCode
}

// TestReloadSourcesUnderLoad proves that a source can be changed again and again while its log is written and requests
// are answered: journal, ledger, quarantine and state equal those of an undisturbed daemon, although the state was
// never restored.
func TestReloadSourcesUnderLoad(t *testing.T) {
	calm, s := newSite(t, "log", snapshotOften), newSite(t, "log", snapshotOften)
	records := workload(t, 16, 400)
	calm.add(t, text(records))
	u := calm.start(t)
	u.caughtUp()
	u.stop()

	s.add(t, text(records[:40]))
	must(t, os.Link(s.log, s.log+".link"))
	d := s.start(t)
	d.caughtUp()
	writer, watched := daemon.Pipeline(d.Daemon), d.watches()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { asked <- askOn(ctx, d.Addr().String()) }()
	written := make(chan struct{})
	go func() {
		defer close(written)
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for rest := records[40:]; len(rest) > 0; {
			n := min(3, len(rest))
			s.add(t, text(rest[:n]))
			rest = rest[n:]
			<-pace.C
		}
	}()
	reloads := 0
	for under := true; under; reloads++ {
		select {
		case <-written:
			under = false
		default:
		}
		path, other := s.log, s.log+".link"
		if reloads%2 == 1 {
			path, other = other, path
		}
		s.edit(t, fmt.Sprintf("%q, poll: ", path), fmt.Sprintf("%q, poll: ", other))
		d.eventually("the writer is not busy", func() bool {
			err := d.Reload(t.Context(), s.load(t))
			if !errors.Is(err, daemon.ErrBusy) {
				must(t, err)
			}
			return err == nil
		})
	}
	d.caughtUp()
	d.eventually("all is read", func() bool { return d.Views()[0].At.Equal(records[len(records)-1].at) })
	cancel()
	if err := <-asked; err != nil {
		t.Errorf("a question meanwhile: %v", err)
	}
	if reloads < 3 || daemon.Pipeline(d.Daemon) != writer || d.restored() != 1 || !watched.open() {
		t.Errorf("%d reloads, %d restores; the stream is open: %v", reloads, d.restored(), watched.open())
	}
	t.Logf("%d reloads", reloads)
	_ = watched.body.Close()
	d.stop()
	got, want := s.kept(t), calm.kept(t)
	compare(t, &got, &want)
}

// TestReloadSourcesDuringImport proves that an import continues while the sources are replaced, and that no job of it
// is lost.
func TestReloadSourcesDuringImport(t *testing.T) {
	const jobs = 600
	s := importSite(t, 128)
	s.add(t, life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	body, feed := io.Pipe()
	report, failed := make(chan *wire.ImportReport, 1), make(chan error, 1)
	go func() {
		r, err := d.send(t.Context(), s, upload("swf", body))
		report <- r
		failed <- err
	}()
	for i := range jobs {
		if _, err := fmt.Fprintf(feed, "%d %d 5 60 4 -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1\n", i+1,
			1_000_000+100*i); err != nil {
			t.Fatal(err)
		}
		if i%200 == 100 {
			polls := [2]string{"poll: 20ms", "poll: 30ms"}
			s.edit(t, polls[i/200%2], polls[1-i/200%2])
			must(t, d.Reload(t.Context(), s.load(t)))
		}
	}
	must(t, feed.Close())
	if r := <-report; r == nil || r.Jobs != jobs || r.NewJobs != jobs {
		t.Errorf("imported %+v, want %d jobs", r, jobs)
	}
	must(t, <-failed)
	if d.restored() != 1 {
		t.Error("the state was restored")
	}
}
