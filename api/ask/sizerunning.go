package ask

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/advice"
)

// readRunning checks the members of the request about a running job, and finds the job. It does nothing for a job that
// is to be submitted.
func (q *sizeQuery) readRunning() error {
	r := q.req.Running
	switch {
	case r == nil:
		return nil
	case q.req.Request != nil:
		return Invalid("request", "the request of a running job is to keep its size: leave it out")
	case len(q.targets) > 1:
		return Invalid("places", "a running job stays in its queue: name that alone")
	case r.RemainingSeconds > 0 && r.Done != nil:
		return Invalid("running.done", "give this or remaining_seconds")
	case r.Done != nil && !(*r.Done >= 0 && *r.Done < 1):
		return Invalid("running.done", "want the part of the work that is done, from 0 to below 1")
	case r.JobID == "" && r.Procs < 1:
		return Invalid("running.procs", "say how many processors the job holds, or name it by job_id")
	case r.JobID == "" && r.RemainingSeconds == 0 && r.Done == nil:
		return Invalid("running.remaining_seconds",
			"say how long the job would still run at its size, or which part of its work is done")
	case r.JobID == "":
		q.job = &malleable{procs: r.Procs}
	case q.job == nil: // only the queue of the job was named
		return q.findRunning(q.targets[0].view.Cluster, r.JobID)
	}
	return nil
}

// findRunning sets job to the running job with the given id, targets to its queue, and now to the instant of its view.
// It refuses a job that is not in the queue that the request names.
func (q *sizeQuery) findRunning(clusterName, id string) error {
	v, err := q.service.readCluster(clusterName)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(v.Running, func(j *cluster.Job) bool { return j.ID == id })
	if i < 0 {
		return NotFound(fmt.Sprintf("no job %q runs in cluster %s: it waits, has ended, or was never submitted",
			id, v.Cluster))
	}
	j := v.Running[i]
	if len(q.targets) > 0 && q.targets[0].queue != j.Queue {
		return Invalid("places", fmt.Sprintf("job %s runs in queue %s, not in %s", j.ID, j.Queue, q.targets[0].queue))
	}
	found, err := q.service.targetQueueIn(v, j.Queue)
	if err != nil {
		return err
	}
	q.targets, q.now = []targetQueue{*found}, found.now
	age := j.Age(found.now)
	q.job = &malleable{procs: j.Procs, age: age.Seconds()}
	if j.TimeLimit > 0 {
		q.job.until = max(time.Second, j.TimeLimit-age)
	}
	return nil
}

// remainingPart returns the part of the job's work that remains.
func (q *sizeQuery) remainingPart() (float64, error) {
	r := q.req.Running
	if r.Done != nil {
		return 1 - *r.Done, nil
	}
	whole, err := q.curve.Runtime(q.job.procs)
	if err != nil {
		return 0, Invalid("runtime", err.Error())
	}
	left := whole - q.job.age
	field, hint := "running.job_id", "tell remaining_seconds"
	if r.RemainingSeconds > 0 {
		left, field, hint = r.RemainingSeconds, "running.remaining_seconds", "tell what is left now"
		if r.At != nil {
			left -= max(0, q.now.Sub(*r.At).Seconds())
		}
	}
	if left <= 0 {
		return 0, Invalid(field, "the job should have ended by now: "+hint)
	}
	return left / whole, nil
}

// part is the law of a remaining runtime: the field of is the factor on the runtimes of Law.
type part struct {
	advice.Law
	of float64
}

// Quantile implements advice.Law.
func (p part) Quantile(level float64) float64 { return p.of * p.Law.Quantile(level) }

// CDF implements advice.Law.
func (p part) CDF(seconds float64) float64 { return p.Law.CDF(seconds / p.of) }

// Mean implements advice.Law.
func (p part) Mean() float64 { return p.of * p.Law.Mean() }

// remainingLaw returns the law of the remaining runtime if the job has the given size from now on. rest is the part of
// its work that remains.
func (q *sizeQuery) remainingLaw(procs int, rest float64) (advice.Law, error) {
	run, err := advice.RunOf(q.curve, procs)
	if err != nil {
		return nil, Invalid("runtime", err.Error())
	}
	return part{run, rest}, nil
}

// gatherRunning makes the candidates for the sizes that the job could have; the first is its present size. It refuses
// the request if the queue never allows a size that the request lists.
func (q *sizeQuery) gatherRunning() error {
	rest, err := q.remainingPart()
	if err != nil {
		return err
	}
	p := &q.targets[0]
	keep, err := q.remainingLaw(q.job.procs, rest)
	if err != nil {
		return err
	}
	q.requests = append(q.requests, candidateRequest{target: p, procs: q.job.procs})
	q.candidates = append(q.candidates, advice.Candidate{Procs: q.job.procs, Run: keep, Billing: p.bill})
	for _, procs := range q.sizes {
		if procs == q.job.procs {
			continue
		}
		err := q.addSize(p, procs, rest)
		var out *excludedCandidate
		switch {
		case errors.As(err, &out):
			if refused := q.exclude(p, procs, out); q.named && !out.soft() {
				return refused
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// addSize makes the candidate for a size. To grow, the job waits like a new job with the additional processors.
func (q *sizeQuery) addSize(p *targetQueue, procs int, rest float64) error {
	left, err := q.remainingLaw(procs, rest)
	if err != nil {
		return err
	}
	median := left.Quantile(.5) + q.req.Running.OverheadSeconds
	if until := q.job.until; procs < q.job.procs && until > 0 && median > until.Seconds() {
		return &excludedCandidate{overTimeLimit,
			Invalid("sizes",
				fmt.Sprintf("with %d processors the job would run %s more, and its time limit leaves it %s",
					procs, spell(median), spell(until.Seconds())))}
	}
	size := advice.Size{Procs: procs, Left: left, Overhead: q.req.Running.OverheadSeconds}
	if lacks := procs - q.job.procs; lacks > 0 {
		var never *Refusal
		if err := fits(p.view, &job.Attributes{Queue: p.queue, Procs: procs}); errors.As(err, &never) {
			return &excludedCandidate{string(never.Reason), err}
		}
		limit := fromSeconds(median)
		if q.job.until > 0 {
			limit = q.job.until
		}
		law, err := q.wait(p, lacks, limit)
		if err != nil {
			return err
		}
		size.Wait.Law = law
	}
	q.grow = append(q.grow, size)
	q.requests = append(q.requests, candidateRequest{target: p, procs: procs})
	return nil
}

// resize ranks the sizes to which the job could change, and the present size.
func (q *sizeQuery) resize() (*advice.Result, error) {
	keep := &q.candidates[0]
	q.request = 0
	return advice.Resize(advice.Running{Procs: keep.Procs, Left: keep.Run, Billing: keep.Billing}, q.grow, q.objective)
}
