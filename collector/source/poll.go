package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// PollConfig says how a scheduler is asked for its jobs.
type PollConfig struct {
	// Command is the program with its arguments; Env is added to the daemon's environment.
	Command []string
	Env     []string
	// Interval is the time from the end of one call to the beginning of the next, give or take a tenth.
	Interval time.Duration
	// Timeout is how long a call may take before it is killed, with whatever it started.
	Timeout time.Duration
	// MaxOutput is how many bytes the command may print; 0 means 64 MiB.
	MaxOutput int
}

// Answer is what one call told.
type Answer struct {
	Events []job.Event
	// Lines is the number of lines of the output, Bad those of them that could not be read.
	Lines int
	Bad   []BadLine
	// Err says why the whole output is of no use; nil if it is.
	Err error
}

// PollOptions are what a Poller needs beside its configuration. Read is required, the others may be nil.
type PollOptions struct {
	// Read turns the output of a call that was begun at an instant into events.
	Read func(output []byte, asked time.Time) Answer
	// Ready says whether the scheduler may be asked yet; until then nothing is.
	Ready func() bool
	// Now is the wall clock.
	Now     func() time.Time
	Metrics *PollMetrics
	Log     *zap.Logger
}

// Poller asks a scheduler again and again by running a command, never twice at once. Its methods are for one goroutine.
type Poller struct {
	cfg    Config
	poll   PollConfig
	opts   PollOptions
	asked  bool   // at least once
	failed int    // calls in a row
	told   string // the failure that was reported last, "" if none is standing
}

// NewPoller returns a Poller. It keeps no checkpoint: a snapshot that is missed is made up for by the next.
func NewPoller(cfg Config, poll PollConfig, opts PollOptions) *Poller {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Ready == nil {
		opts.Ready = func() bool { return true }
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	opts.Metrics.touch(&cfg)
	return &Poller{cfg: cfg, poll: poll, opts: opts}
}

// readyEvery is how often Ready is asked.
const readyEvery = 100 * time.Millisecond

// maxBackoff is the longest pause after failures, unless the interval is longer.
const maxBackoff = 5 * time.Minute

// Next waits until it is time for the next call, runs it, and returns what it told. A failure is delivered as a problem once; while
// the same failure goes on Next keeps trying, ever less often. It returns an error only when ctx ends.
func (p *Poller) Next(ctx context.Context) (*Delivery, error) {
	for {
		if err := p.await(ctx); err != nil {
			return nil, err
		}
		p.asked = true
		d, err := p.call(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			if p.told != "" {
				p.opts.Log.Info("the scheduler answers again", zap.String("source", p.cfg.Name), zap.Int("failures", p.failed))
			}
			p.failed, p.told = 0, ""
			return d, nil
		}
		p.failed++
		if message := err.Error(); message != p.told {
			p.told = message
			d.Problems = []tail.Problem{{Path: p.poll.Command[0], Reason: reasonOf(err), Err: err}}
			return d, nil
		}
	}
}

// Close implements what a reader has; there is nothing to close.
func (p *Poller) Close() error { return nil }

// await waits until the next call is due.
func (p *Poller) await(ctx context.Context) error {
	for !p.opts.Ready() {
		if err := pause(ctx, readyEvery); err != nil {
			return err
		}
	}
	if !p.asked {
		return ctx.Err()
	}
	return pause(ctx, jitter(delay(p.poll.Interval, p.failed)))
}

// delay is the time to the next call after so many failures in a row: it doubles with each from the second on.
func delay(interval time.Duration, failed int) time.Duration {
	d := interval
	for ; failed > 1 && d < maxBackoff; failed-- {
		d *= 2
	}
	return max(interval, min(d, maxBackoff))
}

// jitter returns a duration up to a tenth off, so that many daemons do not ask in step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// call runs the command once and reads its output. The delivery is never nil.
func (p *Poller) call(ctx context.Context) (*Delivery, error) {
	d := &Delivery{Source: &p.cfg}
	asked, begun := p.opts.Now(), time.Now()
	output, err := run(ctx, p.poll)
	took := time.Since(begun)
	if err == nil {
		answer := p.opts.Read(output, asked)
		d.Lines, d.Bad, err = answer.Lines, answer.Bad, answer.Err
		for i := range d.Bad {
			d.Bad[i].Path = p.poll.Command[0]
		}
		if err == nil {
			d.Events, d.CaughtUp = answer.Events, true
		} else {
			err = &CallError{Reason: FailedOutput, Err: fmt.Errorf("%s: %w", p.poll.Command[0], err)}
			d.Lines = 0 // nothing that could be used: the problem stands
		}
	}
	if ctx.Err() == nil {
		p.opts.Metrics.observe(&p.cfg, took, p.opts.Now(), err)
	}
	return d, err
}

// reasonOf returns the problem's reason: what keeps the source from being read stands until it is mended.
func reasonOf(err error) tail.Reason {
	var call *CallError
	if errors.As(err, &call) && call.Reason == FailedStart {
		return tail.Missing
	}
	return tail.Unreadable
}
