package ask

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/ensemble"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// playedJobs is the maximum number of running and waiting jobs with which an answer is explained by a simulation of
// first come, first served. With more jobs the simulation would take milliseconds, so the engine's numbers explain its
// forecast (for exceptions see explain).
const playedJobs = 300

// forecast returns the engine's forecast and its explanation, see explain. If the engine has no forecast yet, the
// answer comes from a simulation of strict first come, first served. It returns an error if neither has one, or if the
// job's size is unknown or larger than the machine. A request to several queues is explained in the one in which it
// starts soonest.
func (s *Service) forecast(v *readmodel.View, now time.Time, request job.Attributes) (*predictor.Scene,
	*predictor.Forecast, *engine.Forecast, error) {
	out := &engine.Forecast{}
	if v.Engine != nil {
		r := v.PrioritizedRequest(&request)
		*out = v.Engine.Forecast(&r)
	}
	request.Queue, request.Queues = cmp.Or(out.Queue, request.Queue), ""
	scene, explained, err := s.explain(v, now, request, out)
	var cannot *headqueue.CannotSay
	refused := errors.As(err, &cannot) && (cannot.Reason == headqueue.LargerThanMachine ||
		cannot.Reason == predictor.ReasonUnknownSize)
	if refused || out.Quantiles == nil {
		return scene, explained, out, err
	}
	if err != nil {
		free := max(0, scene.Capacity()-explained.Used)
		explained.Need, explained.Medians = explained.AheadProcs+scene.Size-free, nil
	}
	explained.Method = accuracy.Waitcast
	return scene, explained, out, explained.Serve(scene, out.Quantiles)
}

// explain reports what is ahead of a request, what is free and what is needed. It simulates strict first come, first
// served if the engine has no forecast, if there are at most playedJobs jobs, or if the pool's scarce resource is not
// processors. Otherwise it takes the numbers from out, the engine's forecast.
func (s *Service) explain(v *readmodel.View, now time.Time, request job.Attributes,
	out *engine.Forecast) (*predictor.Scene, *predictor.Forecast, error) {
	scene := v.Pooled(now, request)
	if out.Quantiles == nil || len(v.Running)+len(v.Queued) <= playedJobs || scene.Dimension != cluster.Procs {
		scene = v.Scene(now, request)
		f := s.forecasters.get()
		defer s.forecasters.put(f)
		explained, err := f.Forecast(scene)
		return scene, &explained, err
	}
	procs, free := scene.Pool.Room() // the engine's pool may be a learnt pool of another size
	explained := &predictor.Forecast{Dimension: scene.Dimension, Used: procs - free, AheadJobs: out.JobsAhead,
		AheadProcs: out.ProcsAhead}
	explained.Need = max(0, out.ProcsAhead+scene.Size-free)
	return scene, explained, nil
}

// addExperts adds the basis of a forecast and the forecasts of the experts to an answer.
func addExperts(w *wire.Wait, s *engine.Forecast) {
	w.Basis = wire.Basis{Learnt: s.Learnt, Similar: s.Similar, RestsOn: s.Basis}
	names := ensemble.Names()
	w.Methods = slices.Grow(w.Methods, len(names))
	for i, name := range names {
		if i >= len(s.Experts) || slices.ContainsFunc(w.Methods, func(m wire.Method) bool { return m.Name == name }) {
			continue
		}
		m := wire.Method{Name: name}
		if q := s.Experts[i]; q != nil {
			if median := q[waittime.Median]; !waittime.IsNever(median) {
				m.MedianSeconds = seconds(median)
			}
		} else {
			m.CannotSay = &wire.CannotSay{Reason: string(headqueue.NotFitted), Detail: "it has nothing to go by yet"}
		}
		w.Methods = append(w.Methods, m)
	}
}

// TypicalWait forecasts the wait of a typical job as GET /v1/wait does, in seconds by level. +Inf means that the level
// is never reached. The result is nil if no forecast is possible.
func (s *Service) TypicalWait(v *readmodel.View, now time.Time, t *readmodel.Typical) []float64 {
	_, f, _, err := s.forecast(v, now, job.Attributes{Queue: t.Queue, Procs: t.Procs, TimeLimit: t.TimeLimit})
	if err != nil || f == nil {
		return nil
	}
	return f.Quantiles
}
