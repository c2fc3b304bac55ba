package liveload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running waitcastd.
type process struct {
	cmd  *exec.Cmd
	url  string
	gone chan struct{} // closed when the process has ended
	err  error         // how the process ended; valid after gone is closed
}

const (
	configName = "waitcastd.yaml"
	logName    = "waitcastd.log"
	pidName    = "waitcastd.pid"
)

// writeConfig writes the configuration of a daemon for a cluster into the folder dir. The daemon reads slurmctld's log,
// and polls squeue and Slurm's facts at the given intervals.
func writeConfig(dir string, slurm Slurm, squeue, facts time.Duration) error {
	text := fmt.Sprintf(`listen: 127.0.0.1:0
data_dir: %q
log: {format: json}
clusters:
  - name: main
    sources:
      - {format: slurm-log, path: %q}
      - {format: slurm-squeue, command: [env, %q, squeue], interval: %v}
      - {format: slurm-facts, command: [env, %q], interval: %v}
`, dir, filepath.Join(filepath.Dir(slurm.Conf), "slurmctld.log"), "SLURM_CONF="+slurm.Conf, squeue,
		"SLURM_CONF="+slurm.Conf, facts)
	return os.WriteFile(filepath.Join(dir, configName), []byte(text), 0o644) //nolint:gosec // nothing secret
}

// startDaemon starts a daemon whose configuration is in dir, and returns when the daemon serves. The daemon's log is in
// dir too.
func startDaemon(ctx context.Context, program, dir string) (*process, error) {
	path := filepath.Join(dir, logName)
	out, err := os.Create(path) //nolint:gosec // whoever runs this names it
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // the daemon writes it
	d := &process{gone: make(chan struct{})}
	// The daemon does not end with ctx: a cancelled run still stops it in order.
	d.cmd = exec.CommandContext(context.WithoutCancel(ctx), program, "--config", filepath.Join(dir, configName))
	d.cmd.Stdout, d.cmd.Stderr = out, out
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { d.err = d.cmd.Wait(); close(d.gone) }()
	pid := strconv.Itoa(d.cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(dir, pidName), []byte(pid), 0o600); err != nil {
		return nil, d.fail(err)
	}
	err = poll(ctx, time.Minute, "the daemon to serve", func() (bool, error) {
		select {
		case <-d.gone:
			return false, fmt.Errorf("the daemon ended: %w; see %s", d.err, path)
		default:
		}
		d.url, err = servingURL(path)
		return d.url != "", err
	})
	if err != nil {
		return nil, d.fail(err)
	}
	return d, nil
}

// fail kills a daemon that cannot be used, and returns err.
func (d *process) fail(err error) error {
	_ = d.cmd.Process.Kill() // it may have ended already
	<-d.gone
	return err
}

// servingURL returns the address of the daemon from its log, which is at path. It is empty if the daemon does not serve
// yet.
func servingURL(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // whoever runs this names it
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(text) {
		var entry struct{ Msg, URL string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "serving" {
			return entry.URL, nil
		}
	}
	return "", nil
}

// ready waits until the daemon answers requests for all queues of the load.
func (d *process) ready(ctx context.Context) error {
	for _, queue := range []string{"short", "medium", "long"} {
		var last string
		err := poll(ctx, time.Minute, "the daemon to know the queue "+queue, func() (bool, error) {
			status, body, err := get(ctx, d.url+"/v1/wait?"+url.Values{
				"queue": {queue}, "procs": {"1"}, "time_limit": {"60"},
			}.Encode())
			last = fmt.Sprint(string(body), err)
			return status == http.StatusOK, nil
		})
		if err != nil {
			return fmt.Errorf("%w: %s", err, last)
		}
	}
	return nil
}

// idle waits until the daemon has no running or waiting job.
func (d *process) idle(ctx context.Context) error {
	return poll(ctx, time.Minute, "the daemon to see that all jobs are over", func() (bool, error) {
		_, body, err := get(ctx, d.url+"/v1/queues")
		if err != nil {
			return false, err
		}
		var page struct {
			Queues []struct {
				Running int `json:"running_jobs"`
				Queued  int `json:"queued_jobs"`
			} `json:"queues"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return false, err
		}
		for _, q := range page.Queues {
			if q.Running+q.Queued > 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// stop stops the daemon in order, so that its database is complete.
func (d *process) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.gone:
	case <-time.After(time.Minute):
		return d.fail(fmt.Errorf("the daemon does not end within a minute of SIGTERM"))
	}
	if d.err != nil {
		return fmt.Errorf("the daemon's end: %w", d.err)
	}
	return nil
}

// endLeftover stops the daemon that an interrupted run left in dir, if it still runs, and waits for its end.
func endLeftover(ctx context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, pidName)) //nolint:gosec // whoever runs this names it
	if err != nil {
		return nil //nolint:nilerr // it left none
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return fmt.Errorf("%s of %s: %w", pidName, dir, err)
	}
	runs := func() bool { // another process may have this number by now
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && strings.Contains(string(line), filepath.Join(dir, configName))
	}
	if !runs() {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending the daemon %d that an interrupted run left: %w", pid, err)
	}
	return poll(ctx, time.Minute, "the daemon of an interrupted run to end", func() (bool, error) {
		return !runs(), nil
	})
}

// poll checks a condition until it holds, its check fails, or limit has passed, which is an error too. what names the
// condition.
func poll(ctx context.Context, limit time.Duration, what string, cond func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		ok, err := cond()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain for %s", limit, what)
		}
		if err := sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}
