package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// server is a running waitcastd.
type server struct {
	cmd   *exec.Cmd
	log   string
	url   string
	ended chan struct{} // closed when it has ended
}

func startDaemon(ctx context.Context, o *options, dir string) (*server, error) {
	d := &server{log: filepath.Join(dir, "daemon.log"), ended: make(chan struct{})}
	followed, history := filepath.Join(dir, "accounting"), ""
	if !o.follow {
		history = fmt.Sprintf("history: {files: [%s]}, ", followed)
		followed = filepath.Join(dir, "empty")
		if err := os.WriteFile(followed, nil, 0o600); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf(`listen: 127.0.0.1:0
data_dir: %s
stale_after: 24h
log: {format: json}
clusters: [{name: main, time_zone: UTC, %ssources: [{format: pbs, path: %s}]}]
`, filepath.Join(dir, "data"), history, followed)
	path := filepath.Join(dir, "waitcast.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the daemon has its own descriptor
	d.cmd = exec.CommandContext(ctx, o.daemon, "--config", path)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w (make build)", o.daemon, err)
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // the daemon's log has the reason why it ended
	}()
	return d, nil
}

func (d *server) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt) // fails only if the daemon has ended already
	<-d.ended
}

// ready waits until the daemon has read its log to the end. The daemon writes its address to its own log.
func (d *server) ready(ctx context.Context) error {
	address := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
	for {
		if log, err := os.ReadFile(d.log); err == nil && d.url == "" {
			d.url = string(address.Find(log))
		}
		if d.url != "" {
			if _, err := d.get(ctx, "/readyz"); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.ended:
			log, _ := os.ReadFile(d.log)
			return fmt.Errorf("the daemon has ended: %s", log)
		case <-time.After(time.Second):
		}
	}
}

func (d *server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return body, err
}

// usage is the CPU time of the daemon in seconds, and its resident memory in bytes, now and at its peak.
type usage struct {
	cpu               float64
	resident, highest int64
}

// usage reads proc_pid_stat(5), whose ticks are hundredths of a second, and proc_pid_status(5).
func (d *server) usage() (usage, error) {
	var u usage
	folder := filepath.Join("/proc", fmt.Sprint(d.cmd.Process.Pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system float64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return u, err
	}
	u.cpu = (user + system) / 100
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return u, err
	}
	for name, to := range map[string]*int64{"VmRSS:": &u.resident, "VmHWM:": &u.highest} {
		_, rest, _ := strings.Cut(string(status), name)
		if _, err := fmt.Sscan(rest, to); err != nil {
			return u, fmt.Errorf("%s in %s/status: %w", name, folder, err)
		}
		*to *= 1024
	}
	return u, nil
}
