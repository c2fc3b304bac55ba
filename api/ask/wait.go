package ask

import (
	"cmp"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// WaitQuery is a query for the wait of one job, on one view.
type WaitQuery struct {
	View    *readmodel.View
	service *Service
	request job.Request
	given   *WaitRequest
	by      time.Time // zero if no probability of a start by a deadline is requested
}

// Wait parses a request, and refuses it if that is possible without a forecast.
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
	a = scene.Request
	forecast.Law, _ = v.Models.Law(a.Queue, a.Procs)
	request := q.request
	request.Queue = a.Queue
	out := answer(v, request, scene, forecast, now)
	out.AsOf, out.AgeSeconds, out.Stale = s.AsOfInstant(v), age, stale
	out.StartBy = probabilityBy(forecast.Wait, q.by, now)
	if q.given.Curve {
		out.Curve = drawn(forecast.Wait)
	}
	if q.given.Queue != "" && !strings.Contains(q.given.Queue, ",") {
		out.AskedQueue = askedQueue(q.given.Queue, q.request.Queue)
	}
	addExperts(&out, learnt)
	out.Methods = withIgnored(out.Methods, v.Rules != nil)
	if q.given.Explain {
		keep := cmp.Or(q.given.Keep, readmodel.DefaultKeep)
		out.WaitsFor = pivotsFor(c, v.Pivots(&a))
		out.Sooner = sooner(v, now, readmodel.SoonerQuery{Request: &a, Wait: forecast.Quantiles, Keep: keep})
	}
	out.Cause = cause(v, &out, forecast, learnt, q.request.Account, c)
	out.Refused = refused(v, &a, c)
	out.Warnings = warnings(v, &a)
	if strings.Contains(q.given.QOS, ",") {
		out.Warnings = append(out.Warnings, "of the QOS "+q.given.QOS+" only "+a.QOS+" is considered")
	}
	if out.Refused != nil {
		out.Warnings = append(out.Warnings, "the scheduler would refuse it now: "+out.Refused.Detail)
	}
	out.NotConsidered = notConsidered(v, &a, forecast.Method, scene.Dimension, learnt)
	out.Reason = q.reason(&out, scene, forecast)
	return out, nil
}

// answer returns the members of the answer that follow from the forecast and its scene alone.
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

func methods(medians []headqueue.MethodMedian) []wire.Method {
	out := make([]wire.Method, 0, len(medians))
	for _, m := range medians {
		w := wire.Method{Name: m.Name, MedianSeconds: seconds(m.Seconds)}
		if m.Replicas > 0 {
			w.MedianLowSeconds, w.MedianHighSeconds, w.Draws = seconds(m.Low), seconds(m.High), m.Replicas
		}
		if m.Cannot != nil {
			w.MedianSeconds = nil
			w.CannotSay = &wire.CannotSay{Reason: string(m.Cannot.Reason), Detail: m.Cannot.Detail, Hint: m.Cannot.Hint}
		}
		out = append(out, w)
	}
	return out
}
