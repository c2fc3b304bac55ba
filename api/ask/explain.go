package ask

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// pivots returns the running jobs whose ends a start depends on, without their owners.
func pivots(all []readmodel.Pivot) []wire.Pivot {
	var out []wire.Pivot
	for _, p := range all {
		out = append(out, wire.Pivot{
			ID: p.Job.ID, Procs: p.Procs, AgeSeconds: math.Round(p.Age*10) / 10, RemainingP50: span(p.Median),
			RemainingP90: span(p.High), Share: math.Round(p.Share*1e4) / 1e4,
		})
	}
	return out
}

// sooner returns options that would start sooner than the request of q or, if q.Job is set, than this waiting job.
func sooner(v *readmodel.View, now time.Time, q readmodel.SoonerQuery) []wire.Sooner {
	q.Takes = func(a *job.Attributes) bool { return fits(v, a) == nil }
	var out []wire.Sooner
	for _, o := range v.Sooner(now, &q) {
		s := wire.Sooner{
			Changes: o.Changes, Queue: o.Queue, Procs: o.Procs, Nodes: o.Nodes, TimeLimitSeconds: o.TimeLimit.Seconds(),
			WaitSeconds: quantiles(waittime.Rising(o.Quantiles)), Probability: decimals(o.Probability, 3),
			GainSeconds: span(o.Gain),
		}
		switch o.Changes {
		case readmodel.ChangeLimit:
			s.If = "if it can end within " + duration.Format(o.TimeLimit)
		case readmodel.ChangeQueue:
			s.If = "if it may be submitted to queue " + o.Queue
		default:
			s.If = fmt.Sprintf("if it can run on %s, and still end within its time limit", count(o.Procs, "processor"))
		}
		out = append(out, s)
	}
	return out
}

// pivotsFor returns the running jobs whose ends a start depends on. Job ids are included only for callers that may see
// the job.
func pivotsFor(c Caller, all []readmodel.Pivot) []wire.Pivot {
	out := pivots(all)
	for i := range out {
		if !c.Sees(all[i].Job.User) {
			out[i].ID = ""
		}
	}
	return out
}
