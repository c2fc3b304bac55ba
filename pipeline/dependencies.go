package pipeline

import (
	"strings"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// reasonDependency is Slurm's reason for a job that waits for other jobs.
const reasonDependency = "Dependency"

// awaits reports whether a waiting job depends on another job that the engine does not have yet, so that a forecast
// would ignore the dependency. It is false for a job that has started or left. There are two cases: the other job's
// size or queue is still unknown; or no record of the other job was read, although the scheduler reports that this job
// is held for it.
func (l *ledger) awaits(o *openForecast, s *cluster.State) bool {
	after, e := o.Job.After, l.feeder.engine
	if after == "" || after == job.UnknownAfter || !o.Closed.IsZero() {
		return false
	}
	if o.Job.Held && o.Job.Reason == reasonDependency && !e.Knows(after) {
		return true
	}
	for name := range strings.SplitSeq(after, ",") {
		whole, _, _ := strings.Cut(name, "_")
		for _, id := range [...]string{name, whole} {
			j := s.Job(id)
			if j != nil && j.ID != o.Job.ID && !e.Has(readmodel.EngineID(j)) && !e.Has(restID(j)) {
				return true
			}
		}
	}
	return false
}

// completeDependents makes the postponed forecasts of dependent jobs whose size and queue are known, if they no longer
// await another job (see awaits). For a job that still awaits one, it notes whether the job was submitted on hold.
func (l *ledger) completeDependents(s *cluster.State) {
	for more := true; more; {
		more = false
		for i := 0; i < len(l.late); {
			o := l.late[i]
			if o.Job.After != "" && o.DetailsKnown() {
				if !l.awaits(o, s) {
					l.complete(o, s)
					more = true
					continue // complete has removed the forecast from the list
				}
				o.OnHold = o.OnHold || l.submittedOnHold(o) // set it now: a start removes the reason
			}
			i++
		}
	}
}
