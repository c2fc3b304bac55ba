package ask

import (
	"fmt"
	"math"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/engine"
	enginepools "github.com/waitcast/waitcast/predictor/engine/pools"
)

// cause returns what keeps a request from starting at once, nil where it starts at once by the forecast: first what
// would keep it on an idle machine, then who and what is ahead, as Slurm's reasons are ranked.
func cause(v *readmodel.View, w *wire.Wait, f *predictor.Forecast, learnt *engine.Forecast) *wire.Cause {
	queue := queueFacts(v, w.Queue)
	switch {
	case learnt.Kept != nil:
		c := causeOf(job.LimitReached, keptBy(v, learnt.Kept))
		c.BlockedSeconds = blocked(learnt.Blocked)
		return c
	case queue.Down:
		return causeOf(job.Unavailable, "queue "+w.Queue+" starts no jobs now")
	case soon(w):
		return nil
	case f.Closed:
		return causeOf(job.Unavailable, "an outage is planned before it would end")
	case w.State.Needed > 0 && w.State.QueuedAheadJobs > 0:
		return causeOf(job.Priority, count(w.State.QueuedAheadJobs, "job")+" ahead")
	case w.State.Needed > 0:
		return causeOf(job.Resources, fmt.Sprintf("%d more must be freed", w.State.Needed))
	}
	return nil
}

// causeOf returns a cause with what one can do.
func causeOf(c job.Cause, detail string) *wire.Cause {
	return &wire.Cause{Class: c.String(), Detail: detail, Action: Action(c)}
}

// Action says what who waits for a cause can do; "" where the cause is not known.
func Action(c job.Cause) string {
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

// blocked writes the quantiles of the part of a wait for which limits keep a request; nil where no limit holds for it.
func blocked(seconds []float64) *wire.Quantiles {
	if seconds == nil {
		return nil
	}
	q := quantiles(seconds)
	return &q
}

// keptBy says in words which limit keeps a request.
func keptBy(v *readmodel.View, k *enginepools.Kept) string {
	l := v.Engine.Limits.Limit(k.Key)
	return fmt.Sprintf("%s %s%s at once, and %s", owner(l), allows(l), amountOf(k.Kind, k.Most), inUse(k.Kind, k.Used))
}

// allows says whom a limit allows how much, up to the amount.
func allows(l *job.Limit) string {
	switch {
	case l.PerUser:
		return "allows each user "
	case l.PerAccount:
		return "allows each account "
	case l.User != "":
		return "allows "
	}
	return "allows all jobs together "
}

// amountOf writes an amount of what limits bound.
func amountOf(kind int, n int64) string {
	switch kind {
	case joblimits.Jobs:
		return count(int(n), "job")
	case joblimits.Nodes:
		return count(int(n), "node")
	case joblimits.GPUs:
		return count(int(n), "GPU")
	case joblimits.Memory:
		return gibibytes(n) + " of memory"
	case joblimits.Work:
		return fmt.Sprintf("%.4g processor-hours left to time limits", float64(n)/3600)
	}
	return count(int(n), "processor")
}

// inUse says how much of what a limit bounds those that run have.
func inUse(kind int, n int64) string {
	switch kind {
	case joblimits.Jobs:
		return fmt.Sprintf("%d run", n)
	case joblimits.Memory, joblimits.Work:
		return amountOf(kind, n) + " are in use"
	}
	return fmt.Sprintf("%d are in use", n)
}

// keptFor says which limit keeps a request, and for how long by the forecast; "" for none.
func keptFor(c *wire.Cause) string {
	if c == nil || c.Class != job.LimitReached.String() {
		return ""
	}
	text := "a limit keeps it: " + c.Detail
	if b := c.BlockedSeconds; b != nil && b.P50 != nil && !math.IsInf(*b.P50, 1) && *b.P50 >= waittime.Shift {
		text += ", half the time for longer than " + spell(*b.P50)
	}
	return text
}
