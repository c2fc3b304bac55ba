package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// PollConfig says how often a scheduler is asked.
type PollConfig struct {
	// Target names what is asked, in messages: a program, a socket.
	Target string
	// Interval is the time from the end of one call to the beginning of the next, give or take a tenth.
	Interval time.Duration
}

// Answer is what one call told.
type Answer struct {
	Events []job.Event
	// Lines is the number of lines of the output, Bad those of them that could not be read. A bad line without a path is one of the target's.
	Lines int
	Bad   []BadLine
	// Notes say what a call that was of use could not tell; each is logged when it is new.
	Notes []error
	// Err says why the call failed, a *CallError, or why all of its output is of no use; nil if it is of use.
	Err error
}

// Ask asks a scheduler once, at an instant.
type Ask func(ctx context.Context, asked time.Time) Answer

// PollOptions are what a Poller needs beside its configuration. Ask is required, the others may be nil.
type PollOptions struct {
	// Ask makes one call. It ends when its context does, and by itself after the source's timeout.
	Ask Ask
	// Ready says whether the scheduler may be asked yet; until then nothing is.
	Ready func() bool
	// Now is the wall clock.
	Now     func() time.Time
	Metrics *PollMetrics
	Log     *zap.Logger
}

// Poller asks a scheduler again and again, never twice at once. Its methods are for one goroutine.
type Poller struct {
	cfg    Config
	poll   PollConfig
	opts   PollOptions
	asked  bool   // at least once
	failed int    // calls in a row
	told   string // the failure that was reported last, "" if none is standing
	noted  map[string]bool
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
			d.Problems = []tail.Problem{{Path: p.poll.Target, Reason: reasonOf(err), Err: err}}
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

// call asks once. The delivery is never nil.
func (p *Poller) call(ctx context.Context) (*Delivery, error) {
	asked, begun := p.opts.Now(), time.Now()
	answer := p.opts.Ask(ctx, asked)
	took := time.Since(begun)
	d := &Delivery{Source: &p.cfg, Bad: answer.Bad}
	for i := range d.Bad {
		d.Bad[i].Path = cmp.Or(d.Bad[i].Path, p.poll.Target)
	}
	err := answer.Err
	var failed *CallError
	switch {
	case err == nil:
		d.Lines, d.Events, d.CaughtUp, d.Answered = answer.Lines, answer.Events, true, true
		p.note(answer.Notes)
	case !errors.As(err, &failed): // nothing of it could be used: the problem stands
		err = &CallError{Reason: FailedOutput, Err: fmt.Errorf("%s: %w", p.poll.Target, err)}
	}
	if ctx.Err() == nil {
		p.opts.Metrics.observe(&p.cfg, took, p.opts.Now(), err)
	}
	return d, err
}

// note logs what was not noted by the call before, too.
func (p *Poller) note(notes []error) {
	before := p.noted
	p.noted = map[string]bool{}
	for _, n := range notes {
		text := n.Error()
		if p.noted[text] = true; !before[text] {
			p.opts.Log.Warn("the scheduler does not tell everything", zap.String("source", p.cfg.Name), zap.Error(n))
		}
	}
}

// reasonOf returns the problem's reason: what keeps the source from being read stands until it is mended.
func reasonOf(err error) tail.Reason {
	var call *CallError
	if errors.As(err, &call) && call.Reason == FailedStart {
		return tail.Missing
	}
	return tail.Unreadable
}
