package ask

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// excludedCandidate is the reason why a candidate is excluded.
type excludedCandidate struct {
	reason string
	err    error // the error of the whole request if it fails because of this candidate
}

// Error implements error.
func (l *excludedCandidate) Error() string { return l.err.Error() }

// soft reports whether the candidate could be submitted, but would be of no use. Leaving it out does not make the
// request invalid, unless the candidate is the user's own request.
func (l *excludedCandidate) soft() bool {
	return l.reason == overTimeLimit || l.reason == noForecastYet
}

// These are the reasons for which a candidate is left out, in addition to those of package headqueue.
const (
	overTimeLimit = "over_time_limit"
	noForecastYet = "no_forecast"
)

func (q *sizeQuery) exclude(p *targetQueue, procs int, l *excludedCandidate) error {
	q.excluded = append(q.excluded, wire.SizeLeftOut{Cluster: p.view.Cluster, Queue: p.queue, Procs: procs,
		Reason: l.reason, Detail: l.err.Error()})
	return l.err
}

func (q *sizeQuery) isRequest(procs int) bool {
	return q.req.Request != nil && q.req.Request.Procs == procs
}

// add adds the candidate with the given queue and number of processors to the query. Its error is an
// *excludedCandidate, or an error of the whole request.
func (q *sizeQuery) add(p *targetQueue, procs int) error {
	run, err := advice.RunOf(q.curve, procs)
	if err != nil {
		return Invalid("runtime", err.Error())
	}
	limit, err := q.limit(p, run)
	if err != nil {
		return err
	}
	wait, err := q.wait(p, procs, limit)
	if err != nil {
		return err
	}
	a := candidateRequest{target: p, procs: procs, limit: limit}
	q.requests = append(q.requests, a)
	q.candidates = append(q.candidates, advice.Candidate{Name: a.name(), Pool: p.pool, Procs: procs,
		Wait: advice.Wait{Law: wait}, Run: run, Billing: p.bill})
	return nil
}

// limit returns the time limit of a candidate with the given runtime: the one that the request names, the median
// runtime times its factor (rounded up to a minute), or 0 if it has neither. Its error is an *excludedCandidate if the
// median runtime exceeds the named limit or, if the request has neither, the longest limit of the queue. Another error
// means that the text of the named limit is not valid.
func (q *sizeQuery) limit(p *targetQueue, run advice.Law) (time.Duration, error) {
	median := run.Quantile(.5)
	switch r := q.req; {
	case r.TimeLimit != "":
		limit, err := timeLimit("time_limit", r.TimeLimit)
		if err == nil && median > limit.Seconds() {
			err = &excludedCandidate{overTimeLimit,
				Invalid("time_limit", fmt.Sprintf("the job runs %s, the time limit is %s",
					spell(median), duration.Format(limit)))}
		}
		return limit, err
	case r.TimeLimitFactor != 0:
		return fromSeconds(math.Ceil(r.TimeLimitFactor*median/60-1e-9) * 60), nil
	}
	if longest := p.facts().MaxTime; longest > 0 && median > longest.Seconds() {
		return 0, &excludedCandidate{overTimeLimit,
			queueLimitRefusal(p.queue, "a runtime of "+spell(median), "at most "+duration.Format(longest))}
	}
	return 0, nil
}

// maxTimeLimit is the longest accepted time limit: ten years.
const maxTimeLimit = 3650 * 24 * time.Hour

// timeLimit reads a time limit.
func timeLimit(field, text string) (time.Duration, error) {
	limit, err := duration.Parse(text)
	if err != nil {
		return 0, Invalid(field, err.Error())
	}
	switch {
	case limit <= 0:
		return 0, Invalid(field, "must be more than 0; left out it is no limit")
	case limit > maxTimeLimit:
		return 0, Invalid(field, "longer than "+duration.Format(maxTimeLimit)+"; left out it is no limit")
	}
	return limit, nil
}

// wait returns the distribution of the wait of a job with the given number of processors. Its error is an
// *excludedCandidate, or the error of the pace or of the forecast.
func (q *sizeQuery) wait(p *targetQueue, procs int, limit time.Duration) (*waittime.Distribution, error) {
	req := q.base
	req.Queue, req.Procs, req.TimeLimit = p.queue, procs, limit
	if err := q.pace.Next(); err != nil {
		return nil, err
	}
	wait, err := q.service.wait(p, &req)
	if err != nil {
		var refused *Refusal
		if errors.As(err, &refused) && refused.Kind == KindInvalid {
			return nil, &excludedCandidate{string(refused.Reason), err}
		}
		return nil, err
	}
	if math.IsInf(wait.Quantile(waittime.Levels()[0]), 1) {
		return nil, &excludedCandidate{noForecastYet, noForecast(KindUnavailable, headqueue.NeverEnough,
			fmt.Sprintf("%d processors may never be free in queue %s: the jobs that can end do not free enough", procs,
				p.queue), "ask for fewer processors")}
	}
	return wait, nil
}

// findRequest stores the index of the candidate that the user would submit without advice. It does nothing if the
// request names no such candidate. It refuses one that is not among the candidates.
func (q *sizeQuery) findRequest() error {
	want := q.req.Request
	if want == nil {
		return nil
	}
	for i, a := range q.requests {
		if a.procs == want.Procs && (want.Cluster == "" || want.Cluster == a.target.view.Cluster) &&
			(want.Queue == "" || want.Queue == a.target.queue) {
			q.request = i
			return nil
		}
	}
	return Invalid("request",
		fmt.Sprintf("%d processors in queue %q are not among the candidates: name its queue in places, and a size "+
			"that it takes", want.Procs, want.Queue))
}
