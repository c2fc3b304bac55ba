package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/workload/speedup"
)

const (
	// mostCandidates bounds the candidates of one question: each is a forecast.
	mostCandidates = 1024
	// leastGain is by what part of the score an advice must be better than one that stands, where nothing else is asked for.
	leastGain = .05
)

type sizeInput struct{ Body wire.SizeRequest }

type sizeOutput struct{ Body wire.Size }

func (s *Server) registerSize(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "post-size", Method: http.MethodPost, Path: "/v1/size",
		Summary: "Which size, in which queue, finishes soonest?",
		Description: "Each candidate with the distributions of its wait, its runtime and its finish, the best first; for a malleable job that runs, " +
			"whether it had better expand, keep its size or shrink.",
		MaxBodyBytes: -1, // routes bounds it
		Errors:       []int{http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, s.postSize)
}

func (s *Server) postSize(ctx context.Context, in *sizeInput) (*sizeOutput, error) {
	done, err := s.waitForSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.maySize(ctx, &in.Body); err != nil {
		return nil, err
	}
	q, err := s.newSizeQuery(&in.Body)
	if err != nil {
		return nil, err
	}
	r, err := q.choose()
	if err != nil {
		return nil, err
	}
	stands, err := q.standingAdvice(r, q.previousAdvice())
	if err != nil {
		return nil, err
	}
	return &sizeOutput{q.answer(r, stands)}, nil
}

// sizeQuery is one request for advice on sizes, against the views of one instant.
type sizeQuery struct {
	server    *Server
	req       *wire.SizeRequest
	base      job.Request // what is asked for whatever the candidate
	targets   []targetQueue
	now       time.Time // that answers count from
	curve     speedup.Curve
	objective advice.Objective
	named     bool // the sizes were named one by one, or by their bounds
	sizes     []int

	candidates []advice.Candidate
	requests   []candidateRequest // in the order of the candidates, and of the answers
	excluded   []wire.SizeLeftOut
	request    int

	job  *malleable // nil for a job that is to be submitted
	grow []advice.Size
}

// targetQueue is a queue to which the job could be submitted.
type targetQueue struct {
	view      *pipeline.View
	queue     string
	requested string // the queue that was asked about, where queue is another one
	now       time.Time
	most      int // processors that it has now, 0 where that is not known
	pool      string
	bill      float64
}

// candidateRequest is the request that a candidate would submit.
type candidateRequest struct {
	target *targetQueue
	procs  int
	limit  time.Duration
	waits  []float64 // quantiles, where they are forecast
}

func (a *candidateRequest) name() string {
	return candidateName(a.target.view.Cluster, a.target.queue, a.procs)
}

func candidateName(clusterName, queue string, procs int) string {
	return fmt.Sprintf("%s/%s/%d", clusterName, queue, procs)
}

