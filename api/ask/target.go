package ask

import (
	"cmp"
	"strings"
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
	queue     string // the names of several queues have commas between them
	first     string // the first of the queues
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
	p.first, _, _ = strings.Cut(req.Queue, ",")
	if name != "" {
		p.requested = askedQueue(name, req.Queue)
	}
	p.now, _, _ = s.AsOf(v)
	pool := v.Pool(p.first)
	p.pool = v.Cluster + "/" + pool.Name
	p.most = pool.Limit(p.first, cluster.Procs)
	return p, nil
}

// facts returns the scheduler's facts about the queue, the zero value if there are none.
func (p *targetQueue) facts() job.QueueFacts { return queueFacts(p.view, p.first) }

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
			a.Queue, a.Queues = cmp.Or(f.Queue, a.Queue), ""
			pool := p.view.Pool(a.Queue)
			return predictor.NewScene(p.view.Cluster, p.now, pool, a, p.view.Models).Distribution(f.Quantiles)
		}
	}
	_, f, _, err := s.forecast(p.view, p.now, a)
	if err != nil {
		return nil, forecastRefusal(err)
	}
	return f.Wait, nil
}
