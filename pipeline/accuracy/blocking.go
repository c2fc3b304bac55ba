package accuracy

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// Blocking adds up the time in which a waiting job did not compete for processors: it was held, waited for another job,
// had a later begin time, or was blocked by a limit or a missing resource. The JSON of a Blocking is stored.
//
// The sum is as exact as the records. Logs record holds with the resolution of their times. A listing of the queue
// (squeue) shows a hold or a release late, by up to the interval between two listings. A hold in the first listings of
// a job counts from the submission, because a scheduler may show a new job as competing until it has examined the job.
// An eligible time that the scheduler reports is exact and takes precedence.
type Blocking struct {
	// Since is the time at which the job stopped competing; zero while it competes. Cause is the reason why it does not
	// compete. ByLog is true if a log recorded the hold when it happened, and false if a listing showed the hold later.
	Since time.Time `json:"since,omitzero"`
	Cause job.Cause `json:"cause,omitempty"`
	ByLog bool      `json:"by_log,omitempty"`
	// First is the total length of the blocked times that have ended and began before the job was eligible, or without
	// a known eligible time. Later is the total length of those that have ended and began afterwards. Until is the end
	// of the newest of all these.
	First time.Duration `json:"first,omitempty"`
	Later time.Duration `json:"later,omitempty"`
	Until time.Time     `json:"until,omitzero"`
	// Eligible is the eligible time in the newest record; it may lie in the future. Once is the first eligible time
	// that had already passed when it was reported. The job did not compete before Once.
	Eligible time.Time `json:"eligible,omitzero"`
	Once     time.Time `json:"once,omitzero"`
}

// Observe applies a change of a job that waits or starts. before and after are the job before and after the change,
// submit is the time of its submission.
func (b *Blocking) Observe(ev *job.Event, before, after *cluster.Job, submit time.Time) {
	if !after.Eligible.IsZero() {
		if b.Eligible = after.Eligible; b.Once.IsZero() && !b.Eligible.After(ev.Time) {
			b.Once = b.Eligible
		}
	}
	switch {
	case after.Running():
	case after.Held && b.Since.IsZero():
		b.Since, b.ByLog = ev.Time, ev.Reason == ""
		if !b.ByLog && ev.Live && before.Settled == "" {
			b.Since = submit
		}
		if b.Since.Before(b.Until) {
			b.Since = b.Until
		}
		b.Cause = job.CauseOf(after.Reason)
	case after.Held:
		b.Cause = job.CauseOf(after.Reason)
	case !b.Since.IsZero():
		b.release(ev.Time)
	}
}

// release ends the blocked time that began at Since. It ends at the given instant. But a hold, or a blocked time
// without a known cause, ends at the eligible time that the scheduler reported, if that is after Since and before the
// given instant.
func (b *Blocking) release(at time.Time) {
	onHold := b.Cause == job.OnHold || b.Cause == job.NoCause // the scheduler's eligible time is the end of these
	if onHold && b.Eligible.After(b.Since) && b.Eligible.Before(at) {
		at = b.Eligible
	}
	if at.After(b.Since) {
		if from := b.eligible(); from.IsZero() || b.Since.Before(from) {
			b.First += at.Sub(b.Since)
		} else {
			b.Later += at.Sub(b.Since)
		}
		b.Until = at
	}
	b.Since, b.Cause, b.ByLog = time.Time{}, job.NoCause, false
}

// eligible returns the first instant at which the job could compete; zero if unknown.
func (b *Blocking) eligible() time.Time {
	if b.Once.IsZero() {
		return b.Eligible
	}
	return b.Once
}

// Of returns the total blocked time of a job that waited from its submission to the given instant.
func (b Blocking) Of(submit, until time.Time) time.Duration {
	if !b.Since.IsZero() {
		b.release(until)
	}
	first := b.First
	// The job did not compete before it was eligible, even if no hold was noticed.
	if eligible := b.eligible(); !eligible.IsZero() {
		if eligible.After(until) {
			eligible = until
		}
		first = max(first, eligible.Sub(submit))
	}
	return max(0, min(first+b.Later, until.Sub(submit)))
}