// newSizeQuery reads a request, and refuses it if that is possible without a forecast.
func (s *Server) newSizeQuery(req *wire.SizeRequest) (*sizeQuery, error) {
	q := &sizeQuery{server: s, req: req, request: advice.NoRequest, base: job.Request{User: req.User, Account: req.Account, QOS: req.QOS}}
	for _, read := range []func() error{q.readTargets, q.readRunning, q.readCurve, q.readObjective, q.readSizes, q.readSteady} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readTargets finds the queues that the request names.
func (q *sizeQuery) readTargets() error {
	places := q.req.Places
	if len(places) == 0 {
		places = []wire.Place{{}}
	}
	if r := q.req.Running; r != nil && r.JobID != "" && len(places) == 1 && places[0].Queue == "" {
		return q.findRunning(places[0].Cluster, r.JobID)
	}
	for i, p := range places {
		found, err := q.server.targetQueue(p.Cluster, p.Queue)
		if err != nil {
			return err
		}
		for k := range q.targets {
			if q.targets[k].view.Cluster == found.view.Cluster && q.targets[k].queue == found.queue {
				return unprocessable(fmt.Sprintf("places[%d]", i), fmt.Sprintf("queue %s of cluster %s is named twice", found.queue, found.view.Cluster))
			}
		}
		q.targets = append(q.targets, *found)
		if i == 0 || found.now.Before(q.now) {
			q.now = found.now
		}
	}
	return nil
}

// targetQueue finds a queue whose cluster has been read.
func (s *Server) targetQueue(clusterName, name string) (*targetQueue, error) {
	v, err := s.view(clusterName)
	if err != nil {
		return nil, err
	}
	return s.targetQueueIn(v, name)
}

// targetQueueIn finds a queue in a view.
func (s *Server) targetQueueIn(v *pipeline.View, name string) (*targetQueue, error) {
	if v.At.IsZero() {
		return nil, nothingRead(v)
	}
	req := job.Request{Queue: name}
	if err := queue(v, &req); err != nil {
		return nil, err
	}
	p := &targetQueue{view: v, queue: req.Queue, bill: 1}
	if name != "" {
		p.requested = askedQueue(name, req.Queue)
	}
	p.now, _, _ = s.asOf(v)
	pool := v.Pool(req.Queue)
	p.pool = v.Cluster + "/" + pool.Name
	p.most = pool.Limit(req.Queue, cluster.Procs)
	return p, nil
}

// readCurve reads how the runtime depends on the size.
func (q *sizeQuery) readCurve() error {
	r := &q.req.Runtime
	given := 0
	for _, is := range []bool{r.Table != nil, r.Amdahl != nil, r.Downey != nil, r.History != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return unprocessable("runtime", "give one of table, amdahl, downey and history")
	}
	field, err := q.curveOf(r)
	if err != nil {
		return unprocessable("runtime."+field, err.Error())
	}
	return nil
}

func (q *sizeQuery) curveOf(r *wire.Runtime) (field string, err error) {
	switch {
	case r.Table != nil:
		points := make([]speedup.Point, len(r.Table))
		for i, p := range r.Table {
			points[i] = speedup.Point{Procs: p.Procs, Seconds: p.Seconds}
		}
		field = "table"
		q.curve, err = speedup.NewTable(points)
	case r.Amdahl != nil:
		field = "amdahl"
		q.curve, err = speedup.NewAmdahl(r.Amdahl.Serial, r.Amdahl.T1Seconds)
	case r.Downey != nil:
		field = "downey"
		q.curve, err = speedup.NewDowney(speedup.Profile{A: r.Downey.A, Sigma: r.Downey.Sigma}, r.Downey.T1Seconds)
	default:
		field = "history"
		q.curve, err = speedup.NewHistory(q.runs(r.History))
	}
	return field, err
}

// runs returns the runs of a program in the clusters that are asked about.
func (q *sizeQuery) runs(h *wire.RuntimeHistory) []speedup.Point {
	var out []speedup.Point
	seen := map[string]bool{}
	for i := range q.targets {
		if v := q.targets[i].view; !seen[v.Cluster] {
			seen[v.Cluster] = true
			out = append(out, v.Models.History.Runs(h.User, h.Name)...)
		}
	}
	return out
}

// readObjective reads what the choice is to be best in.
func (q *sizeQuery) readObjective() error {
	o := &q.req.Objective
	q.objective = advice.Objective{Level: o.Level, ProcHour: o.PriceProcHour, Hour: o.PriceHour}
	if o.Deadline != "" {
		seconds, err := q.deadline(o.Deadline)
		if err != nil {
			return err
		}
		q.objective.Deadline = seconds
	}
	kinds := map[string]advice.Kind{"mean": advice.ExpectedFinish, "quantile": advice.FinishQuantile, "deadline": advice.ByDeadline, "cost": advice.Cost}
	switch kind, known := kinds[o.Kind]; {
	case known:
		q.objective.Kind = kind
	case o.Kind == "considerate":
		if o.PriceHour != 0 || o.PriceProcHour != 0 {
			return unprocessable("objective.kind", "considerate has prices of its own: leave price_hour and price_proc_hour out")
		}
		q.considerate()
	case o.Kind != "":
		return unprocessable("objective.kind", "want mean, quantile, deadline, cost or considerate")
	case o.Deadline != "":
		q.objective.Kind = advice.ByDeadline
	case o.PriceHour != 0 || o.PriceProcHour != 0:
		q.objective.Kind = advice.Cost
	case o.Level != 0:
		q.objective.Kind = advice.FinishQuantile
	}
	if q.objective.Kind == advice.ByDeadline && o.Deadline == "" {
		return unprocessable("objective.deadline", "say by when: an instant (RFC 3339), or how long from now")
	}
	return nil
}

// deadline returns the seconds until a deadline.
func (q *sizeQuery) deadline(text string) (float64, error) {
	const field = "objective.deadline"
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := duration.Parse(text)
		if err != nil {
			return 0, unprocessable(field, "want an instant such as 2026-03-02T18:00:00Z, or how long from now; "+err.Error())
		}
		at = q.now.Add(d)
	}
	left := at.Sub(q.now).Seconds()
	if left <= 0 {
		return 0, unprocessable(field, fmt.Sprintf("%s is not in the future: it is %s", at.UTC().Format(time.RFC3339), q.now.UTC().Format(time.RFC3339)))
	}
	return left, nil
}

