package ask

import (
	"errors"
	"fmt"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/advice"
)

// Size ranks the sizes and queues that a job could request, or the sizes that a running job could have.
func (s *Service) Size(req *wire.SizeRequest, pace Pace) (wire.Size, error) {
	q, err := s.newSizeQuery(req, pace)
	if err != nil {
		return wire.Size{}, err
	}
	r, err := q.choose()
	if err != nil {
		return wire.Size{}, err
	}
	stands, err := q.standingAdvice(r, q.previousAdvice())
	if err != nil {
		return wire.Size{}, err
	}
	return q.answer(r, stands), nil
}

// newSizeQuery reads a request, and refuses it if that is possible without a forecast.
func (s *Service) newSizeQuery(req *wire.SizeRequest, pace Pace) (*sizeQuery, error) {
	q := &sizeQuery{service: s, req: req, request: advice.NoRequest, pace: paceOf(pace),
		base: job.Request{User: req.User, Account: req.Account, QOS: req.QOS}}
	for _, read := range []func() error{
		q.readTargets, q.readRunning, q.readCurve, q.readObjective, q.readSizes, q.readSteady,
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readTargets sets targets to the queues that the request names, and now to the earliest of their instants. If a
// running job is named without a queue, it finds the job and takes its queue.
func (q *sizeQuery) readTargets() error {
	places := q.req.Places
	if len(places) == 0 {
		places = []wire.Place{{}}
	}
	if r := q.req.Running; r != nil && r.JobID != "" && len(places) == 1 && places[0].Queue == "" {
		return q.findRunning(places[0].Cluster, r.JobID)
	}
	for i, p := range places {
		found, err := q.service.targetQueue(p.Cluster, p.Queue)
		if err != nil {
			return err
		}
		for k := range q.targets {
			if q.targets[k].view.Cluster == found.view.Cluster && q.targets[k].queue == found.queue {
				return Invalid(fmt.Sprintf("places[%d]", i),
					fmt.Sprintf("queue %s of cluster %s is named twice", found.queue, found.view.Cluster))
			}
		}
		q.targets = append(q.targets, *found)
		if i == 0 || found.now.Before(q.now) {
			q.now = found.now
		}
	}
	return nil
}

// gather makes the candidates: every size in every queue that allows it. It refuses the request if there is none, or if
// no queue allows the size that the user would request without advice.
func (q *sizeQuery) gather() error {
	if q.job != nil {
		return q.gatherRunning()
	}
	var refused error // why the last excluded candidate is excluded
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
		if !had && q.isRequest(procs) {
			return refused
		}
	}
	if len(q.candidates) == 0 {
		return refused
	}
	return q.findRequest()
}

// choose makes the forecasts and ranks the candidates.
func (q *sizeQuery) choose() (*advice.Result, error) {
	q.pace.Expect(len(q.sizes) * len(q.targets))
	if err := q.gather(); err != nil {
		return nil, err
	}
	var r *advice.Result
	var err error
	if q.job != nil {
		r, err = q.resize()
	} else {
		r, err = advice.ChooseInSteps(q.candidates, q.request, q.objective, q.rankStep)
	}
	if err != nil {
		return nil, sizeRefusal(err)
	}
	for i := range r.Answers { // replaces the names that package advice gives to the sizes of a running job
		r.Answers[i].Name = q.requests[i].name()
	}
	return r, nil
}
