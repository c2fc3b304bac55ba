package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// PollConfig defines how often a scheduler is asked.
type PollConfig struct {
	// Target names what is asked, in messages: a program, a socket.
	Target string
	// Interval is the time from the end of one call to the beginning of the next, give or take a tenth, but for early
	// ones.
	Interval time.Duration
}

// Answer is the result of one call.
type Answer struct {
	Events []job.Event
	// Lines is the number of lines of the output, Bad those of them that could not be read. A bad line without a path
	// is one of the target's.
	Lines int
	Bad   []BadLine
	// Notes list the gaps of a useful call; each is logged when it is new.
	Notes []error
	// Err reports why the call failed, a *CallError, or why all of its output is of no use; nil if it is of use.
	Err error
}

// Ask asks a scheduler once, at an instant.
type Ask func(ctx context.Context, asked time.Time) Answer

// PollOptions are what a Poller needs beside its configuration. Ask is required, the others may be nil.
type PollOptions struct {
	// Ask makes one call. It ends when its context does, and by itself after the source's timeout.
	Ask Ask
	// Ready reports whether the scheduler may be asked yet; until then nothing is.
	Ready func() bool
	// Wanted reports whether something is missing that the scheduler knows: then it is polled before its time. It is
	// called often.
	Wanted func() bool
	// Now is the wall clock.
	Now     func() time.Time
	Metrics *PollMetrics
	Log     *zap.Logger
}

// Poller asks a scheduler again and again, never twice at once. Its methods are for one goroutine.
type Poller struct {
	cfg   Config
	poll  PollConfig
	opts  PollOptions
	asked bool // at least once
	// due is when it is asked next. From early on it may be asked before that, which postpones what comes after by an
	// interval: there is never more than one question per interval on average, and never more than one ahead of its
	// time.
	due, early time.Time
	failed     int    // calls in a row
	reported   string // the failure that was reported last, "" if none is standing
	noted      map[string]bool
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

// Next waits until it is time for the next call, runs it, and returns its result. A failure is delivered as a problem
// once; while the same failure goes on Next keeps trying, ever less often. It returns an error only when ctx ends.
func (p *Poller) Next(ctx context.Context) (*Delivery, error) {
	for {
		if err := p.await(ctx); err != nil {
			return nil, err
		}
		p.asked = true
		begun := time.Now()
		d, err := p.call(ctx)
		p.plan(begun, err != nil)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			if p.reported != "" {
				p.opts.Log.Info("the scheduler answers again", zap.String("source", p.cfg.Name),
					zap.Int("failures", p.failed))
			}
			p.failed, p.reported = 0, ""
			return d, nil
		}
		p.failed++
		if message := err.Error(); message != p.reported {
			p.reported = message
			d.Problems = []tail.Problem{{Path: p.poll.Target, Reason: reasonOf(err), Err: err}}
			d.Standing = d.Problems
			return d, nil
		}
	}
}

// Close implements what a reader has; there is nothing to close.
func (p *Poller) Close() error { return nil }

// await waits until the next call is due, or may be made early and is wanted.
func (p *Poller) await(ctx context.Context) error {
	for !p.opts.Ready() {
		if err := pause(ctx, readyEvery); err != nil {
			return err
		}
	}
	if !p.asked {
		return ctx.Err()
	}
	var since time.Time // when it was wanted first
	for {
		left := time.Until(p.due)
		if left <= 0 || !since.IsZero() && time.Since(since) >= p.soon() {
			return ctx.Err()
		}
		if p.opts.Wanted == nil {
			return pause(ctx, left)
		}
		if since.IsZero() && !time.Now().Before(p.early) && p.opts.Wanted() {
			since = time.Now()
		}
		if err := pause(ctx, min(left, readyEvery)); err != nil {
			return err
		}
	}
}

// soon is how long an early question waits for what else may come to be wanted.
func (p *Poller) soon() time.Duration { return min(time.Second, p.poll.Interval/10) }

// plan sets when the next call is due, after one that began at an instant and is over now.
func (p *Poller) plan(begun time.Time, failed bool) {
	now, before := time.Now(), p.due
	if failed {
		p.due = now.Add(jitter(delay(p.poll.Interval, p.failed+1)))
		p.early = p.due
		return
	}
	next := jitter(p.poll.Interval)
	if begun.Before(before) { // it was early
		p.due, p.early = later(before, now).Add(next), later(before, now)
		return
	}
	p.due, p.early = now.Add(next), now
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
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
		p.date(d)
	case !errors.As(err, &failed): // nothing of it could be used: the problem stands
		err = &CallError{Reason: FailedOutput, Err: fmt.Errorf("%s: %w", p.poll.Target, err)}
	}
	if ctx.Err() == nil {
		p.opts.Metrics.observe(&p.cfg, took, p.opts.Now(), err)
	}
	return d, err
}

// date notes when the scheduler answered, and which events are ahead of that. An answer is prompt.
func (p *Poller) date(d *Delivery) {
	d.Read = p.opts.Now()
	d.Since = d.Read
	for i := range d.Events {
		if d.Events[i].Latest().Sub(d.Read) > AheadTolerance {
			if d.Ahead == nil {
				d.Ahead = map[int]BadLine{}
			}
			d.Ahead[i] = BadLine{Path: p.poll.Target, Reason: collector.ReasonFuture}
		}
	}
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
