// Command bench-http measures the daemon's HTTP interface on a large busy cluster. It simulates OpenPBS: an
// accounting log of tens of thousands of jobs to which it adds lines. It starts waitcastd, and runs wrk, which
// requests forecasts over plain HTTP and over TLS. It needs wrk, and waitcastd from `make build`.
//
// Access rules are checked as always; only rate limits do not apply to loopback. All connections are kept alive. The
// output has the format of `go test -bench`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/waitcast/waitcast/internal/token"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

type options struct {
	daemon, before           string
	shares                   bool
	running, queued, history int
	rate                     float64
	seconds, connections     int
	keep, plainOnly          bool
}

func main() {
	checkout.Enter()
	var o options
	flag.StringVar(&o.daemon, "daemon", "bin/waitcastd", "the daemon's binary")
	flag.BoolVar(&o.shares, "shares", false, "measure a small client beside one that floods, instead of wrk")
	flag.StringVar(&o.before, "before", "", "with -shares: another binary of the daemon to measure first")
	flag.IntVar(&o.running, "running", 10000, "jobs that run")
	flag.IntVar(&o.queued, "queued", 20000, "jobs that wait")
	flag.IntVar(&o.history, "history", 5000, "jobs that ended before, to learn from")
	flag.Float64Var(&o.rate, "rate", 10, "jobs that end, start and are submitted each second")
	flag.IntVar(&o.seconds, "seconds", 20, "length of each measurement")
	flag.IntVar(&o.connections, "connections", 16, "wrk's connections")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder of the run")
	flag.BoolVar(&o.plainOnly, "plain", false, "leave TLS out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-http:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if _, err := exec.LookPath("wrk"); err != nil && !o.shares {
		return fmt.Errorf("%w (make test-deps installs it)", err)
	}
	dir, err := os.MkdirTemp("", "bench-http-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Fprintln(os.Stderr, "folder", dir)
	} else {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	c := newCluster(dir, o)
	if err := c.begin(); err != nil {
		return err
	}
	if o.shares {
		return shares(ctx, dir, c, o)
	}
	if err := against(ctx, dir, c, false, o); err != nil || o.plainOnly {
		return err
	}
	return against(ctx, dir, c, true, o) // the second daemon reads the database that the first one left
}

// shares measures a small client while another client floods the daemon. If the options name an earlier binary, that
// one is measured first.
func shares(ctx context.Context, dir string, c *cluster, o *options) error {
	for _, of := range []struct{ name, binary string }{{"before", o.before}, {"now", o.daemon}} {
		if of.binary == "" {
			continue
		}
		folder := filepath.Join(dir, of.name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		if err := os.Link(filepath.Join(dir, "accounting"), filepath.Join(folder, "accounting")); err != nil {
			return err
		}
		binary := *o
		binary.daemon = of.binary
		if err := withDaemon(ctx, folder, c, false, &binary, func(ctx context.Context, d *server) error {
			return d.measureShares(ctx, of.name, o)
		}); err != nil {
			return err
		}
	}
	return nil
}

// load is a kind of request that wrk sends.
type load struct{ name, script string }

// against runs wrk, which sends requests to a daemon.
func against(ctx context.Context, dir string, c *cluster, secure bool, o *options) error {
	return withDaemon(ctx, dir, c, secure, o, func(ctx context.Context, d *server) error {
		name := transport(secure)
		loads := []load{{"varied", varied}, {"paced", varied + pause}}
		if !secure {
			loads = append(loads, load{"one_request", single},
				load{"token", varied + fmt.Sprintf("\nwrk.headers[\"Authorization\"] = \"Bearer %s\"", d.token)})
		}
		for _, l := range loads {
			if err := d.measure(ctx, dir, name+"/"+l.name, l.script, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// transport returns the name of the protocol of a daemon's connections.
func transport(secure bool) string {
	if secure {
		return "tls"
	}
	return "plain"
}

// withDaemon starts a daemon, which reads the cluster's log from its beginning, or from the place where the previous
// daemon ended. Once the log is read, withDaemon measures the daemon while jobs end, start and arrive.
func withDaemon(ctx context.Context, dir string, c *cluster, secure bool, o *options,
	measure func(context.Context, *server) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := startDaemon(ctx, dir, secure, o)
	if err != nil {
		return err
	}
	defer d.stop() // the daemon saves its state
	begun := time.Now()
	if err := d.ready(ctx, o); err != nil {
		return err
	}
	cpu, _ := d.usage()
	did, err := d.work(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("BenchmarkHTTP/%s/ready 1 %.1f s %.1f CPU-s %.0f simulations %.0f trainings\n", transport(secure),
		time.Since(begun).Seconds(), cpu, did.simulations, did.trainings)
	if !o.shares { // nothing happens in the cluster yet, so the daemon only answers
		if err := d.measure(ctx, dir, transport(secure)+"/paced_idle", varied+pause, o); err != nil {
			return err
		}
	}
	var moving sync.WaitGroup
	moving.Go(func() { c.live(ctx, o.rate) })
	defer moving.Wait()
	defer cancel() // runs before the deferred calls above
	return measure(ctx, d)
}

// single repeats one request.
const single = `request = function()
  return wrk.format("GET", "/v1/wait?queue=batch&procs=64&time_limit=4h&user=u7")
end`

// varied sends different requests: 72,000 with powers of two up to 256 as sizes, and in 1 of 20 cases one with a random
// size up to 2048.
const varied = `
local queues = {"batch", "short", "long", "wide"}
local limits = {"10m", "30m", "1h", "2h", "4h", "8h", "12h", "1-0", "2-0", "4-0"}
request = function()
  local procs = math.random(1, 20) == 1 and math.random(1, 2048) or 2 ^ math.random(0, 8)
  return wrk.format("GET", string.format("/v1/wait?queue=%s&procs=%d&time_limit=%s&user=u%d",
    queues[math.random(#queues)], procs, limits[math.random(#limits)], math.random(0, 199)))
end`

// pause makes 16 connections wait 2 ms before each request, which gives 5,000 requests a second or a little more.
const pause = `
delay = function() return 2 end`

// report prints lines that measure parses.
const report = `
done = function(summary, latency, requests)
  io.write(string.format("wrk %d %d %d %f %f %f %f %f\n", summary.requests, summary.duration,
    summary.errors.status + summary.errors.read + summary.errors.timeout,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end`

// measure runs wrk, which sends requests. It reports the processor time of the daemon and its background work during
// that time.
func (d *server) measure(ctx context.Context, dir, name, script string, o *options) error {
	path := filepath.Join(dir, "wrk.lua")
	if err := os.WriteFile(path, []byte(script+report), 0o600); err != nil {
		return err
	}
	did, err := d.work(ctx)
	if err != nil {
		return err
	}
	before, _ := d.usage()
	cmd := exec.CommandContext(ctx, "wrk", "-t1", "--latency", fmt.Sprintf("-c%d", o.connections),
		fmt.Sprintf("-d%ds", o.seconds), "-s", path, d.url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("wrk: %w\n%s", err, out)
	}
	after, memory := d.usage()
	now, err := d.work(ctx)
	if err != nil {
		return err
	}
	var n, span, failed int
	var p50, p90, p99, p999, most float64
	_, line, _ := strings.Cut(string(out), "\nwrk ")
	if _, err := fmt.Sscanf(line, "%d %d %d %f %f %f %f %f", &n, &span, &failed, &p50, &p90, &p99, &p999,
		&most); err != nil {
		return fmt.Errorf("wrk: %w\n%s", err, out)
	}
	fmt.Printf("BenchmarkHTTP/%s %d %.0f req/s %.2f p50-ms %.2f p90-ms %.2f p99-ms %.2f p99.9-ms %.1f max-ms %d "+
		"failed %.0f CPU-us/req %.2f cores %d MiB %.0f simulations %.0f load-forecasts %.0f trainings\n", name, n,
		float64(n)/float64(span)*1e6, p50/1e3, p90/1e3, p99/1e3, p999/1e3, most/1e3, failed,
		(after-before)/float64(n)*1e6, (after-before)/float64(o.seconds), memory>>20,
		now.simulations-did.simulations, now.loads-did.loads, now.trainings-did.trainings)
	if strings.HasSuffix(name, "/paced_idle") {
		d.idle99 = p99
	} else if strings.HasSuffix(name, "/paced") {
		fmt.Printf("BenchmarkHTTP/%s/p99-over-idle 1 %.2f times\n", name, p99/d.idle99)
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d of %d requests failed", name, failed, n)
	}
	return nil
}

// newToken creates a token for a user and writes the tokens file of the daemon.
func newToken(path string) (string, error) {
	secret := token.New()
	return secret,
		os.WriteFile(path, fmt.Appendf(nil, "- {name: bench, role: user, user: u7, sha256: %s}\n", token.Hash(secret)),
			0o600)
}
