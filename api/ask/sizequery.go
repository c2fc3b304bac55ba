package ask

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/workload/speedup"
)

// sizeQuery is one request for advice on sizes, on the views of one instant.
type sizeQuery struct {
	service   *Service
	req       *wire.SizeRequest
	base      job.Request // the part of the request common to all candidates
	targets   []targetQueue
	now       time.Time // the instant from which the times of the answer count
	curve     speedup.Curve
	objective advice.Objective
	named     bool // the request lists its sizes
	sizes     []int

	candidates []advice.Candidate
	requests   []candidateRequest // in the order of the candidates, and of the answers
	excluded   []wire.SizeLeftOut
	request    int
	pace       Pace // pace of the forecasts

	job  *malleable // nil for a job that is to be submitted
	grow []advice.Size
}

// candidateRequest is the request that the user would submit for a candidate.
type candidateRequest struct {
	target *targetQueue
	procs  int
	limit  time.Duration
	wait   *waittime.Distribution // set only for POST /v1/waits
}

func (a *candidateRequest) name() string {
	return candidateName(a.target.view.Cluster, a.target.queue, a.procs)
}

func candidateName(clusterName, queue string, procs int) string {
	return fmt.Sprintf("%s/%s/%d", clusterName, queue, procs)
}

// malleable is a running job that could change its size.
type malleable struct {
	procs int
	age   float64       // seconds, if the job is in the scheduler's log; else 0
	until time.Duration // time left to its limit, at least 1 s; 0 if it is unknown or there is no limit
}

// clusters returns the requested clusters.
func (q *sizeQuery) clusters() map[string]bool {
	out := map[string]bool{}
	for i := range q.targets {
		out[q.targets[i].view.Cluster] = true
	}
	return out
}

func instantSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// sizeRefusal converts an error of package advice about a request to a Refusal. It returns an error of a Pace as it is.
func sizeRefusal(err error) error {
	var objective *advice.ObjectiveError
	var stopped *paceError
	switch {
	case errors.As(err, &stopped):
		return stopped.error
	case errors.Is(err, advice.ErrNever):
		return noForecast(KindUnavailable, headqueue.NeverEnough,
			"each candidate may never start: the jobs that can end do not free enough processors",
			"ask for fewer processors, by a quantile or by a deadline")
	case errors.As(err, &objective):
		field := map[string]string{
			"level": "level", "deadline": "deadline", "price of a processor-hour": "price_proc_hour",
			"price of an hour": "price_hour", "price": "price_hour",
		}[objective.Field]
		return Invalid("objective."+field, strings.TrimPrefix(err.Error(), "objective: "))
	}
	return Invalid("body", err.Error())
}
