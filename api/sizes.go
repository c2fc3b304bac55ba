package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/workload/speedup"
)

// mostInRange is how many sizes between two bounds are all looked at.
const mostInRange = 64

// readSizes makes the list of sizes, and checks it and the time limits.
func (q *sizeQuery) readSizes() error {
	r := q.req
	switch {
	case r.TimeLimit != "" && r.TimeLimitFactor != 0:
		return unprocessable("time_limit_factor", "give this or time_limit")
	case r.TimeLimitFactor != 0 && !(r.TimeLimitFactor >= 1 && r.TimeLimitFactor <= 1e6):
		return unprocessable("time_limit_factor", "want a number from 1")
	case len(r.Sizes) > 0 && (r.Min > 0 || r.Max > 0):
		return unprocessable("sizes", "give these or min and max")
	case r.Max > 0 && r.Min > r.Max:
		return unprocessable("min", fmt.Sprintf("%d is more than max, %d", r.Min, r.Max))
	}
	q.named = len(r.Sizes) > 0
	if q.named {
		q.sizes = slices.Compact(slices.Sorted(slices.Values(r.Sizes)))
	} else if err := q.between(); err != nil {
		return err
	}
	if q.sizes[0] < 1 {
		return unprocessable("sizes", fmt.Sprintf("%d processors; want 1 or more", q.sizes[0]))
	}
	if r.Request != nil && q.job == nil {
		if n := r.Request.Procs; !slices.Contains(q.sizes, n) {
			q.sizes = append(q.sizes, n)
		}
	}
	if n := len(q.sizes) * len(q.targets); n > mostCandidates {
		return unprocessable("sizes", fmt.Sprintf("%d candidates; at most %d are compared", n, mostCandidates))
	}
	return nil
}

// between lists the sizes between the bounds that are given, and those of the runtimes and the machine.
func (q *sizeQuery) between() error {
	from, to := max(1, q.req.Min), 0
	for i := range q.targets {
		to = max(to, q.targets[i].most)
	}
	if q.req.Max > 0 {
		to = q.req.Max
	}
	if to == 0 {
		return unprocessable("max", "the machine's size is not known: name the sizes, or the largest")
	}
	var gap *speedup.SizeError
	if _, err := q.curve.Runtime(from); q.req.Min == 0 && errors.As(err, &gap) {
		from = gap.From
	}
	if _, err := q.curve.Runtime(to); q.req.Max == 0 && errors.As(err, &gap) && gap.To > 0 {
		to = gap.To
	}
	if from > to {
		return unprocessable("sizes", fmt.Sprintf("none is left: they go from %d, and the machine or the runtimes end at %d", from, to))
	}
	q.sizes = ladder(from, to)
	return nil
}

