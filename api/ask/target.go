package ask

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
)

// targetQueue is a queue to which the job could be submitted.
type targetQueue struct {
	view      *readmodel.View
	queue     string
	requested string // the requested queue, if its jobs are counted under another queue
	now       time.Time
	most      int // the queue's present number of processors, 0 if unknown
	pool      string
	bill      float64
}

// targetQueue finds a queue in a cluster with records.
func (s *Service) targetQueue(clusterName, name string) (*targetQueue, error) {
	v, err := s.View(clusterName)
	if err != nil {
		return nil, err
	}
	return s.targetQueueIn(v, name)
}

// targetQueueIn finds a queue in a view.
func (s *Service) targetQueueIn(v *readmodel.View, name string) (*targetQueue, error) {
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
	p.now, _, _ = s.AsOf(v)
	pool := v.Pool(req.Queue)
	p.pool = v.Cluster + "/" + pool.Name
	p.most = pool.Limit(req.Queue, cluster.Procs)
	return p, nil
}

// facts returns the scheduler's facts about the queue, the zero value if there are none.
func (p *targetQueue) facts() job.QueueFacts { return queueFacts(p.view, p.queue) }

// wait returns the distribution of a request's wait, as in GET /v1/wait. The error is a *Refusal if the request cannot
// be answered.
func (s *Service) wait(p *targetQueue, req *job.Request) (*waittime.Distribution, error) {
	a := attributes(req)
	if err := fits(p.view, &a); err != nil {
		return nil, err
	}
	if p.view.Engine != nil {
		r := p.view.PrioritizedRequest(&a)
		if f := p.view.Engine.Forecast(&r); f.Quantiles != nil {
			pool := p.view.Pool(req.Queue)
			return predictor.NewScene(p.view.Cluster, p.now, pool, a, p.view.Models).Distribution(f.Quantiles)
		}
	}
	_, f, _, err := s.forecast(p.view, p.now, a)
	if err != nil {
		return nil, forecastRefusal(err)
	}
	return f.Wait, nil
}
