package ask

import (
	"fmt"
	"math"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/engine"
)

// cause returns the cause that prevents a request from starting at once; nil if it starts at once by the forecast, or
// if no cause is known. As in Slurm's reasons, causes that would hold even on an idle machine come first, then the jobs
// ahead. Except for planned outages, the class of the cause is the one that the ledger would record for such a
// submission. account is the account of the request.
func cause(v *readmodel.View, w *wire.Wait, f *predictor.Forecast, learnt *engine.Forecast, account string,
	caller Caller) *wire.Cause {
	queue := queueFacts(v, w.Queue)
	switch {
	case queue.Down:
		return causeOf(job.Unavailable, "queue "+w.Queue+" starts no jobs now")
	case learnt.Kept != nil:
		c := limitCause(v, w.Queue, account, learnt.Kept, caller)
		c.BlockedSeconds = blocked(learnt.Blocked)
		return c
	case startsAtOnce(w) && !learnt.NoRoom:
		return nil
	case f.Closed:
		return causeOf(job.Unavailable, "an outage is planned before it would end")
	}
	ahead, unknown := max(w.State.QueuedAheadJobs, learnt.JobsAhead), v.Unsized(w.Queue)
	switch {
	case learnt.Cause() == job.LimitReached:
		c := causeOf(job.LimitReached, limitByThoseAhead)
		c.BlockedSeconds = blocked(learnt.Blocked)
		return c
	case ahead > 0:
		return causeOf(job.Priority, count(ahead, "job")+" ahead")
	case unknown > 0:
		return causeOf(job.Priority, count(unknown, "job")+" submitted just now, of unknown size")
	case w.State.Needed > 0:
		return causeOf(job.Resources, fmt.Sprintf("%d more must be freed", w.State.Needed))
	case learnt.NoRoom:
		return causeOf(job.Resources, noRoom)
	case learnt.Nodes:
		return causeOf(job.Resources, "what it asks for is in use, or meant for others")
	}
	return nil
}

// startsAtOnce reports whether the job starts within one second of its submission with a probability of at least 0.5.
// The second is needed because schedulers write whole seconds.
func startsAtOnce(w *wire.Wait) bool { return w.WaitSeconds.P50 != nil && *w.WaitSeconds.P50 <= 1 }

// limitByThoseAhead is the detail of a cause: a limit has room for the job now, but jobs that start before it will use
// it up.
const limitByThoseAhead = "once the jobs that start before it run they have all that the limit allows"

// noRoom explains a wait although processors are free.
const noRoom = "no nodes have room for it: their GPUs, memory or processors are in use"

// causeOf returns a cause with advice to the user.
func causeOf(c job.Cause, detail string) *wire.Cause {
	return &wire.Cause{Class: c.String(), Detail: detail, Action: action(c)}
}

// action returns advice to the user for a cause; "" if the cause is unknown.
func action(c job.Cause) string {
	switch c {
	case job.Resources:
		return "a smaller or a shorter job may start sooner"
	case job.Priority:
		return "a smaller or a shorter job may fit between those ahead"
	case job.LimitReached:
		return "jobs that count in the limit must end first; ask for less, or in another QOS or account"
	case job.OnHold:
		return "release it, or see to what it waits for: a begin time, another job"
	case job.Unavailable:
		return "use another queue, or wait until what it asks for is there again"
	case job.NoCause:
	}
	return ""
}

// blocked returns the quantiles of the blocked part of a wait; nil if no limit applies to the request.
func blocked(seconds []float64) *wire.Quantiles {
	if seconds == nil {
		return nil
	}
	q := quantiles(seconds)
	return &q
}

// keptFor describes, if the cause is a limit, which limit blocks a request and for how long by the forecast; or that no
// nodes have room for the request. For other causes it returns "".
func keptFor(c *wire.Cause) string {
	if c != nil && c.Detail == noRoom {
		return noRoom
	}
	if c == nil || c.Class != job.LimitReached.String() {
		return ""
	}
	text := "a limit keeps it: " + c.Detail
	if b := c.BlockedSeconds; b != nil && b.P50 != nil && !math.IsInf(*b.P50, 1) && *b.P50 >= waittime.Shift {
		text += ", in half of the futures for longer than " + about(*b.P50)
	}
	return text
}