// ladder returns the sizes from one to another: all where they are few, else the bounds, powers of two and what lies halfway between them.
func ladder(from, to int) []int {
	var out []int
	if to-from < mostInRange {
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
		return out
	}
	out = append(out, from, to)
	for n := 1; n < to; n *= 2 {
		for _, size := range [...]int{n, n + n/2} {
			if size > from && size < to {
				out = append(out, size)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// gather makes the candidates: every size in every queue that has it.
func (q *sizeQuery) gather() error {
	if q.job != nil {
		return q.gatherRunning()
	}
	var refused error // why a size that was named cannot be had, of the queue that was asked last
	for _, procs := range q.sizes {
		had := false
		for i := range q.targets {
			err := q.add(&q.targets[i], procs)
			var out *excludedCandidate
			switch {
			case err == nil:
				had = true
			case errors.As(err, &out):
				refused = q.exclude(&q.targets[i], procs, out)
				had = had || out.soft() && !q.isRequest(procs)
			default:
				return err
			}
		}
		if !had && (q.named || q.isRequest(procs)) {
			return refused
		}
	}
	if len(q.candidates) == 0 {
		return refused
	}
	return q.findRequest()
}

// excludedCandidate is the reason why a candidate is excluded.
type excludedCandidate struct {
	reason string
	err    error // the answer where nothing else can be asked for either
}

// Error implements error.
func (l *excludedCandidate) Error() string { return l.err.Error() }

// soft says whether the rest of the question makes sense without the candidate: it can be had, but is of no use.
func (l *excludedCandidate) soft() bool {
	return l.reason == overTimeLimit || l.reason == noForecastYet
}

// The reasons for which a candidate is left out, beside those of package headqueue.
const (
	overTimeLimit = "over_time_limit"
	noForecastYet = "no_forecast"
)

func (q *sizeQuery) exclude(p *targetQueue, procs int, l *excludedCandidate) error {
	q.excluded = append(q.excluded, wire.SizeLeftOut{Cluster: p.view.Cluster, Queue: p.queue, Procs: procs, Reason: l.reason, Detail: l.err.Error()})
	return l.err
}

func (q *sizeQuery) isRequest(procs int) bool {
	return q.req.Request != nil && q.req.Request.Procs == procs
}

// add makes a candidate. The error is a *leftOut, or about the question.
func (q *sizeQuery) add(p *targetQueue, procs int) error {
	run, err := advice.RunOf(q.curve, procs)
	if err != nil {
		return unprocessable("runtime", err.Error())
	}
	limit, err := q.limit(run)
	if err != nil {
		return err
	}
	wait, _, err := q.wait(p, procs, limit)
	if err != nil {
		return err
	}
	a := candidateRequest{target: p, procs: procs, limit: limit}
	q.requests = append(q.requests, a)
	q.candidates = append(q.candidates, advice.Candidate{Name: a.name(), Pool: p.pool, Procs: procs, Wait: advice.Wait{Law: wait}, Run: run, Billing: p.bill})
	return nil
}

// limit returns the time limit that a job of such a runtime would ask for, 0 where nothing is told.
func (q *sizeQuery) limit(run advice.Law) (time.Duration, error) {
	median := run.Quantile(.5)
	switch r := q.req; {
	case r.TimeLimit != "":
		limit, err := timeLimit("time_limit", r.TimeLimit)
		if err == nil && median > limit.Seconds() {
			err = &excludedCandidate{overTimeLimit, unprocessable("time_limit", fmt.Sprintf("the job runs %s, the time limit is %s",
				spell(median), duration.Format(limit)))}
		}
		return limit, err
	case r.TimeLimitFactor != 0:
		return fromSeconds(math.Ceil(r.TimeLimitFactor*median/60-1e-9) * 60), nil
	}
	return 0, nil
}

// timeLimit reads a time limit.
func timeLimit(field, text string) (time.Duration, error) {
	limit, err := duration.Parse(text)
	if err != nil {
		return 0, unprocessable(field, err.Error())
	}
	if limit <= 0 {
		return 0, unprocessable(field, "must be more than 0")
	}
	return limit, nil
}

// fromSeconds returns a duration, at most the longest there is.
func fromSeconds(seconds float64) time.Duration {
	return time.Duration(min(seconds, math.MaxInt64/2/float64(time.Second)) * float64(time.Second))
}

// spell writes seconds for people.
func spell(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "for ever"
	}
	return duration.Format(fromSeconds(seconds))
}

// wait returns the law of the wait of a job of so many processors, and its quantiles. The error is a *leftOut, or that of the forecast.
func (q *sizeQuery) wait(p *targetQueue, procs int, limit time.Duration) (advice.Law, []float64, error) {
	req := q.base
	req.Queue, req.Procs, req.TimeLimit = p.queue, procs, limit
	waits, err := q.server.waits(p, &req)
	if err != nil {
		var refused *problem
		if errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity {
			return nil, nil, &excludedCandidate{refused.Reason, err}
		}
		return nil, nil, err
	}
	if math.IsInf(waits[0], 1) {
		return nil, nil, &excludedCandidate{noForecastYet, noForecast(http.StatusServiceUnavailable, headqueue.NeverEnough,
			fmt.Sprintf("%d processors may never be free in queue %s: the jobs that can end do not free enough", procs, p.queue), "ask for fewer processors")}
	}
	law, err := advice.NewQuantiles(waittime.Levels(), waits)
	if err != nil {
		return nil, nil, fmt.Errorf("the forecast for %d processors in queue %s: %w", procs, p.queue, err)
	}
	return law, waits, nil
}

// waits returns the quantiles of a request's wait in seconds, as GET /v1/wait has them; +Inf is never. An error is a *problem.
func (s *Server) waits(p *targetQueue, req *job.Request) ([]float64, error) {
	if err := fits(p.view, req); err != nil {
		return nil, err
	}
	a := attributes(req)
	if p.view.Engine != nil {
		r := p.view.Ask(&a)
		if f := p.view.Engine.Forecast(&r); f.Quantiles != nil {
			q := rising(f.Quantiles)
			if pool := p.view.Pool(req.Queue); len(pool.Outages) > 0 {
				predictor.NewScene(p.view.Cluster, p.now, pool, a, p.view.Models).MoveOut(q)
			}
			return q, nil
		}
	}
	_, f, _, err := s.forecast(p.view, p.now, a)
	if err != nil {
		return nil, forecastProblem(err)
	}
	return rising(f.Quantiles), nil
}

// findRequest finds what the user would ask for otherwise.
func (q *sizeQuery) findRequest() error {
	want := q.req.Request
	if want == nil {
		return nil
	}
	for i, a := range q.requests {
		if a.procs == want.Procs && (want.Cluster == "" || want.Cluster == a.target.view.Cluster) && (want.Queue == "" || want.Queue == a.target.queue) {
			q.request = i
			return nil
		}
	}
	return unprocessable("request", fmt.Sprintf("%d processors in queue %q are not among the candidates: name its queue in places, and a size that it takes", want.Procs, want.Queue))
}
