package ask

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// WaitQuery is a question about the wait of one job, against one view.
type WaitQuery struct {
	View    *readmodel.View
	service *Service
	request job.Request
	given   *WaitRequest
	by      time.Time // zero where no probability of a start by then is asked for
}

// Wait reads a question, and refuses what can be refused without a forecast.
func (s *Service) Wait(in *WaitRequest) (*WaitQuery, error) {
	v, err := s.View(in.Cluster)
	if err != nil {
		return nil, err
	}
	req, err := request(v, in)
	if err != nil {
		return nil, err
	}
	now, _, _ := s.AsOf(v)
	by, err := startBy(in.By, now)
	return &WaitQuery{View: v, service: s, request: req, given: in, by: by}, err
}

// Answer forecasts the wait, and explains it to a caller.
func (q *WaitQuery) Answer(c Caller) (wire.Wait, error) {
	s, v, a := q.service, q.View, attributes(&q.request)
	now, age, stale := s.AsOf(v)
	scene, forecast, learnt, err := s.forecast(v, now, a)
	if err != nil {
		return wire.Wait{}, forecastRefusal(err)
	}
	forecast.Law, _ = v.Models.Law(q.request.Queue, q.request.Procs)
	out := answer(v, q.request, scene, forecast, now)
	out.AsOf, out.AgeSeconds, out.Stale = s.AsOfInstant(v), age, stale
	out.StartBy = probabilityBy(forecast.Wait, q.by, now)
	if q.given.Curve {
		out.Curve = drawn(forecast.Wait)
	}
	if q.given.Queue != "" {
		out.AskedQueue = askedQueue(q.given.Queue, q.request.Queue)
	}
	addExperts(&out, learnt)
	if q.given.Explain {
		keep := cmp.Or(q.given.Keep, readmodel.DefaultKeep)
		out.WaitsFor = pivotsFor(c, v.Pivots(&a))
		out.Sooner = sooner(v, now, readmodel.SoonerQuery{Request: &a, Wait: forecast.Quantiles, Keep: keep})
	}
	out.Warnings = warnings(v, &a)
	out.NotConsidered = notConsidered(v, &a, forecast.Method, scene.Dimension)
	out.Reason = reason(&out)
	if out.AskedQueue != "" {
		out.Reason += fmt.Sprintf("; the jobs of queue %s are counted in queue %s", out.AskedQueue, out.Queue)
	}
	if forecast.Closed {
		out.Reason += "; it cannot start while " + outages(scene) + " would interrupt it"
	}
	for _, w := range out.Warnings {
		out.Reason += "; " + w
	}
	if c := s.unread(v, s.limit()); c != nil {
		out.Reason += "; " + c.String()
	}
	return out, nil
}

// answer writes a forecast.
func answer(v *readmodel.View, req job.Request, scene *predictor.Scene, f *predictor.Forecast,
	now time.Time) wire.Wait {
	free := max(0, scene.Capacity()-f.Used)
	if scene.Dimension == cluster.Procs {
		_, free = scene.Pool.Room()
	}
	w := wire.Wait{
		Cluster: v.Cluster, Queue: req.Queue, Procs: req.Procs, Nodes: req.Nodes, GPUs: req.GPUs,
		MemoryBytes: req.Memory, TimeLimitSeconds: req.TimeLimit.Seconds(),
		WaitSeconds: quantiles(f.Quantiles), Start: instants(f.Quantiles, now),
		StartWithin: startWithin(f.Wait),
		Method:      f.Method, Methods: methods(f.Medians), Model: model(&f.Law),
		State: wire.ClusterState{
			Pool: scene.Pool.Name, Binds: scene.Dimension.String(), Capacity: scene.Capacity(),
			CapacitySource: scene.Pool.Source,
			Size:           scene.Size, Free: free, RunningJobs: len(scene.Running),
			QueuedAheadJobs: f.AheadJobs, QueuedAhead: f.AheadProcs, Needed: max(0, f.Need),
		},
	}
	return w
}

// outages names what the scheduler has planned for the pool of a scene.
func outages(scene *predictor.Scene) string {
	var names []string
	for _, o := range scene.Pool.Outages {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

func methods(medians []headqueue.MethodMedian) []wire.Method {
	out := make([]wire.Method, 0, len(medians))
	for _, m := range medians {
		w := wire.Method{Name: m.Name, MedianSeconds: seconds(m.Seconds)}
		if m.Cannot != nil {
			w.MedianSeconds = nil
			w.CannotSay = &wire.CannotSay{Reason: string(m.Cannot.Reason), Detail: m.Cannot.Detail, Hint: m.Cannot.Hint}
		}
		out = append(out, w)
	}
	return out
}

// reason writes the forecast in one sentence: what is free, who is ahead, and what the forecast rests on.
func reason(w *wire.Wait) string {
	what := map[string]string{"procs": "processors", "nodes": "nodes", "gpus": "GPUs",
		"memory": "processors' shares of memory"}[w.State.Binds]
	text := fmt.Sprintf("%d of %d %s are free", w.State.Free, w.State.Capacity, what)
	ahead := count(w.State.QueuedAheadJobs, "job")
	switch {
	case w.State.Needed == 0 && w.State.QueuedAheadJobs == 0:
		text = fmt.Sprintf("starts at once if it fits: %s and nobody is ahead", text)
	case w.State.Needed == 0:
		text = fmt.Sprintf("starts at once if it fits: %s, enough for the %s ahead too", text, ahead)
	case w.State.QueuedAheadJobs == 0:
		text = fmt.Sprintf("next in line: %s, %d more must be freed by the %s that run",
			text, w.State.Needed, count(w.State.RunningJobs, "job"))
	default:
		text = fmt.Sprintf("%s with %d %s ahead, %s: %d must be freed first, unless this job fits between them",
			ahead, w.State.QueuedAhead, what, text, w.State.Needed)
	}
	text += "; " + basis(w)
	if w.Stale {
		text += fmt.Sprintf("; STALE: the newest record is %s old, this is how it looked then",
			duration.Format(time.Duration(w.AgeSeconds)*time.Second))
	}
	return text
}

// fewWaits is the number of learnt waits below which the answer warns that little is known: nothing is trained before.
const fewWaits = 300

// basis reports what the forecast rests on.
func basis(w *wire.Wait) string {
	b := &w.Basis
	switch {
	case w.Method != accuracy.Waitcast:
		return "no wait has been learnt yet: first come, first served is assumed"
	case b.Learnt < fewWaits && b.Learnt == 1:
		return "little is known yet: 1 wait learnt"
	case b.Learnt < fewWaits:
		return fmt.Sprintf("little is known yet: %d waits learnt", b.Learnt)
	case b.Similar == 0:
		return fmt.Sprintf("no wait of such a job in queue %s is known yet: learnt from %d others", w.Queue, b.Learnt)
	}
	return fmt.Sprintf("learnt from %s of such jobs and %d in all", count(b.Similar, "wait"), b.Learnt)
}
