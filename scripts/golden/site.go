package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
)

// source is a log that a daemon follows. Each source is a separate cluster, so that the order of records does not
// depend on which log is read first.
type source struct {
	cluster, format string
	procs           int
	file            string // name in the site's folder
	answer          string // instead of file: slurmrestd's answer to a request for jobs
}

// site is a folder with logs, a configuration and a database.
type site struct {
	tools *tools
	dir   string
	url   string // of the daemon
}

func newSite(t *tools, name string, sources []source, database string) (*site, error) {
	s := &site{tools: t, dir: filepath.Join(t.work, name)}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s.url = "http://" + port
	var out strings.Builder
	fmt.Fprintf(&out, "listen: %s\ndata_dir: %q\nlog: {level: warn, format: json}\n", port, s.path("data"))
	out.WriteString("limits: {requests_per_second: 0, write_timeout: 10m}\nclusters:\n")
	for _, in := range sources {
		fmt.Fprintf(&out, "  - name: %s\n    procs: %d\n    time_zone: UTC\n    sources:\n", in.cluster, in.procs)
		if in.answer != "" {
			fmt.Fprintf(&out, "      - {name: log, format: %s, socket: %q, interval: 1s}\n", in.format,
				s.path(in.cluster))
			continue
		}
		fmt.Fprintf(&out, "      - {name: log, format: %s, path: %q, poll: 20ms}\n", in.format, s.path(in.file))
	}
	// Snapshots depend only on the number of events, because the time between two is longer than any run.
	fmt.Fprintf(&out, "store: {snapshot_events: 900, snapshot_interval: 1h%s}\n", database)
	return s, os.WriteFile(s.path("waitcastd.yaml"), []byte(out.String()), 0o644)
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// append writes text to the end of a log.
func (s *site) append(file, text string) error {
	f, err := os.OpenFile(s.path(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// process is a running waitcastd.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	gone   chan struct{}
}

// spawn starts the real daemon and waits until it has read all lines.
func (s *site) spawn(ctx context.Context, program string) (*process, error) {
	p := &process{gone: make(chan struct{})}
	p.cmd = exec.Command(program, "--config", s.path("waitcastd.yaml")) //nolint:noctx // stop and kill end it
	p.cmd.Stderr, p.cmd.Env, p.cmd.Dir = &p.stderr, s.tools.env(), s.dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.gone)
		_ = p.cmd.Wait() // the exit code is checked where it matters
	}()
	err := poll(ctx, func() (bool, error) {
		select {
		case <-p.gone:
			return false, fmt.Errorf("%s ended by itself: %s", program, p.stderr.String())
		default:
			return s.ready(ctx), nil
		}
	})
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return p, nil
}

// ready reports whether the daemon has read the lines that existed at its start. The status of /readyz alone does not
// show this: a daemon that stands by until the lease of a killed one expires is ready without having read. So
// waitcast_collecting must be 1 too.
func (s *site) ready(ctx context.Context) bool {
	status, _, _, err := ask(ctx, s.url, request{method: "GET", path: "/readyz"})
	if err != nil || status != http.StatusOK {
		return false
	}
	m, err := series(ctx, s.url)
	return err == nil && m["waitcast_collecting"] == "1"
}

func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.gone
	return err
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.gone
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("waitcastd ended with %d after SIGTERM: %s", code, p.stderr.String())
	}
	return nil
}

// clocked is a daemon in this process on the test's clock. It is needed because answers depend on the wall clock, which
// the program waitcastd takes from the system.
type clocked struct {
	*daemon.Daemon
	site *site
	now  atomic.Int64
}

func (s *site) clocked(ctx context.Context, at int64) (*clocked, error) {
	cfg, err := config.Load(s.path("waitcastd.yaml"), nil)
	if err != nil {
		return nil, err
	}
	c := &clocked{site: s}
	c.now.Store(at)
	now := func() time.Time { return time.Unix(c.now.Load(), 0).UTC() }
	c.Daemon = daemon.New(cfg, daemon.Options{Version: "golden", Now: now})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	if err := poll(ctx, func() (bool, error) { return s.ready(ctx), nil }); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// patience is the maximum time until a condition must be true.
const patience = 2 * time.Minute

// poll waits until a condition is true.
func poll(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// serve answers like slurmrestd on a Unix socket, until the context ends.
func (s *site) serve(ctx context.Context, in source) error {
	l, err := net.Listen("unix", s.path(in.cluster)) //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/jobs") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, in.answer) // a client that does not read the answer asks again
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(handler)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // ends with the context
	return nil
}
