package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
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
	// Listen is the address at which the demonstration answers requests.
	Listen string
	// Speed is the speed of simulated time relative to the wall clock.
	Speed float64
	// For is the time for which the demonstration runs once the daemon can answer, by the wall clock; 0 means until
	// ctx ends.
	For time.Duration
	// History is the simulated time before the simulated clock begins to run; 0 means 50 hours.
	History time.Duration
	// Incidents sends incidents that happen in the cluster at once; nil for none.
	Incidents <-chan Incident
	// Seed is the seed of the simulated workload.
	Seed uint64
	// Version is the version of the program.
	Version string
	Log     *zap.Logger
	// Out receives the URL and a status line. Terminal is true if the status line may be overwritten.
	Out      io.Writer
	Terminal bool
	// Open shows the page in a browser if there is a desktop.
	Open bool
}

const (
	// history is the simulated time that is written before the daemon starts. It has enough jobs to train the forecasts
	// several times, and few enough to learn and forecast them all within a minute on two processors. The load forecast
	// needs submissions that are two days apart (predictor/outlook), hence 50 hours.
	history = 50 * time.Hour
	// waiting and backlog are the minimum length of the queue at the end of the history: in jobs, and as hours of work
	// for the whole machine. With them, the first answers are not 0. The history continues for at most a day to reach
	// both.
	waiting       = 10
	backlog       = 1.0
	writeInterval = 50 * time.Millisecond // between writes to the log, in wall-clock time
)

// morning returns the last 11 o'clock UTC on a Tuesday, Wednesday, Thursday or Friday that is not in the future. The
// simulated clock starts then, because users submit most jobs on working days.
func morning(now time.Time) time.Time {
	const begins = 11 * time.Hour
	now = now.UTC()
	at := now.Truncate(24 * time.Hour).Add(begins)
	for at.After(now) || at.Weekday() < time.Tuesday || at.Weekday() > time.Friday {
		at = at.AddDate(0, 0, -1)
	}
	return at
}

// Run writes the history, starts the daemon on it, waits until the daemon has learnt it, and then runs the simulated
// cluster.
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
	begins := morning(time.Now())
	c, err := newCluster(logs, begins.Add(-o.History), o.Seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	now, err := writeHistory(ctx, c, begins)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "wrote the PBS accounting log of %s of a simulated cluster, %d jobs: %s\n",
		duration.Format(o.History), c.jobs, logs)
	clock := &simulatedClock{start: now, speed: o.Speed}
	d, err := start(ctx, o, dir, logs, clock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	if learnt, err := learn(ctx, o, d, c.events); !learnt {
		return err
	}
	clock.run()
	announce(o, d, clock, tokenFile(dir))
	return follow(ctx, o, c, d, clock)
}

// writeHistory runs the simulated cluster up to an instant, and then on to an instant at which enough jobs wait, or for
// a day. It returns the instant that was reached.
func writeHistory(ctx context.Context, c *cluster, until time.Time) (time.Time, error) {
	now := until
	for end := now.Add(24 * time.Hour); ; now = now.Add(time.Minute) {
		if err := c.advance(now); err != nil {
			return now, err
		}
		if c.sim.Queued() >= waiting && c.backlog() >= backlog || !now.Before(end) {
			return now, ctx.Err()
		}
	}
}

// simulatedClock shows the time start until its method run is called. Then it runs at the given speed relative to the
// wall clock. It is safe for concurrent use.
type simulatedClock struct {
	start time.Time
	speed float64
	begun atomic.Pointer[time.Time]
}

func (c *simulatedClock) run() {
	now := time.Now()
	c.begun.Store(&now)
}

// now returns the simulated time. It is the daemon's clock.
func (c *simulatedClock) now() time.Time {
	begun := c.begun.Load()
	if begun == nil {
		return c.start
	}
	return c.start.Add(time.Duration(float64(time.Since(*begun)) * c.speed))
}

// announce prints the address, and example commands.
func announce(o Options, d *daemon.Daemon, clock *simulatedClock, token string) {
	address := "http://" + d.Addr().String()
	fmt.Fprintf(o.Out, "\n  %s\n\nThe simulated clock begins at %s and runs %g times as fast as yours. "+
		"Ask, for example:\n"+
		"  curl -s '%s/v1/wait?queue=medium&procs=16&time_limit=2h'\n"+
		"  waitcast --url %s wait -q medium -n 16 -t 2h\n"+
		"  waitcast --url %s --token-file %s me    (as %s, one of its users)\n\n",
		address, clock.start.Format("Mon 15:04"), o.Speed, address, address, address, token, userName(0))
	if o.Open {
		show(address)
	}
}

func start(ctx context.Context, o Options, dir, logs string, clock *simulatedClock) (*daemon.Daemon, error) {
	queues := filepath.Join(dir, "queues")
	if err := os.WriteFile(queues, facts(), 0o600); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	file := filepath.Join(dir, "waitcastd.yaml")
	tokens := filepath.Join(dir, "tokens.yaml")
	if err := writeToken(tokens, tokenFile(dir)); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	err := os.WriteFile(file, fmt.Appendf(nil, `
listen: %q
data_dir: %q
stale_after: 12h
tokens_file: %q
access: {others: public}
clusters:
  - name: %s
    procs: %d
    time_zone: UTC
    queues: [{name: short}, {name: medium}, {name: long}]
    sources:
      - {name: accounting, format: pbs, path: %q}
      - {name: queues, format: pbs-facts, command: [sh, -c, 'cat "$0"', %q]}
`, o.Listen, dir, tokens, ClusterName, nodes, logs, queues), 0o600)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d := daemon.New(cfg, daemon.Options{
		Log: o.Log, Now: clock.now, SimulatedSpeed: o.Speed, Version: o.Version,
	})
	if err := d.Start(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// follow runs the cluster at the pace of the simulated clock and reports the state. It ends when ctx ends, after the
// time o.For, or when the daemon or the cluster fails.
func follow(ctx context.Context, o Options, c *cluster, d *daemon.Daemon, clock *simulatedClock) error {
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
			if err := s.advance(clock.now()); err != nil {
				return err
			}
		case <-report.C:
			o.report(line(d))
		}
	}
}

func reportEvery(o Options) time.Duration {
	if o.Terminal {
		return time.Second
	}
	return 5 * time.Second
}

// report prints the state. On a terminal it overwrites the previous line.
func (o *Options) report(text string) {
	if o.Terminal {
		fmt.Fprintf(o.Out, "\r\033[K%s", text)
	} else {
		fmt.Fprintln(o.Out, text)
	}
}

// line describes the present state of the daemon.
func line(d *daemon.Daemon) string {
	v := d.Views()[0]
	scored, median := v.Scored()
	text := fmt.Sprintf("simulated %s  jobs %d, running %d, queued %d; forecasts scored %d (%d as it happened)",
		v.At.Format("Mon 15:04:05"), v.Counts.Submitted, len(v.Running), len(v.Queued), scored, v.ScoredLive())
	if !math.IsNaN(median) {
		text += ", median error " + duration.Format(time.Duration(median*float64(time.Second)))
	}
	return text
}
