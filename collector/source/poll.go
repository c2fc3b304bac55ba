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

// PollConfig defines how often a scheduler is polled.
type PollConfig struct {
	// Target is the polled program or socket, for messages.
	Target string
	// Interval is the time from the end of one call to the beginning of the next, plus or minus a tenth. An early call
	// (PollOptions.Wanted) may come sooner; after failures the next call comes later.
	Interval time.Duration
}

// Answer is the result of one call.
type Answer struct {
	Events []job.Event
	// Lines is the number of lines of the output. Bad are the lines that could not be parsed. A bad line without a path
	// is reported under the target.
	Lines int
	Bad   []BadLine
	// Notes say what a usable answer lacks: facts that are not supported, and queries that failed. Each is logged when
	// it is new.
	Notes []error
	// Gap is what the scheduler hides from the daemon, nil if nothing.
	Gap *Gap
	// Unlogged is true if the answer has submissions or ends since the previous answer that no log had.
	Unlogged bool
	// Outage says which part of the scheduler did not answer, so that earlier facts of it remain; empty if all did.
	Outage string
	// Err is nil if the answer can be used. If the call failed, Err is a *CallError. If the output cannot be used, Err
	// is the error in the output.
	Err error
}

// Gap describes what a usable answer lacks because the scheduler hides it from the user who asks.
type Gap struct {
	// Reason says what is hidden, and which command makes it visible.
	Reason string
	// Progress has figures that may change with each answer.
	Progress string
}

// Ask queries a scheduler once, at the given time.
type Ask func(ctx context.Context, asked time.Time) Answer

// PollOptions are the functions that a Poller needs. Only Ask is required; the others may be nil.
type PollOptions struct {
	// Ask makes one call. The call ends with its context, or after the source's timeout.
	Ask Ask
	// Ready reports whether polling may begin.
	Ready func() bool
	// Wanted reports whether information is missing that the scheduler has. The scheduler is then polled early.
	// Wanted is called often.
	Wanted func() bool
	// Alive returns a time that changes whenever a log of the scheduler has new lines. A scheduler that failed is
	// then polled after the usual interval, however long the pause after its failures is.
	Alive func() time.Time
	// Now is the wall clock.
	Now     func() time.Time
	Metrics *PollMetrics
	Log     *zap.Logger
}

// Poller polls a scheduler with one call at a time. It is not safe for concurrent use.
type Poller struct {
	cfg   Config
	poll  PollConfig
	opts  PollOptions
	asked bool // at least one call was made
	// due is the time of the next call. A call that somebody wants may come before due, from early on. It postpones the
	// following calls by an interval. So on average there is at most one call per interval, and never more than one
	// ahead of its time.
	due, early time.Time
	alive      time.Time // PollOptions.Alive before the previous call
	failed     int       // consecutive failures
	reported   string    // the last reported failure, "" if the last call succeeded
	noted      map[string]bool
}

// NewPoller returns a Poller. A Poller keeps no checkpoint, because the next snapshot makes up for a missed one.
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
	if opts.Wanted == nil {
		opts.Wanted = func() bool { return false }
	}
	if opts.Alive == nil {
		opts.Alive = func() time.Time { return time.Time{} }
	}
	cfg.Polled = true
	opts.Metrics.touch(&cfg)
	return &Poller{cfg: cfg, poll: poll, opts: opts}
}

// readyEvery is the interval at which Ready is called.
const readyEvery = 100 * time.Millisecond

// maxBackoff is the longest pause after failures, unless the interval is longer.
const maxBackoff = 5 * time.Minute

