package ask

import (
	"fmt"
	"math"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/forward"
)

const (
	// mostOpenings is the maximum number of openings of a queue. Each takes several forecasts.
	mostOpenings = 12
	// atOnce is the maximum wait, in seconds, of an immediate start.
	atOnce = 60
	// likely is the minimum probability for an immediate start to be reported.
	likely = .9
	// anyLimit is the time limit that is assumed for the longest jobs of a queue whose longest time limit is unknown.
	anyLimit = 7 * 24 * time.Hour
)

// NowRequest is a request for jobs that would start at once.
type NowRequest struct {
	// Cluster and Queue limit the answer to a cluster and to a queue; empty means all.
	Cluster, Queue     string
	User, Account, QOS string
}

// NowQuery is a query for jobs that would start at once, on the views of one instant.
type NowQuery struct {
	Views   []*readmodel.View
	service *Service
	request NowRequest
}

// Now finds the queried clusters.
func (s *Service) Now(in NowRequest) (*NowQuery, error) {
	views, err := s.ReadViews(in.Cluster)
	if err != nil {
		return nil, err
	}
	return &NowQuery{views, s, in}, nil
}

// Answer reports jobs that would start at once, by queue. With several clusters the age of the answer is that of the
// oldest view, and the answer is stale if any view is.
func (q *NowQuery) Answer() (wire.Now, error) {
	s, in := q.service, &q.request
	out := wire.Now{Queues: []wire.NowQueue{}}
	known := in.Queue == ""
	base := job.Request{User: in.User, Account: in.Account, QOS: in.QOS}
	for i, v := range q.Views {
		loads := v.Loads()
		wanted, _ := v.QueueOf(in.Queue)
		for _, name := range v.Queues() {
			if in.Queue != "" && name != wanted {
				continue
			}
			known = true
			p, err := s.targetQueueIn(v, name)
			if err != nil {
				return out, err
			}
			if in.Queue != "" {
				p.requested = askedQueue(in.Queue, name)
			}
			out.Queues = append(out.Queues, s.queueNow(p, loads[name].QueuedJobs, base))
		}
		_, age, stale := s.AsOf(v)
		if i == 0 || v.At.Before(out.AsOf) {
			out.AsOf, out.AgeSeconds = s.AsOfInstant(v), age
		}
		out.Stale = out.Stale || stale
	}
	if !known {
		return out, unknownQueue(q.Views[0], in.Queue)
	}
	return out, nil
}

// queueNow reports jobs that would start at once in a queue.
func (s *Service) queueNow(p *targetQueue, queued int, base job.Request) wire.NowQueue {
	pool := p.view.Pool(p.queue)
	out := wire.NowQueue{
		Cluster: p.view.Cluster, Queue: p.queue, AskedQueue: p.requested, Pool: pool.Name, QueuedJobs: queued,
		Binds: pool.Binds.String(), Openings: []wire.Opening{},
	}
	facts := p.facts()
	switch {
	case p.view.Engine == nil:
		out.Reason = "no forecasts are made"
		return out
	case facts.Down:
		out.Reason = "nothing: the queue starts no jobs now"
		return out
	case facts.Closed:
		out.Reason = "nothing: the queue takes no jobs now"
		return out
	}
	base.Queue, base.Procs = p.queue, 1
	a := attributes(&base)
	r := p.view.PrioritizedRequest(&a)
	found := p.view.Engine.Openings(&r)
	out.PlanAge = seconds(found.Age)
	out.Procs, out.Free = pool.Room()
	for _, o := range found.Holes {
		if o.Procs = min(o.Procs, out.Free); o.Procs < 1 { // the engine's pool may be a learnt pool, which is larger
			break
		}
		if len(out.Openings) == mostOpenings {
			break
		}
		if p.most > 0 {
			o.Procs = min(o.Procs, p.most)
		}
		if opening, ok := s.opening(p, o, base, facts.MaxTime); ok {
			out.Openings = append(out.Openings, opening)
		}
	}
	out.Openings = frontier(out.Openings)
	out.Reason = nowReason(&out)
	return out
}

// opening describes jobs that could start at once: the largest size, its time limit, the probability that it starts at
// once, and the largest size whose start is likely. If the largest size is not likely to start, only powers of two are
// tried; 0 means that none is likely. longest is the queue's longest time limit, 0 if unknown. opening returns false if
// the jobs could run for less than 1 s.
func (s *Service) opening(p *targetQueue, o forward.Opening, base job.Request,
	longest time.Duration) (wire.Opening, bool) {
	out := wire.Opening{Procs: o.Procs}
	base.TimeLimit = longest
	if longest == 0 {
		base.TimeLimit = anyLimit
	}
	if limit := math.Floor(o.Limit); longest == 0 && !math.IsInf(limit, 1) || limit < longest.Seconds() {
		if limit < 1 {
			return out, false
		}
		out.TimeLimitSeconds, base.TimeLimit = &limit, fromSeconds(limit)
	}
	at := func(procs int) float64 {
		base.Procs = procs
		wait, err := s.wait(p, &base)
		if err != nil {
			return 0
		}
		return wait.CDF(atOnce)
	}
	out.Probability = decimals(at(o.Procs), 6)
	if out.LikelyProcs = o.Procs; out.Probability >= likely {
		return out, true
	}
	size := 1
	for size*2 < o.Procs {
		size *= 2
	}
	for ; size > 0; size /= 2 {
		if size < o.Procs && at(size) >= likely {
			break
		}
	}
	out.LikelyProcs = size
	return out, true
}

// frontier removes every opening for which another one has at least as many processors and at least as long a time
// limit. Of equal openings, which the queue's limits can produce, it keeps the first.
func frontier(all []wire.Opening) []wire.Opening {
	covers := func(a, b *wire.Opening) bool {
		return a.Procs >= b.Procs &&
			(a.TimeLimitSeconds == nil || b.TimeLimitSeconds != nil && *a.TimeLimitSeconds >= *b.TimeLimitSeconds)
	}
	out := []wire.Opening{}
	for i := range all {
		covered := false
		for k := range all {
			covered = covered || k != i && covers(&all[k], &all[i]) && !(k > i && covers(&all[i], &all[k]))
		}
		if !covered {
			out = append(out, all[i])
		}
	}
	return out
}

// nowReason describes in one sentence what would start at once.
func nowReason(q *wire.NowQueue) string {
	if q.PlanAge == nil {
		return "it is not known what would start at once: no plan of the queue is there yet"
	}
	if len(q.Openings) == 0 {
		if q.Free == 0 {
			return "nothing: no processor is free"
		}
		verb, them := "are", "they are"
		if q.Free == 1 {
			verb, them = "is", "it is"
		}
		return fmt.Sprintf("nothing: %s %s free, but %s kept for jobs that already wait", count(q.Free, "processor"),
			verb, them)
	}
	o := &q.Openings[0]
	text := fmt.Sprintf("up to %s", count(o.Procs, "processor"))
	if o.TimeLimitSeconds != nil {
		text += fmt.Sprintf(" for up to %s", duration.Format(fromSeconds(*o.TimeLimitSeconds)))
	}
	verb := "start"
	if o.Procs == 1 {
		verb = "starts"
	}
	text += fmt.Sprintf(" %s at once with a probability of %s", verb, percent(o.Probability))
	if n := len(q.Openings) - 1; n > 0 {
		text += fmt.Sprintf("; fewer may run for longer (%s more)", count(n, "opening"))
	}
	return text
}
