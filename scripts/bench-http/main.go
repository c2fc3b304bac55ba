// Command bench-http measures the daemon's HTTP interface on a large busy cluster: it plays OpenPBS's part (an accounting log of tens of thousands of jobs that
// grows on), starts waitcastd beside it, and lets wrk ask for forecasts. It needs wrk, and waitcastd from `make build`.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

type options struct {
	daemon                   string
	running, queued, history int
	rate                     float64
	seconds, connections     int
	keep                     bool
}

func main() {
	var o options
	flag.StringVar(&o.daemon, "daemon", "bin/waitcastd", "the daemon's binary")
	flag.IntVar(&o.running, "running", 10000, "jobs that run")
	flag.IntVar(&o.queued, "queued", 20000, "jobs that wait")
	flag.IntVar(&o.history, "history", 5000, "jobs that ended before, to learn from")
	flag.Float64Var(&o.rate, "rate", 10, "jobs that end, start and are submitted each second")
	flag.IntVar(&o.seconds, "seconds", 20, "length of each measurement")
	flag.IntVar(&o.connections, "connections", 16, "wrk's connections")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder of the run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-http:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "bench-http-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("folder", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	c := newCluster(dir, o)
	if err := c.begin(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := startDaemon(ctx, dir, o)
	if err != nil {
		return err
	}
	defer d.stop()
	begun := time.Now()
	if err := d.ready(ctx, o); err != nil {
		return err
	}
	fmt.Printf("ready after %.1f s with %d jobs of history\n", time.Since(begun).Seconds(), o.history)
	go c.live(ctx, o.rate)
	for _, load := range []struct{ name, script string }{
		{"one request", `request = function() return wrk.format("GET", "/v1/wait?queue=batch&procs=64&time_limit=4h&user=u7") end`},
		{"varied requests", varied},
		{"the same, paced", varied + pause},
	} {
		if err := d.measure(ctx, dir, load.name, load.script, o); err != nil {
			return err
		}
	}
	return nil
}

// varied asks for some 80,000 different requests.
const varied = `
local queues = {"batch", "short", "long", "wide"}
local limits = {"10m", "30m", "1h", "2h", "4h", "8h", "12h", "1-0", "2-0", "4-0"}
request = function()
  local procs = math.random(1, 20) == 1 and math.random(1, 2048) or 2 ^ math.random(0, 8)
  return wrk.format("GET", string.format("/v1/wait?queue=%s&procs=%d&time_limit=%s&user=u%d",
    queues[math.random(#queues)], procs, limits[math.random(#limits)], math.random(0, 199)))
end`

// pause has 16 connections wait 3 ms before each request: 5,000 a second or a little fewer.
const pause = `
delay = function() return 3 end`

const report = `
done = function(summary, latency, requests)
  io.write(string.format("wrk %d %d %d %f %f %f %f\n", summary.requests, summary.duration, summary.errors.status + summary.errors.read + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end`

// server is a waitcastd that runs.
type server struct {
	cmd *exec.Cmd
	url string
}

func startDaemon(ctx context.Context, dir string, o *options) (*server, error) {
	const address = "127.0.0.1:19817"
	config := fmt.Sprintf(`listen: %s
data_dir: %s
stale_after: 1h
clusters:
  - name: large
    time_zone: UTC
    sources:
      - {format: pbs, path: %s/accounting}
`, address, filepath.Join(dir, "data"), dir)
	path := filepath.Join(dir, "waitcast.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "daemon.log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.daemon, "--config", path)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w (make build)", o.daemon, err)
	}
	return &server{cmd: cmd, url: "http://" + address}, nil
}

func (d *server) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt)
	_ = d.cmd.Wait() // it was told to end
}

// ready waits until the daemon has read the history and the queue.
func (d *server) ready(ctx context.Context, o *options) error {
	for {
		state, err := d.state(ctx)
		if err == nil && state.running >= o.running*9/10 && state.queued >= o.queued*9/10 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// clusterState is what GET /v1/queues tells, of all queues.
type clusterState struct {
	running, queued int
}

func (d *server) state(ctx context.Context) (clusterState, error) {
	var out clusterState
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/v1/queues", nil)
	if err != nil {
		return out, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return out, err
	}
	defer func() { _ = resp.Body.Close() }()
	var body struct {
		Queues []struct {
			Running int `json:"running_jobs"`
			Queued  int `json:"queued_jobs"`
		} `json:"queues"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return out, err
	}
	for _, q := range body.Queues {
		out.running += q.Running
		out.queued += q.Queued
	}
	return out, nil
}

// measure lets wrk ask, and tells what the daemon took of the processors.
func (d *server) measure(ctx context.Context, dir, name, script string, o *options) error {
	path := filepath.Join(dir, "wrk.lua")
	if err := os.WriteFile(path, []byte(script+report), 0o600); err != nil {
		return err
	}
	before, _ := d.usage()
	cmd := exec.CommandContext(ctx, "wrk", "-t1", fmt.Sprintf("-c%d", o.connections), fmt.Sprintf("-d%ds", o.seconds), "-s", path, d.url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("wrk: %w\n%s", err, out)
	}
	after, memory := d.usage()
	var n, micros, failed int
	var p50, p99, p999, most float64
	_, line, _ := strings.Cut(string(out), "\nwrk ")
	if _, err := fmt.Sscanf(line, "%d %d %d %f %f %f %f", &n, &micros, &failed, &p50, &p99, &p999, &most); err != nil {
		return fmt.Errorf("wrk: %w\n%s", err, out)
	}
	fmt.Printf("%-16s %7.0f/s  p50 %.2f ms  p99 %.2f ms  p99.9 %.2f ms  max %.1f ms  failed %d  daemon %.0f us of CPU a request, %.2f cores  %d MiB\n", name,
		float64(n)/float64(micros)*1e6, p50/1e3, p99/1e3, p999/1e3, most/1e3, failed,
		(after-before)/float64(n)*1e6, (after-before)/float64(o.seconds), memory>>20)
	return nil
}

// usage returns the seconds of CPU that the daemon has used and its resident memory (proc_pid_stat(5); ticks are hundredths of a second).
func (d *server) usage() (seconds float64, memory int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system, pages int64
	_, _ = fmt.Sscan(fields[11], &user) // digits by the manual
	_, _ = fmt.Sscan(fields[12], &system)
	_, _ = fmt.Sscan(fields[21], &pages)
	return float64(user+system) / 100, pages * int64(os.Getpagesize())
}
