package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/duration"
)

// ClusterName is the name of the simulated cluster.
const ClusterName = "demo"

// Options define how the demonstration runs.
type Options struct {
	// Listen is the address to serve on.
	Listen string
	// Speed is how much faster than the wall clock simulated time passes.
	Speed float64
	// For is how long to run, by the wall clock; 0 means until ctx ends.
	For time.Duration
	// History is how much simulated time lies before the daemon's start; 0 means three days.
	History time.Duration
	// Incidents befall the cluster as they come; nil for none.
	Incidents <-chan Incident
	// Seed makes the simulated workload repeatable.
	Seed uint64
	// Version is the program's.
	Version string
	Log     *zap.Logger
	// Out gets the URL and the live line; Terminal says that the line may be written over.
	Out      io.Writer
	Terminal bool
	// Open shows the page in a browser, where there is a desktop.
	Open bool
}

const (
	// history is written before the daemon starts: enough jobs for the forecasts to be trained several times, few
	// enough to be read within half a minute, since every one of them is forecast.
	history = 3 * 24 * time.Hour
	// waiting is the number of queued jobs with which the history ends; it goes on for at most a day to find them.
	waiting       = 5
	writeInterval = 50 * time.Millisecond // between writes to the log, by the wall clock
)

// Run writes the history, starts the daemon on it, and lets the simulated cluster go on.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "waitcast-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	logs := filepath.Join(dir, "accounting")
	if err := os.Mkdir(logs, 0o750); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if o.History == 0 {
		o.History = history
	}
	epoch := time.Now().UTC().Truncate(24 * time.Hour).Add(-o.History)
	c, err := newCluster(logs, epoch, o.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	begun := time.Now()
	now, err := writeHistory(ctx, c, o.History)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "wrote %d simulated days of PBS accounting records, %d jobs, in %.1f s: %s\n",
		o.History/(24*time.Hour), c.jobs, time.Since(begun).Seconds(), logs)
	clock := simulatedClock(now, o.Speed)
	d, err := start(ctx, o, dir, logs, clock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	fmt.Fprintf(o.Out, "\n  http://%s\n\nsimulated time goes on at %g times the real one; ask, for example:\n"+
		"  curl -s 'http://%s/v1/wait?queue=medium&procs=16&time_limit=2h'\n"+
		"  waitcast --url http://%s wait -q medium -n 16 -t 2h\n\n", d.Addr(), o.Speed, d.Addr(), d.Addr())
	if o.Open {
		show("http://" + d.Addr().String())
	}
	return follow(ctx, o, c, d, clock)
}

// writeHistory runs the simulated cluster for some time, and on to a moment at which jobs wait.
func writeHistory(ctx context.Context, c *cluster, length time.Duration) (time.Time, error) {
	now := c.epoch.Add(length)
	for end := now.Add(24 * time.Hour); ; now = now.Add(time.Minute) {
		if err := c.advance(now); err != nil {
			return now, err
		}
		if c.sim.Queued() >= waiting || !now.Before(end) {
			return now, ctx.Err()
		}
	}
}

// simulatedClock returns a clock that stands at start now and runs speed times as fast as the wall clock.
func simulatedClock(start time.Time, speed float64) func() time.Time {
	begun := time.Now()
	return func() time.Time {
		return start.Add(time.Duration(float64(time.Since(begun)) * speed))
	}
}

func start(ctx context.Context, o Options, dir, logs string, clock func() time.Time) (*daemon.Daemon, error) {
	file := filepath.Join(dir, "waitcastd.yaml")
	err := os.WriteFile(file, fmt.Appendf(nil, `
listen: %q
data_dir: %q
stale_after: 12h
clusters:
  - name: %s
    procs: %d
    time_zone: UTC
    queues: [{name: short}, {name: medium}, {name: long}]
    sources: [{name: accounting, format: pbs, path: %q}]
`, o.Listen, dir, ClusterName, nodes, logs), 0o600)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d := daemon.New(cfg, daemon.Options{Log: o.Log, Now: clock, Version: o.Version})
	if err := d.Start(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// follow drives the cluster by the clock and reports until it is time to stop.
func follow(ctx context.Context, o Options, c *cluster, d *daemon.Daemon, clock func() time.Time) error {
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	beat := time.NewTicker(writeInterval)
	defer beat.Stop()
	report := time.NewTicker(reportEvery(o))
	defer report.Stop()
	s := &scenario{cluster: c}
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintf(o.Out, "%s\n", line(d))
			return nil
		case err := <-d.Failed():
			return err
		case incident, more := <-o.Incidents:
			if !more {
				o.Incidents = nil
				continue
			}
			if err := incident(s); err != nil {
				return err
			}
		case <-beat.C:
			if err := s.advance(clock()); err != nil {
				return err
			}
		case <-report.C:
			if o.Terminal {
				fmt.Fprintf(o.Out, "\r\033[K%s", line(d))
			} else {
				fmt.Fprintln(o.Out, line(d))
			}
		}
	}
}

func reportEvery(o Options) time.Duration {
	if o.Terminal {
		return time.Second
	}
	return 5 * time.Second
}

// line reports how it goes.
func line(d *daemon.Daemon) string {
	v := d.Views()[0]
	scored, median := v.Scored()
	text := fmt.Sprintf("%s  jobs %d, running %d, queued %d; forecasts scored %d (%d as it happened)",
		v.At.Format("Mon 15:04:05"), v.Counts.Submitted, len(v.Running), len(v.Queued), scored, v.ScoredLive())
	if !math.IsNaN(median) {
		text += ", median error " + duration.Format(time.Duration(median*float64(time.Second)))
	}
	return text
}
