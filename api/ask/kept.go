package ask

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	enginepools "github.com/waitcast/waitcast/predictor/engine/pools"
)

// limitCause returns the cause for a request that a limit prevents from starting: the limit, how much of it becomes
// free, and when. It names the job that frees the amount only to callers that may see that job.
func limitCause(v *readmodel.View, queue, account string, k *enginepools.Kept, caller Caller) *wire.Cause {
	c := causeOf(job.LimitReached, inUse(v.Engine.Limits.Limit(k.Key), account, k))
	addFreed(c, k.Kind, v.Freed(queue, k), caller)
	return c
}

// addFreed adds to a cause the amount of its limit that becomes free, and the time at which it does, if they are
// known.
func addFreed(c *wire.Cause, kind int, freed *readmodel.Freed, caller Caller) {
	if freed == nil || math.IsInf(freed.Seconds, 1) {
		return
	}
	c.Detail += "; " + comesFree(kind, freed.Amount, freed.Seconds)
	c.ComesFree = &wire.Freed{Of: kindName(kind), Amount: freed.Amount, Seconds: math.Round(freed.Seconds*10) / 10,
		Jobs: freed.Jobs}
	if freed.Job != nil && caller.Sees(freed.Job.User) {
		c.ComesFree.ID = freed.Job.ID
		c.Detail += ", when job " + freed.Job.ID + " ends"
	}
}

// refused returns the limit on running and waiting jobs by which the scheduler would refuse a submission now; nil if
// it would accept it. It names a job only to callers that may see that job.
func refused(v *readmodel.View, a *job.Attributes, caller Caller) *wire.Cause {
	full := v.RefusedBy(a)
	if full == nil {
		return nil
	}
	text := whose(full.Limit, a.Account, count(int(full.Most), "job")) + " run or wait"
	if full.Most == 1 {
		text = whose(full.Limit, a.Account, "job") + " runs or waits"
	}
	c := &wire.Cause{Class: job.LimitReached.String(), Detail: text,
		Action: "submit it when enough of them have ended, or in another QOS or account"}
	addFreed(c, joblimits.Jobs, full.Freed, caller)
	return c
}

// inUse describes the amount that a limit allows, and how much of it running jobs use: "your account's 256 processors
// are in use". The account is the account of the request. A nil limit means the limit of an array.
func inUse(l *job.Limit, account string, k *enginepools.Kept) string {
	most := whose(l, account, amountOf(k.Kind, k.Most))
	if k.Used >= k.Most {
		return most + " " + verb(k.Kind, k.Most)
	}
	return fmt.Sprintf("%s of %s %s, and this job asks for %s", numberOf(k.Kind, k.Used), most, verb(k.Kind, k.Used),
		numberOf(k.Kind, k.Wants))
}

// whose returns the words that name the amount of a limit and its owner.
func whose(l *job.Limit, account, amount string) string {
	switch {
	case l == nil:
		return "the " + amount + " that the array may have at once"
	case l.Scope != nil:
		return ofScope(l.Scope, amount)
	case l.PerUser:
		return "your " + amount + " in " + owner(l)
	case l.PerAccount:
		return "your account's " + amount + " in " + owner(l)
	case l.User != "":
		return "your " + amount + " in account " + l.Account
	case l.QOS == "" && account != "" && strings.EqualFold(l.Account, account):
		return "your account's " + amount
	}
	return "the " + amount + " of " + owner(l)
}

// ofScope names the amount and the owner of a limit of PBS or Grid Engine, as whose does.
func ofScope(s *job.Scope, amount string) string {
	of := slices.Concat(s.Users, s.Groups, s.Accounts)
	switch {
	case s.EachUser:
		return "your " + amount + " in " + s.Where
	case s.EachGroup:
		return "your group's " + amount + " in " + s.Where
	case s.EachAccount:
		return "your project's " + amount + " in " + s.Where
	case len(of) > 0:
		return "the " + amount + " of " + strings.Join(of, ", ") + " in " + s.Where
	}
	return "the " + amount + " of " + s.Where
}

// verb returns the end of a sentence about an amount in use: "runs", "are in use".
func verb(kind int, n int64) string {
	switch {
	case kind == joblimits.Jobs && n == 1:
		return "runs"
	case kind == joblimits.Jobs:
		return "run"
	case n == 1:
		return "is in use"
	}
	return "are in use"
}

// amountOf formats an amount of a limited resource.
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

// numberOf formats an amount without its unit, for texts that have named the unit before.
func numberOf(kind int, n int64) string {
	switch kind {
	case joblimits.Memory:
		return gibibytes(n)
	case joblimits.Work:
		return fmt.Sprintf("%.4g", float64(n)/3600)
	}
	return fmt.Sprint(n)
}

// kindName returns the name that answers use for a limited resource.
func kindName(kind int) string {
	return [...]string{joblimits.Jobs: "jobs", joblimits.Procs: "procs", joblimits.Nodes: "nodes",
		joblimits.GPUs: "gpus", joblimits.Memory: "memory", joblimits.Work: "work"}[kind]
}

// comesFree describes which amount becomes free, and when: "64 come free in about 2h".
func comesFree(kind int, n int64, seconds float64) string {
	what := numberOf(kind, n)
	switch {
	case kind == joblimits.Jobs && n == 1:
		what += " ends"
	case kind == joblimits.Jobs:
		what += " end"
	case n == 1:
		what += " comes free"
	default:
		what += " come free"
	}
	return what + " " + inAbout(seconds)
}

// inAbout formats an approximate time from now. It rounds to a multiple of one minute, or of a longer unit that is at
// most a twentieth of the time.
func inAbout(seconds float64) string {
	if seconds < waittime.Shift {
		return "within about a minute"
	}
	step := time.Minute
	for _, s := range [...]time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour} {
		if seconds >= 20*s.Seconds() {
			step = s
		}
	}
	return "in about " + duration.Format(fromSeconds(seconds).Round(step))
}
