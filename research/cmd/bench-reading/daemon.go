package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// learn starts a daemon that imports a log as a history. It returns the CPU time of the daemon from its start until it
// answers from the history.
func learn(ctx context.Context, o *options, dir, format, log string) (time.Duration, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := fmt.Sprintf(`listen: 127.0.0.1:0
data_dir: %s
log: {format: json}
history_retention: 36500d
clusters:
  - name: main
    time_zone: UTC
    history: {files: [%s], format: %s, mode: %s}
    sources: [{format: pbs, path: %s/empty}]
`, dir, log, format, o.mode, dir)
	path := filepath.Join(dir, "waitcastd.yaml")
	for name, text := range map[string]string{path: config, filepath.Join(dir, "empty"): ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = stderr.Close() }() // the daemon has its own descriptor
	cmd := exec.CommandContext(ctx, o.daemon, "--config", path)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%s: %w (make build)", o.daemon, err)
	}
	defer func() {
		_ = cmd.Process.Kill() // the daemon is not needed any more
		_ = cmd.Wait()
	}()
	if err := learnt(ctx, stderr.Name()); err != nil {
		return 0, err
	}
	return usedBy(cmd.Process.Pid)
}

// learnt waits until the daemon that writes this log is ready. Until then /readyz reports that the history is being
// learnt.
func learnt(ctx context.Context, log string) error {
	address, url := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`), ""
	for range 9000 {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		if url = string(address.Find(text)); url != "" && ready(ctx, url) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	text, err := os.ReadFile(log)
	return errors.Join(fmt.Errorf("the history is not learnt after 30 minutes; the daemon's log: %s", text), err)
}

func ready(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// usedBy returns the CPU time of a running process (proc_pid_stat(5); ticks are hundredths of a second).
func usedBy(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := regexp.MustCompile(`\) (.*)`).FindSubmatch(text)
	if fields == nil {
		return 0, fmt.Errorf("/proc/%d/stat: %q is not what proc_pid_stat(5) describes", pid, text)
	}
	var state string
	var skip [10]int64
	var user, system int64
	if _, err := fmt.Sscan(string(fields[1]), &state, &skip[0], &skip[1], &skip[2], &skip[3], &skip[4], &skip[5],
		&skip[6], &skip[7], &skip[8], &skip[9], &user, &system); err != nil {
		return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return time.Duration(user+system) * time.Second / 100, nil
}