// considerate sets the prices by who waits in each pool, in units of the first one's.
func (q *sizeQuery) considerate() {
	price := func(p *targetQueue) advice.Objective {
		waiting, loads := 0, p.view.Loads()
		for name, l := range loads {
			if p.view.Pool(name) == p.view.Pool(p.queue) {
				waiting += l.QueuedJobs
			}
		}
		return advice.Considerate(waiting, p.view.Pool(p.queue).Capacity(cluster.Procs))
	}
	first := price(&q.targets[0])
	for i := range q.targets {
		q.targets[i].bill = price(&q.targets[i]).ProcHour / first.ProcHour
	}
	deadline := q.objective.Deadline
	q.objective = first
	q.objective.Deadline = deadline
}

// readSteady checks what keeps advice from flapping.
func (q *sizeQuery) readSteady() error {
	if g := q.req.LeastGain; g != nil && !(*g >= 0 && *g < 1) {
		return unprocessable("least_gain", "want a number from 0 to below 1")
	}
	if q.req.HoldSeconds < 0 || math.IsNaN(q.req.HoldSeconds) {
		return unprocessable("hold_seconds", "want 0 or more")
	}
	return nil
}

// steady is how long, and against how much better candidates, an advice stands.
func (q *sizeQuery) steady() advice.Steady {
	out := advice.Steady{Gain: leastGain, Hold: q.req.HoldSeconds}
	if q.req.LeastGain != nil {
		out.Gain = *q.req.LeastGain
	}
	return out
}

// previousAdvice returns the advice that was given before: for a running job that is to keep its size, if the request names no other.
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

// standingAdvice returns the advice that stands after a result. An advice of the future, from a clock that was set back, stands since now.
func (q *sizeQuery) standingAdvice(r *advice.Result, standing advice.Standing) (advice.Standing, error) {
	now := instantSeconds(q.server.opts.Now())
	standing.Since = min(standing.Since, now)
	out, err := q.steady().Settle(standing, now, r)
	if err != nil {
		return out, sizeProblem(err)
	}
	return out, nil
}

func instantSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// choose asks for the forecasts and ranks the candidates.
func (q *sizeQuery) choose() (*advice.Result, error) {
	if err := q.gather(); err != nil {
		return nil, err
	}
	var r *advice.Result
	var err error
	if q.job != nil {
		r, err = q.resize()
	} else {
		r, err = advice.Choose(q.candidates, q.request, q.objective)
	}
	if err != nil {
		return nil, sizeProblem(err)
	}
	for i := range r.Answers { // a running job's are named by the library
		r.Answers[i].Name = q.requests[i].name()
	}
	return r, nil
}

// sizeProblem says what is wrong with a question that the library refuses.
func sizeProblem(err error) error {
	var objective *advice.ObjectiveError
	switch {
	case errors.Is(err, advice.ErrNever):
		return noForecast(http.StatusServiceUnavailable, headqueue.NeverEnough,
			"each candidate may never start: the jobs that can end do not free enough processors", "ask for fewer processors, by a quantile or by a deadline")
	case errors.As(err, &objective):
		field := map[string]string{
			"level": "level", "deadline": "deadline", "price of a processor-hour": "price_proc_hour", "price of an hour": "price_hour", "price": "price_hour",
		}[objective.Field]
		return unprocessable("objective."+field, strings.TrimPrefix(err.Error(), "objective: "))
	}
	return unprocessable("body", err.Error())
}
