package ask

import (
	"math"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/advice"
)

const (
	// leastGain is the default for the relative gain by which new advice must be better than the standing advice.
	leastGain = .05
)

// readObjective parses the objective of the choice.
func (q *sizeQuery) readObjective() error {
	o := &q.req.Objective
	q.objective = advice.Objective{Level: o.Level, ProcHour: o.PriceProcHour, Hour: o.PriceHour}
	if o.Deadline != "" {
		at, err := futureInstant("objective.deadline", o.Deadline, q.now)
		if err != nil {
			return err
		}
		q.objective.Deadline = at.Sub(q.now).Seconds()
	}
	kinds := map[string]advice.Kind{"mean": advice.ExpectedFinish, "quantile": advice.FinishQuantile,
		"deadline": advice.ByDeadline, "cost": advice.Cost}
	switch kind, known := kinds[o.Kind]; {
	case known:
		q.objective.Kind = kind
	case o.Kind == "considerate":
		if o.PriceHour != 0 || o.PriceProcHour != 0 {
			return Invalid("objective.kind",
				"considerate has prices of its own: leave price_hour and price_proc_hour out")
		}
		q.considerate()
	case o.Kind != "":
		return Invalid("objective.kind", "want mean, quantile, deadline, cost or considerate")
	case o.Deadline != "":
		q.objective.Kind = advice.ByDeadline
	case o.PriceHour != 0 || o.PriceProcHour != 0:
		q.objective.Kind = advice.Cost
	case o.Level != 0:
		q.objective.Kind = advice.FinishQuantile
	}
	if q.objective.Kind == advice.ByDeadline && o.Deadline == "" {
		return Invalid("objective.deadline", "say by when: an instant (RFC 3339), or how long from now")
	}
	return nil
}

// considerate sets the price of a processor-hour in each pool. The price grows with the number of jobs that wait in the
// pool, divided by the pool's processors. The objective gets the price in the pool of the first target. The bill of a
// target is the price in its pool divided by the price in the objective.
func (q *sizeQuery) considerate() {
	price := func(p *targetQueue) advice.Objective {
		waiting, loads := 0, p.view.Loads()
		for name, l := range loads {
			if p.view.Pool(name) == p.view.Pool(p.first) {
				waiting += l.QueuedJobs
			}
		}
		return advice.Considerate(waiting, p.view.Pool(p.first).Capacity(cluster.Procs))
	}
	first := price(&q.targets[0])
	for i := range q.targets {
		q.targets[i].bill = price(&q.targets[i]).ProcHour / first.ProcHour
	}
	deadline := q.objective.Deadline
	q.objective = first
	q.objective.Deadline = deadline
}

// kind returns the name of the objective.
func (q *sizeQuery) kind() string {
	switch k := q.objective.Kind; {
	case q.req.Objective.Kind != "":
		return q.req.Objective.Kind
	case k == advice.ExpectedFinish:
		return "mean"
	default:
		return k.String()
	}
}

// readSteady checks the settings that keep advice from changing too often.
func (q *sizeQuery) readSteady() error {
	if g := q.req.LeastGain; g != nil && !(*g >= 0 && *g < 1) {
		return Invalid("least_gain", "want a number from 0 to below 1")
	}
	if q.req.HoldSeconds < 0 || math.IsNaN(q.req.HoldSeconds) {
		return Invalid("hold_seconds", "want 0 or more")
	}
	return nil
}

// steady returns the time for which advice stands, and the gain that a better candidate needs to replace it.
func (q *sizeQuery) steady() advice.Steady {
	out := advice.Steady{Gain: leastGain, Hold: q.req.HoldSeconds}
	if q.req.LeastGain != nil {
		out.Gain = *q.req.LeastGain
	}
	return out
}

// previousAdvice returns the advice that the request names. For a running job without previous advice, that is to keep
// the size.
func (q *sizeQuery) previousAdvice() advice.Standing {
	switch s := q.req.Standing; {
	case s != nil:
		where, name := s.Cluster, s.Queue
		if where == "" {
			where = q.targets[0].view.Cluster
		}
		if name == "" {
			name = q.targets[0].queue
		}
		return advice.Standing{Name: candidateName(where, name, s.Procs), Since: instantSeconds(s.Since)}
	case q.job != nil:
		return advice.Standing{Name: q.requests[0].name(), Since: 0}
	}
	return advice.Standing{}
}

// standingAdvice returns the advice that is in force after a result: the previous advice, or the new best size. An
// advice from the future, which exists if a clock was set back, counts as given now.
func (q *sizeQuery) standingAdvice(r *advice.Result, standing advice.Standing) (advice.Standing, error) {
	now := instantSeconds(q.service.now())
	standing.Since = min(standing.Since, now)
	out, err := q.steady().Settle(standing, now, r)
	if err != nil {
		return out, sizeRefusal(err)
	}
	return out, nil
}