// Next waits until it is time for the next call, makes it, and returns its result. A failure is delivered once, as a
// problem. While the same failure continues, Next retries with growing pauses. It returns an error only when ctx ends.
func (p *Poller) Next(ctx context.Context) (*Delivery, error) {
	for {
		if err := p.await(ctx); err != nil {
			return nil, err
		}
		p.asked, p.alive = true, p.opts.Alive()
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

// Close does nothing. It exists because a Poller is used like the readers of logs.
func (p *Poller) Close() error { return nil }

// await waits until polling may begin (Ready). The first call is due then. For a later call await waits until the call
// is due, or may be made early and has been wanted for the time p.soon().
func (p *Poller) await(ctx context.Context) error {
	for !p.opts.Ready() {
		if err := pause(ctx, readyEvery); err != nil {
			return err
		}
	}
	if !p.asked {
		return ctx.Err()
	}
	var since time.Time // time since which an early call is wanted; zero for none
	for {
		left := time.Until(p.due)
		if left <= 0 || !since.IsZero() && time.Since(since) >= p.soon() {
			return ctx.Err()
		}
		if since.IsZero() && !time.Now().Before(p.early) && p.wanted() {
			since = time.Now()
		}
		if err := pause(ctx, min(left, readyEvery)); err != nil {
			return err
		}
	}
}

// wanted reports whether the scheduler should be polled before the call is due: it failed and is alive again, or it has
// information that is missing.
func (p *Poller) wanted() bool {
	if p.failed > 0 {
		return p.opts.Alive().After(p.alive)
	}
	return p.opts.Wanted()
}

// soon is how long an early call waits, so that further requests share the call.
func (p *Poller) soon() time.Duration { return min(time.Second, p.poll.Interval/10) }

// plan sets the time of the next call. begun is when the previous call began.
func (p *Poller) plan(begun time.Time, failed bool) {
	now, before := time.Now(), p.due
	if failed {
		p.due = now.Add(jitter(delay(p.poll.Interval, p.failed+1)))
		p.early = now.Add(jitter(p.poll.Interval))
		return
	}
	next := jitter(p.poll.Interval)
	if begun.Before(before) { // the call was early
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

// delay returns the time to the next call after the given number of consecutive failures. It doubles with each failure
// from the second on, up to maxBackoff.
func delay(interval time.Duration, failed int) time.Duration {
	d := interval
	for ; failed > 1 && d < maxBackoff; failed-- {
		d *= 2
	}
	return max(interval, min(d, maxBackoff))
}

// jitter changes a duration by up to a tenth, so that many daemons do not poll at the same moments.
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

// call polls once. The delivery is never nil.
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
		d.Lines, d.Events, d.CaughtUp, d.Answered, d.Gap = answer.Lines, answer.Events, true, true, answer.Gap
		d.Unlogged, d.Outage = answer.Unlogged, answer.Outage
		if answer.Gap != nil {
			answer.Notes = append(answer.Notes, errors.New(answer.Gap.Reason))
		}
		p.note(answer.Notes)
		p.date(d)
	case !errors.As(err, &failed): // the output could not be used, which lasts until somebody changes something
		err = &CallError{Reason: FailedOutput, Err: fmt.Errorf("%s: %w", p.poll.Target, err)}
	}
	if ctx.Err() == nil {
		p.opts.Metrics.observe(&p.cfg, took, p.opts.Now(), err)
	}
	return d, err
}

// date sets the time of the answer in the delivery, and lists the events that are ahead of it in d.Ahead.
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

// note logs the notes that the previous answer did not have.
func (p *Poller) note(notes []error) {
	before := p.noted
	p.noted = map[string]bool{}
	for _, n := range notes {
		text := n.Error()
		if p.noted[text] = true; !before[text] {
			p.opts.Log.Warn("the scheduler does not report everything", zap.String("source", p.cfg.Name), zap.Error(n))
		}
	}
}

// reasonOf returns the reason of the problem that a failed call causes: Missing if the call could not be started,
// otherwise Unreadable. Both keep the source from being read until somebody mends the cause.
func reasonOf(err error) tail.Reason {
	var call *CallError
	if errors.As(err, &call) && call.Reason == FailedStart {
		return tail.Missing
	}
	return tail.Unreadable
}
